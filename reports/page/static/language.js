// The language of the page: chosen by the reader or by the report, or preferred by the browser. Its texts are embedded in
// the page and replace those of the written language.
"use strict";

(() => {
  const { told, spoken } = window.arkaudit;
  const KEY = "arkaudit: language";
  const select = document.getElementById("language");
  const NOT_COUNTED = "script, style, link, meta";

  // Collected before any script changes the page: their positions are those of the written page.
  const elements = [...document.querySelectorAll(`:not(${NOT_COUNTED})`)];
  const texts = [];
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { currentNode: text } = walker;
    if (/\S/.test(text.data) && !text.parentNode.matches(NOT_COUNTED)) texts.push(text);
  }
  const writtenTexts = new Map();
  const writtenAttributes = [];

  /** Replace texts and attributes of the written page by those of *language*. */
  function translate(language) {
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

  /** Restore the texts and attributes of the written page. */
  function restore() {
    for (const [at, words] of writtenTexts) texts[at].data = words;
    for (const [element, name, words] of writtenAttributes.splice(0)) element.setAttribute(name, words);
  }

  /** Return a copy of *base* with *changes*: each is a path followed by the new value. */
  function applyChanges(base, changes) {
    const copy = structuredClone(base);
    for (const change of changes) {
      const way = change.slice(0, -2);
      const [last, leaf] = change.slice(-2);
      way.reduce((inner, step) => inner[step], copy)[last] = leaf;
    }
    return copy;
  }

  /** Show the page in the language with this code. */
  function speak(code) {
    if (code === spoken.code) return;
    const language = told.languages[code];
    restore();
    translate(language);
    Object.assign(spoken, applyChanges(told.scripted, language.scripted));
    select.value = code;
    document.dispatchEvent(new Event("language"));
  }

  // -- choice of the language

  function storedLanguage() {
    try { return localStorage.getItem(KEY); } catch { return null; }
  }

  function storeLanguage(code) {
    try { localStorage.setItem(KEY, code); } catch { /* Without storage the choice lasts until the page is closed. */ }
  }

  const preferred = told.is_asked_for ? [] : (navigator.languages ?? []).map((each) => each.split("-")[0].toLowerCase());
  select.value = told.written;
  speak([storedLanguage(), ...preferred, told.written].find((code) => code !== null && Object.hasOwn(told.languages, code)));
  select.addEventListener("change", () => {
    storeLanguage(select.value);
    speak(select.value);
  });
  window.arkaudit.speak = speak;
})();
