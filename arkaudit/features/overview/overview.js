// Ages of the last checks, by the clock of the reader: the page itself may be old.
"use strict";

(() => {
  const { spoken } = window.arkaudit;
  const DAY_MS = 86_400_000;
  document.documentElement.classList.add("living");

  function update() {
    const days = new Intl.RelativeTimeFormat(spoken.code, { numeric: "auto" });
    for (const age of document.querySelectorAll(".age")) {
      const passed = Math.max(0, Math.floor((Date.now() - Date.parse(age.dataset.at)) / DAY_MS));
      if (passed) age.textContent = days.format(-passed, "day");
    }
    for (const row of document.querySelectorAll("[data-late-after]")) {
      row.classList.toggle("late", Date.now() > Date.parse(row.dataset.lateAfter));
    }
  }

  update();
  document.addEventListener("language", update);
})();
