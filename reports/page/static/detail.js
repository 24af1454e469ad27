// One ARK: its outcomes with evidence, its citations, every request about it, and earlier checks.
"use strict";

(() => {
  const { told, spoken, load, make, content, say } = window.arkaudit;
  const dialog = document.getElementById("detail");
  const body = dialog.querySelector(".detail-body");
  let cameFrom = "";
  let drawings = [];

  function cellsOf(table, row, names) {
    return names.map((name) => ({ column: table.column(name), text: table.column(name).text(row) }));
  }

  function facts(table, row, names) {
    const list = make("dl", { class: "facts" });
    for (const { column, text } of cellsOf(table, row, names)) {
      if (text) list.append(make("div", {}, make("dt", { lang: "en" }, column.heading), make("dd", {}, content(text, column.type))));
    }
    return list;
  }

  function listing(caption, table, rows, names) {
    const kept = names.filter((name) => rows.some((row) => table.column(name).text(row)));
    const head = make("tr", {}, ...kept.map((name) => make("th", { scope: "col", lang: "en" }, table.column(name).heading)));
    const lines = rows.map((row) => make("tr", {}, ...cellsOf(table, row, kept).map(
      ({ column, text }) => make("td", { class: column.type }, content(text, column.type)))));
    const element = make("table", {}, make("caption", {}, make("span", {}, caption)),
      make("thead", {}, head), make("tbody", {}, ...lines));
    return make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": caption }, element);
  }

  /** Return the object's chain of requests as a list with statuses; the last one is marked. */
  function chain(requests, rows) {
    const steps = rows.map((row, at) => {
      const [url, status, error] = ["url", "status", "error"].map((name) => requests.column(name).text(row));
      const attempt = Number(requests.column("attempt").value(row));
      const words = `${status ? "answered" : error ? "no answer because" : "no answer"}${attempt > 1 ? " again" : ""}`;
      return make("li", at === rows.length - 1 ? { class: "last" } : {}, content(url, "URL"),
        " ", make("span", { class: "step" }, say(words, { status, error, attempt })));
    });
    return make("ol", { class: "chain" }, ...steps);
  }

  const LEVELS = ["not-judged", "fails", "unreachable", "works"];

  /** Return a chart with one point per check, by time and outcome; it is drawn once it is in the page. */
  function historyChart(history, rows) {
    const place = make("div", { class: "life", role: "img", "aria-label": say("life") });
    drawings.push(() => {
      const { drawIn, tone } = window.arkaudit;
      drawIn(place, 180, {
        grid: { left: 4, right: 24, top: 10, bottom: 8, containLabel: true },
        xAxis: { type: "time", axisLabel: { color: tone("ink"), hideOverlap: true, fontSize: 12, formatter: spoken.day } },
        yAxis: {
          type: "category", data: LEVELS.map((level) => spoken.names[level] ?? level),
          axisLabel: { color: tone("ink") }, splitLine: { show: true, lineStyle: { color: tone("line") } },
        },
        series: [{
          type: "line", step: "end", symbol: "circle", symbolSize: 11, lineStyle: { color: tone("soft"), width: 1.5 },
          emphasis: { disabled: true },
          data: rows.map((row) => {
            const family = history.column("family").text(row);
            return { value: [history.column("at").value(row), LEVELS.indexOf(family)], itemStyle: { color: tone(family) } };
          }),
        }],
      });
    });
    return place;
  }

  function earlierChecks(history, rows) {
    const table = listing(say("checks caption"), history, [...rows].reverse(), ["at", "run", "family", "object"]);
    return rows.length > 1 ? [historyChart(history, rows), table] : [table];
  }

  async function build(ark) {
    const [arks, citations, requests, failures, history] = await Promise.all(
      ["arks", "citations", "requests", "failures", "history"].map(load));
    const rows = arks.column("ark").rowsWith(ark);
    if (!rows.length) return [make("p", {}, say("not held"))];
    const parts = [];
    const asked = requests.column("ark").rowsWith(ark);
    for (const row of rows) {
      const url = arks.column("request_url").text(row);
      parts.push(make("h3", {}, say(url ? "asked at" : "not asked"), " ", url ? content(url, "URL") : null));
      parts.push(facts(arks, row, ["object", "state", "since", "object_evidence", "metadata", "metadata_evidence",
        "commitment", "permanence", "guarantor", "commitment_evidence", "final_url", "checked_at", "check", "suggestions", "remarks"]));
      const chainRows = asked.filter((each) => requests.column("request_url").text(each) === url
        && requests.column("question").text(each) === "object");
      if (chainRows.length) parts.push(make("h4", {}, say("the way")), chain(requests, chainRows));
    }
    const failing = failures.column("ark").rowsWith(ark);
    if (failing.length) {
      parts.push(make("h3", {}, say("what to do")));
      const number = failures.column("number").value(failing[0]);
      const advice = spoken.sentences[told.advice[failures.column("cause").text(failing[0])]];
      parts.push(make("p", {}, advice ?? "", " ", make("a", { href: `#failures?number=${number}` }, say("all places"))));
      parts.push(facts(failures, failing[0], ["cause", "fault", "host", "should_be", "because", "last_good_url", "last_good_at", "archived_copy", "archived_at"]));
    }
    const checks = history.column("ark").rowsWith(ark);
    if (checks.length) parts.push(make("h3", {}, say("checks", { number: checks.length })), ...earlierChecks(history, checks));
    const cited = citations.column("ark").rowsWith(ark);
    if (cited.length) {
      parts.push(make("h3", {}, say("cited", { number: cited.length })));
      parts.push(listing(say("cited caption"), citations, cited,
        ["document", "page", "place", "role", "as_written", "repairs", "confidence", "request_url"]));
    }
    if (asked.length) {
      parts.push(make("h3", {}, say("requests", { number: asked.length })));
      parts.push(listing(say("requests caption"), requests, asked,
        ["question", "attempt", "hop", "url", "status", "location", "error", "at", "elapsed_s"]));
    }
    return parts;
  }

  /** Return a button that copies a link to *ark* in this page. */
  function permalink(ark) {
    const button = make("button", { type: "button" }, say("permalink"));
    button.addEventListener("click", () => {
      window.arkaudit.copyWith(button, `${location.href.split("#")[0]}#ark=${encodeURIComponent(ark)}`);
    });
    return make("p", { class: "permalink" }, button);
  }

  async function follow() {
    const found = /^#ark=(.+)$/.exec(location.hash);
    if (!found) {
      if (dialog.open) dialog.close();
      return;
    }
    let ark;
    try { ark = decodeURIComponent(found[1]); } catch { ark = found[1]; }
    // Both forms of the label are equivalent.
    ark = ark.replace(/^ark:\/*/i, "ark:");
    body.replaceChildren(make("h2", { id: "detail-name", tabindex: "-1" }, ark), permalink(ark),
      make("p", { role: "status" }, say("looking")));
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    dialog.querySelector("#detail-name").focus();
    const hash = location.hash;
    drawings = [];
    const parts = await build(ark);
    if (location.hash !== hash) return;
    body.lastChild.remove();
    body.append(...parts);
    drawings.splice(0).forEach((draw) => draw());
  }

  window.addEventListener("hashchange", (event) => {
    const old = new URL(event.oldURL).hash;
    if (!old.startsWith("#ark=")) cameFrom = old;
    follow();
  });
  dialog.addEventListener("close", () => {
    if (location.hash.startsWith("#ark=")) history.replaceState(null, "", cameFrom || location.pathname + location.search);
  });
  dialog.querySelector(".close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  document.addEventListener("language", () => { if (dialog.open) follow(); });
  window.arkaudit.showArk = follow;
  follow();
})();
