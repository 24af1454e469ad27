// The charts: drawn as SVG in the colours of the page, and redrawn when colours or widths change. Their heights are reserved
// before, so that the page does not move while they are drawn.
"use strict";

(() => {
  const { spoken, make, written } = window.arkaudit;
  // Line height and font size, in CSS pixels.
  const LINE = 15;
  const FONT = 12;
  // From this width on, names are next to their bars, else above them.
  const WIDE = 560;
  const drawn = [];
  const places = spoken.charts.map((each) => document.getElementById(`picture-${each.name}`));
  const family = getComputedStyle(document.body).fontFamily;
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `${FONT}px ${family}`;

  /** Run the library, which is embedded as text until a chart comes into view. */
  function run() {
    if (window.echarts) return;
    const library = document.getElementById("library-charts");
    document.body.append(make("script", {}, library.textContent));
    library.remove();
  }

  const percent = (share) => `${written(100 * share)}${spoken.percent}`;
  const widthOf = (text) => Math.ceil(pen.measureText(text).width);

  /** Return *text* in lines no wider than *room*, wrap between words, or inside words that are too long. */
  function wrap(text, room) {
    const lines = [];
    for (const word of text.split(" ").flatMap((each) => cutWord(each, room))) {
      const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
      if (lines.length && widthOf(longer) <= room) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines;
  }

  function cutWord(word, room) {
    if (widthOf(word) <= room) return [word];
    const parts = [""];
    for (const char of word) {
      if (parts.at(-1) && widthOf(parts.at(-1) + char) > room) parts.push("");
      parts[parts.length - 1] += char;
    }
    return parts;
  }

  const tone = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const label = () => ({ color: tone("ink"), fontSize: FONT, fontFamily: family });
  const COMMON = { animation: false, useUTC: true, textStyle: { fontFamily: family } };

  /** Return the options of a chart of bars: one row per name, and the total at the end of a stack. */
  function bars({ names, series, most }) {
    const isStack = series.length > 1;
    const plain = { type: "bar", stack: "all", barWidth: 15, emphasis: { disabled: true } };
    const totals = names.map((_, at) => series.reduce((sum, { values }) => sum + values[at], 0));
    const stacked = series.map(({ name, values, tone: common, tones = values.map(() => common) }) => ({
      ...plain, name, itemStyle: { color: tone(tones[0]) },
      data: values.map((value, at) => ({
        value,
        itemStyle: { color: tone(tones[at]) },
        // A number is shown only if it fits into its part of the bar.
        label: {
          show: isStack && value > (0.04 + 0.02 * written(value).length) * most, formatter: written(value),
          color: tone(`${tones[at]}-on`), position: "inside",
        },
      })),
    }));
    const ends = {
      ...plain, tooltip: { show: false }, legendHoverLink: false, silent: true,
      label: { show: true, position: "right", color: tone("ink"), fontWeight: isStack ? "bold" : "normal" },
      data: totals.map((total) => ({ value: 0, label: { formatter: written(total) } })),
    };
    return {
      ...COMMON,
      tooltip: { ...TOOLTIP, axisPointer: { type: "shadow" } },
      legend: isStack ? legend(series) : undefined,
      grid: { left: 4, right: 12, top: isStack ? 36 : 4, bottom: 4, containLabel: true },
      // The library measures labels that are not shown, too.
      xAxis: { type: "value", show: false, max: most, axisLabel: label() },
      yAxis: {
        type: "category", data: names, inverse: true, axisLine: { show: false }, axisTick: { show: false },
        axisLabel: { ...label(), interval: 0 },
      },
      series: [...stacked, ends],
    };
  }

  const TOOLTIP = { trigger: "axis", renderMode: "richText", confine: true };

  /** Return a legend above a chart; `fit` breaks it into as many lines as it needs. */
  function legend(series) {
    const data = series.map(({ name }) => name);
    return { top: 0, left: 0, itemWidth: 14, itemHeight: 12, itemGap: 16, textStyle: { color: tone("ink") }, data };
  }

  /** The colours and dashes of survival curves, that of all ARKs first, and of the lines of runs. */
  const CURVES = [["ink", "solid"], ["line-1", "solid"], ["line-2", "dashed"], ["line-3", "dotted"], ["line-4", "solid"], ["line-5", "dashed"]];
  const RUNS = [["line-1", "solid"], ["line-3", "dashed"]];
  const MOST_SYMBOLS = 24;

  /** Return the options of a chart of shares: survival curves over *days*, or lines over the times of runs. */
  function lines({ lines, foot, days, axis }) {
    const pens = days ? CURVES : RUNS;
    const soft = tone("soft");
    const common = { axisLabel: { ...label(), hideOverlap: true }, axisLine: { lineStyle: { color: soft } }, splitLine: { show: false } };
    const xAxis = days
      ? { ...common, type: "value", min: 0, max: days, name: axis, nameLocation: "middle", nameGap: 28, nameTextStyle: { color: soft } }
      : timeAxis(common, lines[0].points.map(([moment]) => Date.parse(moment)));
    return {
      ...COMMON,
      tooltip: TOOLTIP,
      legend: legend(lines),
      grid: { left: 4, right: 24, top: 40, bottom: 28, containLabel: true },
      xAxis,
      yAxis: {
        ...common, type: "value", min: foot, max: 1, interval: Number(((1 - foot) / 5).toFixed(4)), splitLine: { lineStyle: { color: tone("line") } },
        axisLabel: { ...label(), hideOverlap: true, formatter: percent },
      },
      series: lines.map(({ name, points }, at) => {
        const [color, type] = [tone(pens[at][0]), pens[at][1]];
        return {
          type: "line", name, data: points, step: days ? "end" : false, symbol: "circle", symbolSize: 4,
          showSymbol: points.length <= MOST_SYMBOLS, lineStyle: { color, width: 2, type }, itemStyle: { color },
          emphasis: { disabled: true },
        };
      }),
    };
  }

  /** Return an axis of days, or of minutes if all runs lie within a few days. */
  function timeAxis(common, moments) {
    const DAY = 86_400_000;
    const isLong = moments.at(-1) - moments[0] >= 3 * DAY;
    const formatter = isLong ? spoken.day : `${spoken.day.replace(/[-/]?\{yyyy\}-?/, "")} {HH}:{mm}`;
    return { ...common, type: "time", minInterval: isLong ? DAY : 60_000, axisLabel: { ...common.axisLabel, formatter } };
  }

  /** Return the options and the height of a chart for *width*, so that no label is cut or overlaps. */
  function fit(each, width) {
    let option = each.names ? bars(each) : lines(each);
    let height = each.names ? option.grid.top + 10 + 27 * each.names.length : each.days ? 320 : 300;
    if (option.legend) {
      const { data, itemWidth, textStyle } = option.legend;
      const room = width - itemWidth - 12;
      // Long names each get their own line, cut at the edge.
      const isLong = data.some((name) => widthOf(name) > room);
      const lines = isLong ? data.length : legendLines(option.legend, width);
      const more = (lines - 1) * (LINE + 11);
      if (isLong) Object.assign(textStyle, { width: room, overflow: "truncate" });
      option.grid.top += more;
      height += more;
    }
    // Half of the last label may extend beyond the end of the axis.
    if (option.xAxis.type === "time") option.grid.right = Math.ceil(widthOf("00-00 00:00") / 2) + 6;
    return each.names ? withNames(option, height, width, written(each.most)) : { option, height };
  }

  function legendLines({ data, itemWidth, itemGap }, width) {
    let lines = 1, used = 0;
    for (const name of data) {
      const wide = itemWidth + 6 + widthOf(name) + itemGap;
      if (used && used + wide > width) { lines += 1; used = 0; }
      used += wide;
    }
    return lines;
  }

  /** Put the names of bars on as many lines as they need: next to the bars if there is room, else above them. */
  function withNames(option, height, width, widest) {
    const names = option.yAxis.data;
    const longest = Math.max(...names.map(widthOf));
    const isWide = width >= WIDE || longest <= 0.3 * width;
    const room = isWide ? Math.min(longest, 0.45 * width) : width - 12;
    const lines = names.map((name) => wrap(name, room));
    const most = Math.max(...lines.map((each) => each.length));
    const usual = (height - option.grid.top) / names.length;
    const row = isWide ? Math.max(usual, most * LINE + 8) : 2 * most * LINE + 20;
    const axisLabel = { ...option.yAxis.axisLabel, lineHeight: LINE, formatter: (name, at) => lines[at].join("\n") };
    if (!isWide) {
      Object.assign(axisLabel, { inside: true, margin: 0, align: "left", verticalAlign: "bottom", padding: [0, 0, 9, 0] });
    }
    const right = widthOf(widest) * 1.15 + 12;
    return {
      option: {
        ...option,
        grid: { ...option.grid, right, containLabel: isWide },
        yAxis: { ...option.yAxis, axisLabel },
      },
      height: Math.round(option.grid.top + row * names.length + 8),
    };
  }

  /** Reserve the height of all charts before any is drawn. */
  function reserve() {
    spoken.charts.forEach((each, at) => {
      places[at].hidden = false;
      places[at].style.height = `${fit(each, places[at].clientWidth).height}px`;
    });
  }

  function draw() {
    reserve();
    drawn.forEach(({ chart, place }, at) => {
      const { option, height } = fit(spoken.charts[at], place.clientWidth);
      chart.resize({ width: place.clientWidth, height });
      chart.setOption(option, { notMerge: true });
    });
  }

  function drawAll() {
    if (drawn.length) return;
    run();
    spoken.charts.forEach(add);
    draw();
  }

  function add(each, at) {
    const place = places[at];
    const chart = echarts.init(place, null, { renderer: "svg", height: place.clientHeight });
    if (each.leads_to) {
      chart.on("click", ({ name }) => {
        const value = name.split(" ").pop();
        if (/^[0-9a-z]+$/.test(value)) location.hash = `#arks?${each.leads_to}=${value}`;
      });
    }
    drawn.push({ chart, place, name: each.name });
  }

  // -- saving as a picture

  const SVG = "http://www.w3.org/2000/svg";

  function svg(name, attributes, ...children) {
    const element = document.createElementNS(SVG, name);
    for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
    element.append(...children);
    return element;
  }

  /** Return a chart as a self-contained SVG with its title and its sentence. */
  function picture(name) {
    drawAll();
    const at = drawn.findIndex((chart) => chart.name === name);
    const { place } = drawn[at];
    const each = spoken.charts[at];
    const [ink, paper] = [tone("ink"), tone("paper")];
    const inner = place.querySelector("svg").cloneNode(true);
    const [width, height] = ["width", "height"].map((side) => Number(inner.getAttribute(side)));
    const words = wrap(each.alt, width - 16);
    const whole = [width + 16, height + 44 + words.length * 16 + 12];
    inner.removeAttribute("style");
    for (const [attribute, value] of [["x", 8], ["y", 34]]) inner.setAttribute(attribute, value);
    const text = { "font-family": family, fill: ink };
    const outer = svg("svg", { xmlns: SVG, width: whole[0], height: whole[1], viewBox: `0 0 ${whole[0]} ${whole[1]}` },
      svg("title", {}, each.title), svg("desc", {}, each.alt),
      svg("rect", { width: "100%", height: "100%", fill: paper }),
      svg("text", { ...text, x: 8, y: 22, "font-size": 15, "font-weight": 600 }, each.title),
      inner,
      ...words.map((line, at) => svg("text", { ...text, x: 8, y: height + 56 + at * 16, "font-size": FONT }, line)));
    return { text: new XMLSerializer().serializeToString(outer), width: whole[0], height: whole[1] };
  }

  /** Return a chart as a PNG of twice the resolution; resolves to a Blob. */
  async function pixels(name) {
    const { text, width, height } = picture(name);
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const canvas = make("canvas", { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
    return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-save]");
    if (!button) return;
    const { save: form, chart: name } = button.dataset;
    const content = form === "svg" ? picture(name).text : await pixels(name);
    window.arkaudit.save(`${name}.${form}`, content, form === "svg" ? "image/svg+xml" : "image/png");
  });

  /** Draw a chart once into *place*, in the colours of the page. */
  window.arkaudit.drawIn = (place, height, option) => {
    run();
    const chart = echarts.init(place, null, { renderer: "svg", height });
    chart.setOption({ ...COMMON, ...option });
    return chart;
  };

  window.arkaudit.tone = tone;
  window.arkaudit.drawCharts = drawAll;
  window.arkaudit.picture = picture;
  window.arkaudit.pixels = pixels;
  if (!spoken.charts.length) return;
  document.documentElement.classList.add("living");
  reserve();
  let width = 0;
  new ResizeObserver(([{ contentRect }]) => {
    // Charts change only the height of their container.
    if (contentRect.width === width) return;
    width = contentRect.width;
    draw();
  }).observe(document.querySelector(".charts"));
  document.addEventListener("language", draw);
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", draw);
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    drawAll();
  }, { rootMargin: "400px" });
  seen.observe(document.querySelector(".charts"));
  window.addEventListener("beforeprint", drawAll);
})();
