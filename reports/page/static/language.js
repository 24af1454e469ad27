// The language of the page: the one that a reader has chosen, was asked for, or whose browser prefers it. What the page
// holds of it takes the place of what the page is written in; nothing is loaded.
"use strict";

(() => {
  const { told, spoken } = window.arkaudit;
  const KEY = "arkaudit: language";
  const select = document.getElementById("language");
  const NOT_SAID = "script, style, link, meta";

  // All of these are looked up before any script has changed the page: their numbers are those of the page as written.
  const elements = [...document.querySelectorAll(`:not(${NOT_SAID})`)];
  const texts = [];
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { currentNode: text } = walker;
    if (/\S/.test(text.data) && !text.parentNode.matches(NOT_SAID)) texts.push(text);
  }
  const writtenTexts = new Map();
  const writtenAttributes = [];

  /** Put what *language* says into the page as it is written. */
  function say(language) {
    for (const [at, words] of Object.entries(language.texts)) {
      if (!writtenTexts.has(at)) writtenTexts.set(at, texts[at].data);
      texts[at].data = words;
    }
    for (const [at, attributes] of Object.entries(language.attributes)) {
      for (const [name, words] of Object.entries(attributes)) {
        writtenAttributes.push([elements[at], name, elements[at].getAttribute(name)]);
        elements[at].setAttribute(name, words);
      }
    }
  }

  /** Put back what the page is written in. */
  function unsay() {
    for (const [at, words] of writtenTexts) texts[at].data = words;
    for (const [element, name, words] of writtenAttributes.splice(0)) element.setAttribute(name, words);
  }

  /** What scripts say: *base* with other leaves where *changes* say so, each behind the way to it. */
  function changed(base, changes) {
    const copy = structuredClone(base);
    for (const change of changes) {
      const way = change.slice(0, -2);
      const [last, leaf] = change.slice(-2);
      way.reduce((inner, step) => inner[step], copy)[last] = leaf;
    }
    return copy;
  }

  /** Let the page speak the language of this code. */
  function speak(code) {
    if (code === spoken.code) return;
    const language = told.languages[code];
    unsay();
    say(language);
    Object.assign(spoken, changed(told.scripted, language.scripted));
    select.value = code;
    document.dispatchEvent(new Event("language"));
  }

  // -- which one

  function remembered() {
    try { return localStorage.getItem(KEY); } catch { return null; }
  }

  function remember(code) {
    try { localStorage.setItem(KEY, code); } catch { /* then it holds until the page is closed */ }
  }

  const preferred = told.is_asked_for ? [] : (navigator.languages ?? []).map((each) => each.split("-")[0].toLowerCase());
  select.value = told.written;
  speak([remembered(), ...preferred, told.written].find((code) => code !== null && Object.hasOwn(told.languages, code)));
  select.addEventListener("change", () => {
    remember(select.value);
    speak(select.value);
  });
  window.arkaudit.speak = speak;
})();
