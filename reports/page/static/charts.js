// The charts: drawn as SVG in the colours of the page, and again when these, or the room for them, change.
"use strict";

(() => {
  const { told, make } = window.arkaudit;
  const drawn = [];

  /** Run the library, which is only there as text until a chart comes into view. */
  function run() {
    if (window.echarts) return;
    const library = document.getElementById("library-charts");
    document.body.append(make("script", {}, library.textContent));
    library.remove();
  }

  /** *value* with every named colour filled in from the style of the page. */
  function coloured(value, style) {
    if (Array.isArray(value)) return value.map((each) => coloured(each, style));
    if (value === null || typeof value !== "object") return value;
    if (typeof value.colour === "string") return style.getPropertyValue(`--${value.colour}`).trim();
    if (value.percent) return coloured({ ...value, percent: undefined, axisLabel: { ...value.axisLabel, formatter: percent } }, style);
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, coloured(each, style)]));
  }

  const percent = (share) => `${Math.round(100 * share)} %`;

  /** On a narrow screen the names of a flow are cut where the next column begins; the numbers beside it have them all. */
  function narrowed(option, width) {
    const [first] = option.series;
    if (first.type !== "sankey" || width > 640) return option;
    const label = { ...first.label, overflow: "truncate", width: Math.round((width - 100) / 2) - 30 };
    return { ...option, series: [{ ...first, right: 90, label }] };
  }

  function draw() {
    const style = getComputedStyle(document.documentElement);
    for (const { chart, place, told: { option } } of drawn) {
      chart.setOption(coloured(narrowed(option, place.clientWidth), style), { notMerge: true });
    }
  }

  function begin() {
    if (drawn.length) return;
    run();
    told.charts.forEach(add);
    draw();
    new ResizeObserver(() => drawn.forEach(({ chart }) => chart.resize())).observe(document.querySelector("main"));
    for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", draw);
  }

  function add(each) {
    const place = document.getElementById(`picture-${each.name}`);
    place.hidden = false;
    const chart = echarts.init(place, null, { renderer: "svg", height: each.height });
    if (each.leads_to) {
      chart.on("click", ({ name }) => {
        const value = name.split(" ").pop();
        if (/^[0-9a-z]+$/.test(value)) location.hash = `#arks?${each.leads_to}=${value}`;
      });
    }
    drawn.push({ chart, place, told: each });
  }

  /** A chart that lives as long as what it stands in: drawn once, in the colours of the page. */
  window.arkaudit.drawIn = (place, height, option) => {
    run();
    const chart = echarts.init(place, null, { renderer: "svg", height });
    chart.setOption(coloured(option, getComputedStyle(document.documentElement)));
    return chart;
  };

  if (!told.charts.length) return;
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    begin();
  }, { rootMargin: "400px" });
  seen.observe(document.querySelector(".charts"));
  window.addEventListener("beforeprint", begin);
  window.arkaudit.drawCharts = begin;
})();
