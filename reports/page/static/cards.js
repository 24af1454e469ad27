// Action cards: letters and commands to copy, and a check-list of causes that is stored in this browser.
"use strict";

(() => {
  const { told, spoken, make, say } = window.arkaudit;
  document.documentElement.classList.add("living");

  /** Copy *text* to the clipboard; resolves to true on success. */
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = make("textarea", { class: "hidden", "aria-hidden": "true" });
      area.value = text;
      document.body.append(area);
      area.select();
      const isCopied = document.execCommand("copy");
      area.remove();
      return isCopied;
    }
  }

  /** Copy *text* and show the result on *button* for a moment. */
  async function copyWith(button, text) {
    // Keep the text node, which `language.js` refers to.
    const label = button.firstChild;
    const name = label.data;
    const isCopied = await copy(text);
    button.focus();
    const result = say(isCopied ? "copied" : "not copied");
    label.data = result;
    setTimeout(() => { if (label.data === result) label.data = name; }, 2000);
  }

  /** Save *text* as a file. */
  function save(name, text, type) {
    const url = URL.createObjectURL(new Blob([text], { type }));
    make("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  // -- check-list

  const KEY = `arkaudit: ${told.audit}`;
  const ticks = [...document.querySelectorAll("[data-tick]")];

  function storedTicks() {
    try { return new Set(JSON.parse(localStorage.getItem(KEY)) ?? []); } catch { return new Set(); }
  }

  function storeTicks() {
    const done = ticks.filter((tick) => tick.checked).map((tick) => tick.dataset.tick);
    try { localStorage.setItem(KEY, JSON.stringify(done)); } catch { /* Without storage the ticks last until the page is closed. */ }
  }

  function updateStatus() {
    ticks.forEach((tick) => tick.closest("li").classList.toggle("done", tick.checked));
    const status = document.querySelector(".check-list [role=status]");
    if (status) status.textContent = say("done", { done: ticks.filter((tick) => tick.checked).length, all: ticks.length });
  }

  /** Return the check-list as Markdown, with finished items ticked. */
  function checkList() {
    let at = -1;
    const lines = spoken.check_list.map((line) => {
      if (!line.startsWith("- [ ]")) return line;
      at += 1;
      return ticks[at].checked ? line.replace("- [ ]", "- [x]") : line;
    });
    return `${lines.join("\n")}\n`;
  }

  const known = storedTicks();
  for (const tick of ticks) {
    tick.checked = known.has(tick.dataset.tick);
    tick.addEventListener("change", () => { storeTicks(); updateStatus(); });
  }
  updateStatus();
  document.addEventListener("language", updateStatus);

  document.addEventListener("click", ({ target }) => {
    if (target.dataset?.copy) {
      const source = document.getElementById(target.dataset.copy);
      copyWith(target, source.value ?? source.textContent);
    }
    if (target.dataset?.checkList === "copy") copyWith(target, checkList());
    if (target.dataset?.checkList === "save") save("to-act-on.md", checkList(), "text/markdown");
  });
  Object.assign(window.arkaudit, { copyWith, save, checkList });
})();
