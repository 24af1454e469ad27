// The embedded tables: unpacked when first needed, searched and sorted column by column. Each different text is examined
// only once, so that a search of a hundred thousand rows takes a tenth of a second.
"use strict";

window.arkaudit = (() => {
  const NOTHING = "";
  const COLLATOR = new Intl.Collator("en", { numeric: true });

  const told = JSON.parse(document.getElementById("told").textContent);

  /** Texts and number formats of the scripts in the current language; `language.js` replaces them. */
  const spoken = { ...told.scripted };

  const formats = new Map();

  /** Return a number with *places* digits after its point, in the current language. */
  function written(value, places = 0) {
    const key = `${spoken.code} ${places}`;
    if (!formats.has(key)) {
      const digits = { minimumFractionDigits: places, maximumFractionDigits: places };
      formats.set(key, new Intl.NumberFormat(spoken.code, digits));
    }
    // toFixed rounds the value itself, as Python does.
    return formats.get(key).format(value.toFixed(places));
  }

  function day(moment) {
    const [yyyy, MM, dd] = moment.slice(0, 10).split("-");
    return spoken.day.replace("{yyyy}", yyyy).replace("{MM}", MM).replace("{dd}", dd);
  }

  const shown = {
    count: (value) => written(value),
    number: (value) => written(value, 2),
    share: (value) => `${written(100 * value, 1)}${spoken.percent}`,
    truth: (value) => say(value ? "true" : "false"),
    moment: (value) => {
      const moment = new Date(value).toISOString();
      return `${day(moment)} ${moment.slice(11, 19)} UTC`;
    },
  };
  /** Return the name of a value in a filter: the same in every language. */
  const plain = (value, type) => (type === "truth" ? (value ? "yes" : "no") : String(value));

  class Column {
    constructor(told, packed) {
      Object.assign(this, told);
      this.texts = packed.d ?? null;
      this.codes = packed.i ? Int32Array.from(packed.i) : null;
      this.values = packed.v ?? null;
    }

    value(row) {
      if (!this.codes) return this.values[row];
      const code = this.codes[row];
      return code < 0 ? null : this.texts[code];
    }

    /** True if the column is empty in all rows. */
    get isEmpty() {
      return this.codes ? this.texts.length === 0 : this.values.every((value) => value === null);
    }

    text(row) {
      const value = this.value(row);
      if (value === null) return NOTHING;
      return this.codes ? this.translated(value) : shown[this.type](value);
    }

    /** Return the cell of a row as CSV. */
    csv(row) {
      const value = this.value(row);
      if (value === null) return '""';
      switch (this.type) {
        case "count": return String(value);
        case "number": case "share": return Number.isInteger(value) ? `${value}.0` : String(value);
        case "truth": return value ? '"true"' : '"false"';
        case "moment": return `"${new Date(value).toISOString()}"`;
        default: return quoted(value);
      }
    }

    /** Return *text* as shown: sentences of arkaudit are translated. */
    translated(text) {
      return this.ours ? spoken.sentences[text] ?? text : text;
    }

    /** Drop cached texts of the previous language. */
    dropTexts() {
      if (this.ours) this._lowered = this._ranks = undefined;
    }

    /** The different texts in lower case. */
    get lowered() {
      return (this._lowered ??= this.texts.map((text) => this.translated(text).toLowerCase()));
    }

    /** Set 1 in *hits* for rows whose text contains *term*. */
    mark(term, hits) {
      if (!this.codes) return;
      const fits = new Uint8Array(this.texts.length);
      let any = false;
      this.lowered.forEach((text, code) => {
        if (text.includes(term)) any = fits[code] = 1;
      });
      if (!any) return;
      const codes = this.codes;
      for (let row = 0; row < codes.length; row++) if (codes[row] >= 0 && fits[codes[row]]) hits[row] = 1;
    }

    /** Set 0 in *keep* for rows whose text is not in *wanted*. */
    keepOnly(wanted, keep) {
      const texts = new Set(wanted);
      const codes = this.codes ? new Set(wanted.map((text) => this.texts.indexOf(text)).filter((code) => code >= 0)) : null;
      for (let row = 0; row < keep.length; row++) {
        if (codes ? !codes.has(this.codes[row]) : !texts.has(plain(this.values[row], this.type))) keep[row] = 0;
      }
    }

    /** Return the number of different texts in *rows*. */
    different(rows) {
      const found = new Set();
      for (const row of rows) found.add(this.codes[row]);
      found.delete(-1);
      return found.size;
    }

    /** The rank of each row by value; Infinity for missing values, which come last in both directions. */
    get ranks() {
      if (this._ranks) return this._ranks;
      if (!this.codes) return (this._ranks = Float64Array.from(this.values, (value) => value ?? Infinity));
      const places = this.texts.map((_, code) => code).sort((a, b) => COLLATOR.compare(this.translated(this.texts[a]), this.translated(this.texts[b])));
      const ranks = new Float64Array(this.texts.length);
      places.forEach((code, place) => { ranks[code] = place; });
      return (this._ranks = Float64Array.from(this.codes, (code) => (code < 0 ? Infinity : ranks[code])));
    }

    /** Return the rows with this text. */
    rowsWith(text) {
      const code = this.texts.indexOf(text);
      const rows = [];
      if (code >= 0) this.codes.forEach((each, row) => { if (each === code) rows.push(row); });
      return rows;
    }
  }

  class Table {
    constructor(told, packed) {
      this.told = told;
      this.rows = packed.rows;
      this.columns = told.columns.map((column, place) => new Column(column, packed.columns[place]));
      this.byName = new Map(this.columns.map((column) => [column.name, column]));
    }

    column(name) {
      return this.byName.get(name);
    }

    /** Return the rows that contain every word of *words* and one value of each filter, in *order*. */
    find(words, filters, order) {
      const keep = new Uint8Array(this.rows).fill(1);
      for (const word of words.toLowerCase().split(/\s+/).filter(Boolean)) {
        const hits = new Uint8Array(this.rows);
        for (const column of this.columns) column.mark(word, hits);
        for (let row = 0; row < this.rows; row++) keep[row] &= hits[row];
      }
      for (const [name, wanted] of Object.entries(filters)) {
        const column = this.column(name);
        if (column) column.keepOnly(wanted, keep);
      }
      const found = [];
      for (let row = 0; row < this.rows; row++) if (keep[row]) found.push(row);
      return order ? this.sorted(found, order) : found;
    }

    /** Return *rows* and *columns* as CSV, as `arkaudit report --format csv` writes them. */
    csv(rows, columns) {
      const lines = [columns.map((column) => `"${column.name}"`), ...rows.map((row) => columns.map((column) => column.csv(row)))];
      return lines.map((line) => `${line.join(",")}\n`).join("");
    }

    sorted(rows, { column, descending }) {
      const ranks = this.columns[column].ranks;
      const sign = descending ? -1 : 1;
      return rows.sort((a, b) => {
        const first = ranks[a], second = ranks[b];
        if (first === second) return a - b;
        if (first === Infinity || second === Infinity) return first - second;
        return sign * (first - second);
      });
    }
  }

  // The rule of `reports.languages.display.neutralize_formula`, in the words of this language.
  const FORMULA = new RegExp(told.formula.pattern, "gu");
  const NEUTRALIZED = told.formula.replacement.replace(/\\(\d)/g, "$$$1");

  /** Return *text* in quotation marks, without a sign that would begin a formula. */
  function quoted(text) {
    return `"${text.replace(FORMULA, NEUTRALIZED).replaceAll('"', '""')}"`;
  }

  const unpacked = new Map();

  /** Return the table *name*; it is unpacked once. */
  function load(name) {
    if (!unpacked.has(name)) unpacked.set(name, unpack(name));
    return unpacked.get(name);
  }

  async function unpack(name) {
    const element = document.getElementById(`data-${name}`);
    const packed = atob(element.textContent);
    const bytes = new Uint8Array(packed.length);
    for (let at = 0; at < packed.length; at++) bytes[at] = packed.charCodeAt(at);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    element.textContent = "";
    return new Table(told.tables[name], await new Response(stream).json());
  }

  /** Return the sentence *name* with *values* filled in, in the plural form for `number`. */
  function say(name, values = {}) {
    const known = spoken.words[name];
    const text = typeof known === "string" ? known : known[new Intl.PluralRules(spoken.code).select(values.number)] ?? known.other;
    return text.replace(/\{(\w+)\}/g, (whole, place) => {
      const value = values[place] ?? whole;
      return typeof value === "number" ? written(value) : value;
    });
  }

  /** Return an element with attributes and children; strings become text nodes. */
  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [attribute, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined) element.setAttribute(attribute, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  /** Return the content of a cell by the type of its column: a link, a badge, or plain text. */
  function content(text, type) {
    if (!text) return document.createTextNode("");
    if (type === "URL" && /^https?:\/\//i.test(text) && !/\[U\+[0-9A-F]{4,6}\]/.test(text)) {
      return make("a", { href: text, rel: "noreferrer nofollow" }, text);
    }
    if (type === "ARK") return make("a", { href: `#ark=${encodeURIComponent(text)}`, class: "ark" }, text);
    if (type === "token") {
      const tone = told.tones[text];
      return tone ? make("span", { class: `badge ${tone}` }, spoken.names[text] ?? text) : document.createTextNode(text);
    }
    return document.createTextNode(text);
  }

  return { told, spoken, load, make, content, say, shown, written };
})();
