// What to act on: letters and commands to copy, and causes to tick off into a check-list that stays in this browser.
"use strict";

(() => {
  const { told, spoken, make, say } = window.arkaudit;
  document.documentElement.classList.add("living");

  /** Put *text* where a reader can paste it from; resolves to whether that could be done. */
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

  /** Copy *text*, and let *button* say for a moment whether that could be done. */
  async function copyWith(button, text) {
    const label = button.firstChild;  // its text stays the same node, which `language.js` knows
    const name = label.data;
    const isCopied = await copy(text);
    button.focus();
    const told = say(isCopied ? "copied" : "not copied");
    label.data = told;
    setTimeout(() => { if (label.data === told) label.data = name; }, 2000);
  }

  /** Let the browser save *text* as a file. */
  function save(name, text, type) {
    const url = URL.createObjectURL(new Blob([text], { type }));
    make("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  // -- ticking off

  const KEY = `arkaudit: ${told.audit}`;
  const ticks = [...document.querySelectorAll("[data-tick]")];

  function remembered() {
    try { return new Set(JSON.parse(localStorage.getItem(KEY)) ?? []); } catch { return new Set(); }
  }

  function remember() {
    const done = ticks.filter((tick) => tick.checked).map((tick) => tick.dataset.tick);
    try { localStorage.setItem(KEY, JSON.stringify(done)); } catch { /* then it holds until the page is closed */ }
  }

  function tell() {
    ticks.forEach((tick) => tick.closest("li").classList.toggle("done", tick.checked));
    const status = document.querySelector(".check-list [role=status]");
    if (status) status.textContent = say("done", { done: ticks.filter((tick) => tick.checked).length, all: ticks.length });
  }

  /** The check-list as Markdown, with what is done ticked off. */
  function checkList() {
    let at = -1;
    const lines = spoken.check_list.map((line) => {
      if (!line.startsWith("- [ ]")) return line;
      at += 1;
      return ticks[at].checked ? line.replace("- [ ]", "- [x]") : line;
    });
    return `${lines.join("\n")}\n`;
  }

  const known = remembered();
  for (const tick of ticks) {
    tick.checked = known.has(tick.dataset.tick);
    tick.addEventListener("change", () => { remember(); tell(); });
  }
  tell();
  document.addEventListener("language", tell);

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
