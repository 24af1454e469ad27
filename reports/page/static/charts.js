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

  /** Return *value* with named colours and the font filled in from the style of the page. */
  function withColours(value, style) {
    if (Array.isArray(value)) return value.map((each) => withColours(each, style));
    if (value === "inherit") return family;
    if (value === null || typeof value !== "object") return value;
    if (typeof value.colour === "string") return style.getPropertyValue(`--${value.colour}`).trim();
    if (value.percent) return withColours({ ...value, percent: undefined, axisLabel: { ...value.axisLabel, formatter: percent } }, style);
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withColours(each, style)]));
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

  /** Return the options and the height of a chart for *width*, so that no label is cut or overlaps. */
  function fit(each, width) {
    let { option, height } = each;
    if (option.legend) {
      const { data, itemWidth, textStyle } = option.legend;
      const room = width - itemWidth - 12;
      // Long names each get their own line, cut at the edge.
      const isLong = data.some((name) => widthOf(name) > room);
      const lines = isLong ? data.length : legendLines(option.legend, width);
      const more = (lines - 1) * (LINE + 11);
      const legend = isLong ? { ...option.legend, textStyle: { ...textStyle, width: room, overflow: "truncate" } } : option.legend;
      option = { ...option, legend, grid: { ...option.grid, top: option.grid.top + more } };
      height += more;
    }
    // Half of the last label may extend beyond the end of the axis.
    if (option.xAxis?.type === "time") {
      option = { ...option, grid: { ...option.grid, right: Math.ceil(widthOf("00-00 00:00") / 2) + 6 } };
    }
    if (option.yAxis?.type === "category") return withNames(option, height, width, each.widest_number);
    return { option, height };
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
    const label = { ...option.yAxis.axisLabel, fontSize: FONT, lineHeight: LINE, formatter: (name, at) => lines[at].join("\n") };
    if (!isWide) {
      Object.assign(label, { inside: true, margin: 0, align: "left", verticalAlign: "bottom", padding: [0, 0, 9, 0] });
    }
    const right = widthOf(widest) * 1.15 + 12;
    return {
      option: {
        ...option,
        grid: { ...option.grid, right, containLabel: isWide },
        yAxis: { ...option.yAxis, axisLabel: label },
      },
      height: Math.round(option.grid.top + row * names.length + 8),
    };
  }

  /** Set the font of axis names: without it the library measures them in another font. */
  function inFont(option) {
    const axes = ["xAxis", "yAxis"].filter((name) => option[name]);
    const named = (axis) => ({ ...axis, axisLabel: { ...axis.axisLabel, fontFamily: family } });
    return { ...option, ...Object.fromEntries(axes.map((name) => [name, named(option[name])])) };
  }

  /** Reserve the height of all charts before any is drawn. */
  function reserve() {
    spoken.charts.forEach((each, at) => {
      places[at].hidden = false;
      places[at].style.height = `${fit(each, places[at].clientWidth).height}px`;
    });
  }

  function draw() {
    const style = getComputedStyle(document.documentElement);
    reserve();
    drawn.forEach(({ chart, place }, at) => {
      const { option, height } = fit(spoken.charts[at], place.clientWidth);
      chart.resize({ width: place.clientWidth, height });
      chart.setOption(withColours(inFont(option), style), { notMerge: true });
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
    const chart = echarts.init(place, null, { renderer: "svg", height: each.height });
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
    const style = getComputedStyle(document.documentElement);
    const [ink, paper] = ["--ink", "--paper"].map((tone) => style.getPropertyValue(tone).trim());
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
    chart.setOption(withColours(option, getComputedStyle(document.documentElement)));
    return chart;
  };

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
