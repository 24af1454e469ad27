// Links inside the page: open and filter a table before scrolling to it, and mark the current part in the navigation.
"use strict";

(() => {
  const { told, show } = window.arkaudit;
  const bar = document.querySelector("body > nav");
  const links = [...bar.querySelectorAll("a")];
  const parts = links.map((link) => document.getElementById(link.hash.slice(1)));
  /** A part is current if its top is at most this far below the bar, in CSS pixels. */
  const READ = 76;

  /** Follow the address: `#arks?q=louvre&object=broken` searches and filters a table, `#arks` shows all of it. */
  async function arrive() {
    if (location.hash.startsWith("#cause=")) return showCause(location.hash.slice("#cause=".length));
    const found = /^#([a-z][\w-]*)(?:\?(.*))?$/.exec(location.hash);
    const place = found && document.getElementById(found[1]);
    if (!place) return;
    const fold = place.closest("details");
    if (fold) fold.open = true;
    if (told.tables[found[1]]) {
      const table = await show(found[1]);
      if (table && found[2] !== undefined) table.search(...parseQuery(found[2]));
    }
    place.scrollIntoView();
    const stop = fold?.querySelector("summary") ?? place;
    if (stop === place) place.setAttribute("tabindex", "-1");
    stop.focus({ preventScroll: true });
  }

  /** Show the card of a cause by its key, or the start of the cards if it has none. */
  function showCause(text) {
    let key;
    try { key = decodeURIComponent(text); } catch { key = text; }
    const tick = [...document.querySelectorAll("[data-tick]")].find((each) => each.dataset.tick === key);
    const place = tick?.closest("li").querySelector("h3") ?? document.getElementById("to-act-on");
    place.setAttribute("tabindex", "-1");
    place.scrollIntoView();
    place.focus({ preventScroll: true });
  }

  let arrived = Promise.resolve();
  const follow = () => { arrived = arrive(); };

  function parseQuery(query) {
    const filters = {};
    let words = "";
    for (const [name, value] of new URLSearchParams(query)) {
      if (name === "q") words = value;
      else (filters[name] ??= []).push(value);
    }
    return [words, filters];
  }

  /** Mark the link to the current part. */
  function mark() {
    const below = bar.offsetHeight + READ;
    let current = -1;
    parts.forEach((part, at) => { if (part.getBoundingClientRect().top <= below) current = at; });
    links.forEach((link, at) => {
      if (at !== current) link.removeAttribute("aria-current");
      else if (!link.hasAttribute("aria-current")) link.setAttribute("aria-current", "true");
    });
  }

  // The bar may wrap to several lines, so the scroll target is kept below it.
  const keepClear = () => { document.documentElement.style.scrollPaddingTop = `${bar.offsetHeight + 6}px`; };
  keepClear();
  new ResizeObserver(keepClear).observe(bar);

  let isDue = false;
  window.addEventListener("scroll", () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => { isDue = false; mark(); });
  }, { passive: true });

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    // The address stays the same, so that no hashchange event is sent.
    if (link && link.hash === location.hash) follow();
  });
  window.addEventListener("hashchange", follow);

  const opened = [];
  window.addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll("details[data-paper]:not([open])")) {
      fold.open = true;
      opened.push(fold);
    }
  });
  window.addEventListener("afterprint", () => opened.splice(0).forEach((fold) => { fold.open = false; }));

  mark();
  follow();
  /** Resolves when the page shows the place of its address. */
  window.arkaudit.arrived = async () => {
    // Wait for a pending hashchange event.
    await new Promise((resume) => { setTimeout(resume); });
    await arrived;
  };
})();
