// The treemap: how much of the snapshot each operator and state takes.
const sizes = (() => {
  const { h, choice } = dom;
  const MEASURES = { file_bytes: "bytes in files", decoded_bytes: "decoded bytes", rows: "rows" };
  const UNREAD = ["skipped", "unsupported", "missing", "unreadable"];
  const LABELLED = 0.002; // of everything: smaller ones have no room for a word, and looking for it takes time

  const text = (measure, value) => (measure === "rows" ? format.many(value, "row") : format.bytes(value));

  // Empty states do not weigh.
  const weight = (state, measure) => (dom.isEmpty(state) ? 0 : state[measure] || 0);

  function nodes(model, measure, colors) {
    const operators = model.operators.map((operator, index) => ({
      name: operator.operator_label, id: `operator ${index}`, place: index, children: [], value: 0, color: colors.fills[index % colors.fills.length],
    }));
    const least = LABELLED * model.states.reduce((sum, state) => sum + weight(state, measure), 0);
    model.states.forEach((state, index) => {
      const value = weight(state, measure);
      if (!value) return;
      const parent = operators[state.operator];
      parent.value += value;
      parent.children.push({
        name: state.state_name === null ? `(${state.state_kind})` : state.state_name, id: `state ${index}`, state: index, value,
        itemStyle: UNREAD.includes(state.status) ? { color: colors.unread } : null, label: value < least ? { show: false } : undefined,
      });
    });
    for (const operator of operators) {
      // Darker from one to the next, so that neighbours can be told apart.
      operator.itemStyle = { color: operator.color, borderColor: charts.darker(operator.color, 0.3) };
      operator.children.sort((a, b) => b.value - a.value);
      operator.children.forEach((child, rank) => { child.itemStyle ??= { color: charts.darker(operator.color, Math.min(0.05 * rank, 0.2)) }; });
    }
    return operators.filter((operator) => operator.value > 0);
  }

  function option(model, measure, colors, isNarrow) {
    const total = model.states.reduce((sum, state) => sum + weight(state, measure), 0);
    return {
      tooltip: {
        formatter: ({ data, value }) => {
          if (!data || data.id === undefined) return "";
          const figures = `${text(measure, value)}, ${format.percent(value / total)} of all`;
          if (data.state === undefined) return `${charts.plain(charts.short(data.name, 80))}\n${figures}`;
          const state = model.states[data.state];
          return [charts.plain(charts.short(model.operators[state.operator].operator_label, 80)), charts.plain(charts.short(data.name, 80)), figures,
            `${state.state_kind}, ${state.status}`].join("\n");
        },
      },
      series: [{
        type: "treemap", left: 0, right: 0, top: 0, bottom: 0, roam: false, nodeClick: false, breadcrumb: { show: false },
        visibleMin: 4, sort: "desc", data: nodes(model, measure, colors),
        label: { show: true, color: "#fff", fontSize: 12, lineHeight: 15, overflow: "truncate", position: "insideTopLeft", formatter: ({ data, value }) => `${charts.short(data.name, 60)}\n${text(measure, value)}` },
        upperLabel: { show: true, height: 22, color: "#fff", fontWeight: 600, overflow: "truncate", formatter: ({ data, value }) => isNarrow ? charts.short(data.name, 40) : `${charts.short(data.name, 60)}  ${text(measure, value)}` },
        levels: [
          { itemStyle: { gapWidth: 3, borderWidth: 0, borderColor: colors.surface }, upperLabel: { show: false } },
          { itemStyle: { gapWidth: 1, borderWidth: 2 } },
          { itemStyle: { borderWidth: 0, gapWidth: 0 } },
        ],
        emphasis: { itemStyle: { borderColor: colors.ink }, upperLabel: { color: "#fff" } },
      }],
    };
  }

  function section(model) {
    let measure = Object.keys(MEASURES).find((name) => model.totals[name] > 0);
    if (!measure) return null;
    const known = Object.keys(MEASURES).filter((name) => model.totals[name] > 0);
    const chart = charts.place(
      "Treemap of the sizes of operators and their states; the table of states below has the same figures.",
      (colors, isNarrow) => option(model, measure, colors, isNarrow),
      { size: "tall", on: { click: ({ data }) => {
        if (data && data.state !== undefined) location.hash = `state=${data.state}`;
        else if (data && data.place !== undefined) location.hash = `operator=${data.place}`;
      } } },
    );
    const unread = model.states.some((state) => UNREAD.includes(state.status));
    const note = h("p", { class: "quiet" });
    const say = () => {
      const empty = model.states.filter(dom.isEmpty).length;
      const without = model.states.filter((state) => !weight(state, measure)).length - empty;
      note.textContent = `Click a state to see it.${unread ? " Red is not read." : ""}${without ? ` ${format.many(without, "state")} without ${MEASURES[measure]} cannot be drawn.` : ""}${empty ? ` ${format.many(empty, "empty state")} cannot be drawn.` : ""}`;
    };
    say();
    const control = choice("Sizes by", Object.fromEntries(known.map((name) => [name, MEASURES[name]])), (chosen) => {
      measure = chosen;
      say();
      chart.redraw();
    });
    return h("section", { class: "card", "aria-labelledby": "sizes-title" },
      h("div", { class: "head" }, h("h2", { id: "sizes-title" }, "Sizes"), control), chart, note);
  }

  return { section, text, MEASURES };
})();
