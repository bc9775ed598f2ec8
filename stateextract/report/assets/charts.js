// Charts by ECharts: drawn in the colours of the page, redrawn when those change, when their place does and for paper.
const charts = (() => {
  const { h } = dom;
  const live = new Map(); // place on the page → { chart, make }
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const resized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const entry = live.get(target);
      if (!entry || !target.clientWidth) continue;
      entry.chart.resize();
      if (entry.narrow !== narrow(target)) apply(target, entry);
    }
  });

  // Of operators and lines, distinct beside each other; white text on the first row has a contrast of 4.5 at least.
  const FILLS = ["#3b6fb6", "#2a7f78", "#7a5bb5", "#86691c", "#4a7a33", "#a3487d", "#556b8a", "#1c7898", "#8c5a35"];
  const BRIGHT = ["#7aa7e8", "#58bdb3", "#b39bea", "#d8b856", "#93c676", "#e08fbd", "#a3b8d6", "#63bfe0", "#d3a078"];

  const UNREAD = "#b3372f";

  // Darker by a share; white text stays readable.
  const darker = (color, share) => `#${[1, 3, 5].map((at) => Math.round(parseInt(color.slice(at, at + 2), 16) * (1 - share)).toString(16).padStart(2, "0")).join("")}`;

  function theme() {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    const isDark = dark.matches && document.documentElement.dataset.paper === undefined;
    return {
      ink: color("ink"), quiet: color("quiet"), line: color("line"), surface: color("surface"), accent: color("accent"),
      warn: color("warn"), unread: UNREAD, fills: FILLS, lines: isDark ? BRIGHT : FILLS,
      font: style.getPropertyValue("--font"),
    };
  }

  const narrow = (place) => place.clientWidth < 560;

  function apply(place, entry) {
    const colors = theme();
    entry.narrow = narrow(place);
    const base = {
      animation: false,
      useUTC: true,
      textStyle: { fontFamily: colors.font, color: colors.ink },
      tooltip: {
        renderMode: "richText", // drawn, not markup
        confine: true, backgroundColor: colors.surface, borderColor: colors.line, padding: 10,
        textStyle: { color: colors.ink, fontSize: 13, lineHeight: 19 },
      },
    };
    const option = entry.make(colors, entry.narrow);
    entry.chart.setOption({ ...base, ...option, tooltip: { ...base.tooltip, ...option.tooltip } }, true);
  }

  // A place for a chart that draws itself once it is on the page. `label` says in words what the chart shows;
  // `make(theme, narrow)` gives ECharts' option; `on` has listeners of ECharts' events.
  function place(label, make, { size = "", on = {} } = {}) {
    const element = h("div", { class: `chart ${size}`, role: "img", "aria-label": label });
    element.redraw = () => {
      if (!live.has(element)) {
        const entry = { chart: echarts.init(element, null, { renderer: "canvas" }), make };
        for (const [event, listener] of Object.entries(on)) entry.chart.on(event, listener);
        live.set(element, entry);
        resized.observe(element);
      }
      apply(element, live.get(element));
    };
    return element;
  }

  // Draws all places inside of an element that is on the page now.
  const draw = (root) => root.querySelectorAll(".chart").forEach((element) => element.redraw());

  // Forgets all charts inside of an element that leaves the page.
  function drop(root) {
    for (const element of root.querySelectorAll(".chart")) {
      const entry = live.get(element);
      if (!entry) continue;
      resized.unobserve(element);
      entry.chart.dispose();
      live.delete(element);
    }
  }

  const redrawAll = () => live.forEach((entry, element) => element.clientWidth && apply(element, entry));
  dark.addEventListener("change", redrawAll);
  addEventListener("beforeprint", () => { document.documentElement.dataset.paper = ""; redrawAll(); });
  addEventListener("afterprint", () => { delete document.documentElement.dataset.paper; redrawAll(); });

  // ECharts reads {style|text} in tooltips; a brace of a name is none of that.
  const plain = (text) => text.replaceAll("{", "{\u200b");
  const short = (text, longest) => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text);

  const axis = (colors) => ({
    axisLine: { lineStyle: { color: colors.line } }, axisTick: { show: false },
    axisLabel: { color: colors.quiet, hideOverlap: true }, splitLine: { lineStyle: { color: colors.line } },
  });

  // Bars side by side, what is not nothing at least a pixel high. `items` are { value, label, tip, color }; `mean` is drawn across, `text` formats values.
  function bars(label, items, { text, mean = null, size = "" } = {}) {
    return place(label, (colors, isNarrow) => ({
      grid: { left: 8, right: 12, top: 16, bottom: 4, containLabel: true },
      tooltip: { trigger: "axis", axisPointer: { type: "shadow" }, formatter: ([{ dataIndex }]) => plain(items[dataIndex].tip) },
      xAxis: { ...axis(colors), type: "category", data: items.map((item) => item.label), splitLine: { show: false } },
      yAxis: { ...axis(colors), type: "value", minInterval: 1, splitNumber: 3, axisLine: { show: false }, axisLabel: { color: colors.quiet, formatter: text } },
      series: [{
        type: "bar", barCategoryGap: items.length > 40 ? "8%" : "22%", barMaxWidth: 42, barMinHeight: 1,
        data: items.map((item) => ({
          value: item.value || null, itemStyle: { color: item.color ? colors[item.color] : colors.accent, borderRadius: [2, 2, 0, 0] },
        })),
        markLine: mean === null ? undefined : {
          silent: true, symbol: "none", lineStyle: { color: colors.ink, type: "dashed", opacity: 0.7 },
          label: { position: "insideEndTop", color: colors.ink, formatter: isNarrow ? "average" : `average ${text(mean < 10 ? mean : Math.round(mean))}`,
            backgroundColor: colors.surface, padding: [2, 5], borderRadius: 4 },
          data: [{ yAxis: mean }],
        },
      }],
    }), { size });
  }

  // Checkpoint and date of a snapshot below each other; with the time of day if several are of one day.
  function axisName(names) {
    const dates = names.map((text) => text.split(", ")[1]?.slice(0, 10)).filter(Boolean);
    const length = new Set(dates).size < dates.length ? 16 : 10;
    return (text) => text.split(", ").map((part, i) => (i ? part.slice(0, length) : part)).join("\n");
  }

  // Lines over snapshots. `series` are { name, values }. One place for each snapshot: files' times, which a copy may have lost,
  // decide about nothing.
  function lines(label, names, series, { text, size = "" } = {}) {
    return place(label, (colors, isNarrow) => ({
      grid: { left: 8, right: 20, top: 16, bottom: series.length > 1 ? (isNarrow ? 14 + 19 * series.length : 68) : 4, containLabel: true },
      legend: series.length < 2 ? undefined : {
        bottom: 0, left: 0, icon: "roundRect", itemWidth: 14, itemHeight: 4, orient: isNarrow ? "vertical" : "horizontal",
        textStyle: { color: colors.ink }, inactiveColor: colors.quiet,
        formatter: (id) => short(series[Number(id)].name, isNarrow ? 40 : 44),
      },
      tooltip: {
        trigger: "axis",
        formatter: (points) => [
          names[points[0].dataIndex],
          ...points.map((point) => ({ point, value: series[point.seriesIndex].values[point.dataIndex] }))
            .filter(({ value }) => value !== null)
            .sort((a, b) => b.value - a.value)
            .map(({ point, value }) => `${plain(short(series[point.seriesIndex].name, 44))}  ${text(value)}`),
        ].join("\n"),
      },
      xAxis: { ...axis(colors), type: "category", boundaryGap: false, data: names, splitLine: { show: false },
        axisLabel: { color: colors.quiet, hideOverlap: true, margin: 12, lineHeight: 15, alignMinLabel: "left", alignMaxLabel: "right", formatter: axisName(names) } },
      yAxis: { ...axis(colors), type: "value", minInterval: 1, splitNumber: 4, axisLine: { show: false }, axisLabel: { color: colors.quiet, formatter: text } },
      series: series.map((one, index) => ({
        type: "line", name: String(index), symbolSize: 6, showSymbol: names.length < 40, lineStyle: { width: 2 },
        color: colors.lines[index % colors.lines.length], emphasis: { focus: "series" },
        data: one.values,
      })),
    }), { size });
  }

  return { place, draw, drop, bars, lines, plain, short, darker };
})();
