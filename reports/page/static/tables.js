// Every table of the page as a DataTable, which shows, pages and sorts; the rows come from the embedded data.
"use strict";

(() => {
  const { spoken, load, make, content, say, shown: { count } } = window.arkaudit;
  const NUMERIC = new Set(["count", "number", "share"]);
  const FEWEST = 2, MOST = 80;
  const LONG = 120;
  // A shorter text fits into its column.
  const SHORT = 20;
  const SEVERAL = "\u0000";
  const shown = new Map();

  function filterable(column) {
    if (!column.codes || !["token", "NAAN", "truth"].includes(column.type)) return false;
    return column.texts.length >= FEWEST && column.texts.length <= MOST;
  }

  function filterBar(table, state, changed) {
    const columns = table.columns.filter(filterable);
    if (!columns.length || table.rows < 8) return null;
    const bar = make("div", { class: "filters", role: "group", "aria-label": say("filters", { table: document.getElementById(table.told.name).textContent }) });
    for (const column of columns) {
      const counts = new Map();
      column.codes.forEach((code) => counts.set(code, (counts.get(code) ?? 0) + 1));
      const options = column.texts
        .map((text, code) => ({ text, count: counts.get(code) ?? 0 }))
        .sort((a, b) => b.count - a.count || (a.text < b.text ? -1 : 1));
      const select = make("select", { name: column.name }, make("option", { value: "" }, say("any")));
      for (const { text, count } of options) {
        select.append(make("option", { value: text }, say("choice", { value: spoken.names[text] ?? text, number: count })));
      }
      choose(select, state.filters[column.name]);
      select.addEventListener("change", () => {
        if (select.value === SEVERAL) return;
        if (select.value) state.filters[column.name] = [select.value];
        else delete state.filters[column.name];
        choose(select, state.filters[column.name]);
        changed();
      });
      bar.append(make("label", {}, make("span", { lang: "en" }, column.heading), select));
    }
    return bar;
  }

  /** Make *select* show *values*, even if there are several. */
  function choose(select, values = []) {
    select.querySelector(`option[value="${SEVERAL}"]`)?.remove();
    if (values.length > 1) {
      const names = values.map((text) => spoken.names[text] ?? text).join(", ");
      select.append(make("option", { value: SEVERAL }, say("any of several", { values: names })));
    }
    select.value = values.length > 1 ? SEVERAL : values[0] ?? "";
  }

  /** Columns that the reader has hidden, by table; they stay hidden when the language changes. */
  const hidden = new Map();

  /** Return the bar of a table: its columns to choose, whole texts, and the rows that are shown as a file. */
  function toolBar(name, { table, state, living }, section) {
    const left = hidden.get(name) ?? hidden.set(name, new Set()).get(name);
    const boxes = table.columns.map((column, at) => {
      if (table.rows && column.isEmpty) return null;
      const box = make("input", { type: "checkbox", value: column.name });
      box.checked = !left.has(column.name);
      box.addEventListener("change", () => {
        if (box.checked) left.delete(column.name);
        else left.add(column.name);
        living.column(at).visible(box.checked);
      });
      return make("label", {}, box, " ", make("span", { lang: "en" }, column.heading));
    });
    const whole = make("input", { type: "checkbox" });
    whole.checked = section.classList.contains("whole-texts");
    whole.addEventListener("change", () => section.classList.toggle("whole-texts", whole.checked));
    const title = document.getElementById(name).textContent;
    const button = make("button", { type: "button", "data-export": name }, say("save view"));
    button.addEventListener("click", () => {
      const columns = table.columns.filter((column, at) => living.column(at).visible());
      // The mark tells spreadsheets that the file is in UTF-8.
      window.arkaudit.save(`${name}.csv`, `\uFEFF${table.csv(state.found, columns)}`, "text/csv");
    });
    return make("div", { class: "tools", role: "group", "aria-label": say("tools", { table: title }) },
      make("details", {}, make("summary", {}, say("columns")), make("fieldset", {}, make("legend", {}, say("columns of", { table: title })), ...boxes)),
      make("label", {}, whole, " ", say("whole texts")), button);
  }

  /** Return a cell for DataTables: an element, or escaped text. */
  function cell(node) {
    if (node.nodeType === Node.ELEMENT_NODE) return node;
    if (node.length > LONG) return make("div", { class: "clamp" }, node);
    return make("span", {}, node).innerHTML;
  }

  /** Show the whole text of a cell that may be cut; the first cell is the heading of its row and must not be empty. */
  function complete(cell, _text, _row, _at, place) {
    if (cell.textContent.length > SHORT) cell.title = cell.textContent;
    if (place) return;
    cell.setAttribute("scope", "row");
    if (!cell.textContent) cell.textContent = "\u2013";
  }

  /** Return a link from a number other than 0 to the rows of another table that it counts, or null. */
  function rowLink(table, column, text, row) {
    if (!column.leads_to || !/[1-9]/.test(text)) return null;
    const [name, key] = column.leads_to;
    const value = row[table.columns.indexOf(table.column(key))];
    return make("a", { href: `#${name}?${new URLSearchParams({ [key]: value })}` }, text);
  }

  function columnsOf(table) {
    return table.columns.map((column, place) => ({
      data: place,
      name: column.name,
      title: column.heading,
      className: column.type,
      visible: (table.rows === 0 || !column.isEmpty) && !hidden.get(table.told.name)?.has(column.name),
      orderSequence: NUMERIC.has(column.type) ? ["desc", "asc", ""] : ["asc", "desc", ""],
      cellType: place === 0 ? "th" : "td",
      render: (text, _type, row) => cell(rowLink(table, column, text, row) ?? content(text, column.type)),
      createdCell: complete,
    }));
  }

  function answer(table, state, request) {
    const [first] = request.order;
    const order = first && { column: first.column, descending: first.dir === "desc" };
    state.words = request.search.value;
    const key = JSON.stringify([state.words, state.filters, order]);
    if (state.key !== key) {
      state.key = key;
      state.found = table.find(state.words, state.filters, order);
    }
    const last = request.length < 0 ? undefined : request.start + request.length;
    const rows = state.found.slice(request.start, last);
    return {
      draw: request.draw,
      recordsTotal: table.rows,
      recordsFiltered: state.found.length,
      data: rows.map((row) => table.columns.map((column) => column.text(row))),
    };
  }

  function remember(name, state) {
    if (location.hash.startsWith("#ark=")) return;
    const parts = new URLSearchParams();
    if (state.words) parts.set("q", state.words);
    for (const [column, values] of Object.entries(state.filters)) values.forEach((value) => parts.append(column, value));
    const query = parts.toString();
    if (query || location.hash.startsWith(`#${name}?`)) {
      history.replaceState(null, "", query ? `#${name}?${query}` : `#${name}`);
    }
  }

  /** Turn the static table *name* into a DataTable; resolves to its commands, or to null if it does not exist. */
  async function show(name) {
    if (shown.has(name)) return shown.get(name);
    const promise = build(name);
    shown.set(name, promise);
    return promise;
  }

  async function build(name) {
    const section = document.querySelector(`[data-table="${name}"]`);
    if (!section) return null;
    const place = section.querySelector(".scroll");
    const table = await load(name);
    const state = { words: "", filters: {}, found: null, key: null };
    const commands = { table, state };
    table.columns.forEach((column) => column.dropTexts());
    const caption = place.querySelector("caption");
    const element = make("table", { id: `table-${name}` });
    const meanings = [...section.querySelectorAll("dl.columns dd")];
    element.append(caption.cloneNode(true));
    place.replaceWith(element);
    const living = new DataTable(element, {
      serverSide: true,
      ajax: (request, give) => give(answer(table, state, request)),
      columns: columnsOf(table),
      order: [],
      autoWidth: false,
      pageLength: 25,
      lengthMenu: [10, 25, 100, 500],
      searchDelay: 120,
      searching: table.rows > 8,
      paging: table.rows > 10,
      info: table.rows > 10,
      formatNumber: count,
      language: {
        aria: {
          orderable: say("to sort"), orderableReverse: say("to reverse"), orderableRemove: say("to unsort"),
          paginate: { first: say("first page"), last: say("last page"), next: say("next page"), previous: say("previous page") },
        },
        search: say("search"), searchPlaceholder: say("search hint"), zeroRecords: say("no row fits"),
        emptyTable: say("no rows"), info: say("rows shown"), infoEmpty: say("no row fits"),
        infoFiltered: say("rows filtered"), lengthMenu: say("rows a page"),
      },
      infoCallback: (settings, start, end, most, total, words) => countedArks(table, state, words),
      layout: { topStart: "info", topEnd: "search", bottomStart: "pageLength", bottomEnd: "paging" },
      headerCallback: (head) => {
        [...head.querySelectorAll("th")].forEach((cell) => {
          cell.setAttribute("title", meanings[cell.dataset.dtColumn].textContent);
          cell.setAttribute("lang", "en");
          cell.setAttribute("scope", "col");
        });
      },
      // DataTables labels the navigation in English.
      drawCallback: () => section.querySelector(".dt-paging nav")?.setAttribute("aria-label", say("pages")),
    });
    const frame = element.parentElement;
    frame.classList.add("scroll");
    for (const [attribute, value] of [["role", "region"], ["tabindex", "0"], ["aria-labelledby", name]]) {
      frame.setAttribute(attribute, value);
    }
    Object.assign(commands, {
      living,
      search(words, filters) {
        state.filters = Object.fromEntries(Object.entries(filters).map(([column, values]) => [column, [values].flat()]));
        section.querySelectorAll(".filters select").forEach((select) => choose(select, state.filters[select.name]));
        living.search(words).draw();
      },
      /** Restore the static table. */
      makeStatic() {
        section.querySelector(".dt-container").before(place);
        living.destroy(true);
        section.querySelectorAll(".filters, .tools, .sideways, .whole").forEach((each) => each.remove());
        section.classList.remove("living");
      },
    });
    const bar = filterBar(table, state, () => living.draw());
    if (bar) section.querySelector(".dt-container").before(bar);
    section.querySelector(".dt-container").before(toolBar(name, commands, section));
    const whole = make("button", { type: "button", class: "whole" }, say("whole table", { number: table.rows }));
    whole.addEventListener("click", () => {
      commands.search("", {});
      section.querySelector("summary").focus();
    });
    const updateWhole = () => { whole.hidden = !state.words && !Object.keys(state.filters).length; };
    section.querySelector(".dt-container").before(whole);
    updateWhole();
    living.on("draw", () => { remember(name, state); updateWhole(); });
    section.classList.add("living");
    hint(frame);
    requestIdleCallback(() => table.columns.forEach((column) => column.codes && column.lowered));
    return commands;
  }

  /** Add the number of ARKs to *words* if an ARK has several rows, one per URL. */
  function countedArks(table, state, words) {
    const arks = table.column("ark");
    if (!arks || !state.found?.length) return words;
    const number = arks.different(state.found);
    return number === state.found.length ? words : say("rows of arks", { rows: words, number });
  }

  /** Show a hint above *frame* while it has more columns to the right. */
  function hint(frame) {
    const words = make("p", { class: "sideways", "aria-hidden": "true" }, say("more columns"));
    frame.before(words);
    const update = () => { words.hidden = frame.scrollLeft + frame.clientWidth >= frame.scrollWidth - 1; };
    new ResizeObserver(update).observe(frame);
    frame.addEventListener("scroll", update, { passive: true });
    update();
  }

  /** Rebuild every DataTable in the current language, keeping search, filters, order and page. */
  async function rebuild() {
    const living = await Promise.all(shown.values());
    for (const commands of living) {
      if (!commands) continue;
      const { table, state: { words, filters } } = commands;
      const order = commands.living.order();
      const page = commands.living.page.info();
      commands.makeStatic();
      shown.delete(table.told.name);
      const again = await show(table.told.name);
      again.living.order(order).page.len(page.length);
      again.search(words, filters);
      again.living.page(page.page).draw("page");
    }
  }

  let renewed = Promise.resolve();
  document.addEventListener("language", () => { renewed = renewed.then(rebuild); });
  /** Resolves when all tables are in the current language. */
  window.arkaudit.renewed = () => renewed;
  document.addEventListener("toggle", ({ target }) => {
    if (target.open && target.dataset.table) show(target.dataset.table);
  }, true);
  window.arkaudit.show = show;
})();
