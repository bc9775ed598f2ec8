// How states came about over several snapshots of the job.
const growth = (() => {
  const { h, choice, name } = dom;
  const LINES = 8;
  const SPLIT = ["more_keys", "more_entries_per_key", "larger_values", "older_rows"];

  const label = (one) => `${one.operator_label} · ${one.state_name === null ? `(${one.state_kind})` : one.state_name}`;
  const known = (values) => values.filter((value) => value !== null);
  const sizeOf = (measure, value) => (value === null ? "–" : sizes.text(measure, value));
  const names = (history) => history.snapshots.map((one) =>
    `checkpoint ${one.checkpoint_id}${one.taken_ms === null ? "" : `, ${format.time(one.taken_ms)}`}`);
  const axisText = (measure) => (measure === "rows" ? format.count : format.bytes);

  // What is not known is last.
  const falling = (of) => (a, b) => (of(b) ?? -Infinity) - (of(a) ?? -Infinity) || 0;
  const ORDERS = {
    largest: ["largest", (measure) => falling((one) => one[measure].at(-1))],
    growing: ["growing most", (measure) => falling((one) => one.change[measure])],
    total: ["all together", null],
  };

  function section(model) {
    const { history } = model;
    if (!history) return null;
    let measure = "file_bytes";
    let order = "largest";
    const place = h("div", {});
    const growthTable = tables.behind(`Growth of all ${format.many(history.states.length, "state")}`, growthOf);
    const splits = history.states.filter((one) => one.split && Object.values(one.split).some((size) => size))
      .sort((a, b) => Math.abs(b.change.decoded_bytes) - Math.abs(a.change.decoded_bytes));
    const whyTable = splits.length > LINES ? tables.behind(`Why all ${format.count(splits.length)} changed`, () => why(splits, "Why all states changed")) : null;
    const totalTable = tables.behind(`Totals of all ${format.many(history.snapshots.length, "snapshot")}`, totals);

    function chart() {
      const [title, sorting] = ORDERS[order];
      const options = { text: axisText(measure), size: "tall" };
      if (!sorting) {
        return charts.lines(`Line of the ${sizes.MEASURES[measure]} of all states together; the table of totals has the figures.`,
          names(history), [{ name: "all states", values: history.snapshots.map((one) => one[measure]) }], options);
      }
      const chosen = [...history.states].sort(sorting(measure)).slice(0, LINES);
      return charts.lines(`Lines of the ${sizes.MEASURES[measure]} of the ${chosen.length} states that are ${title}; the table below has all.`,
        names(history), chosen.map((one) => ({ name: label(one), values: one[measure] })), options);
    }

    function show() {
      charts.drop(place);
      place.replaceChildren(chart());
      if (place.isConnected) charts.draw(place);
      growthTable.again();
    }

    function growthOf() {
      return tables.sortable({
        id: "growth-table", caption: `Growth of every state, ${sizes.MEASURES[measure]}`, rows: history.states, sort: 4, down: true,
        columns: [
          { title: "state", value: (one) => one.state_name ?? "", cell: (one) => [linked(one), mark(one), h("small", { class: "under" }, name(one.operator_label))], class: "named" },
          { title: "operator", value: (one) => one.operator_label, cell: (one) => name(one.operator_label), minor: true, class: "named" },
          { title: "first", value: (one) => one[measure][0], cell: (one) => sizeOf(measure, one[measure][0]), number: true, minor: true },
          { title: "newest", value: (one) => one[measure].at(-1), cell: (one) => sizeOf(measure, one[measure].at(-1)), number: true },
          { title: "change", value: (one) => one.change[measure], cell: (one) => signed(measure, one.change[measure]), number: true },
          { title: "in percent", minor: true, value: (one) => one[measure][0] && one.change[measure] !== null ? one.change[measure] / one[measure][0] : null,
            cell: (one) => percent(one, measure), number: true },
        ],
      }).element;
    }

    function totals() {
      const rows = history.snapshots.map((one, i) => [names(history)[i], format.count(one.states), format.bytes(one.file_bytes),
        format.bytes(one.decoded_bytes), format.count(one.rows)]);
      return tables.simple("Totals of all snapshots", ["snapshot", "#states", "#in files", "#decoded", "#rows"], rows, { id: "totals-table" });
    }

    show();
    return h("section", { class: "card", "aria-labelledby": "history-title" },
      h("div", { class: "head" }, h("h2", { id: "history-title" }, "History"),
        choice("Measure", sizes.MEASURES, (chosen) => { measure = chosen; show(); }),
        choice("Which states", Object.fromEntries(Object.entries(ORDERS).map(([key, [title]]) => [key, title])), (chosen) => { order = chosen; show(); })),
      h("p", { class: "quiet" }, `${format.many(history.snapshots.length, "snapshot")}, from ${names(history)[0]} to ${names(history).at(-1)}${comings(history)}.`),
      history.note ? h("p", { class: "quiet" }, `Note: ${history.note}.`) : null,
      place,
      splits.length ? [h("h3", {}, "Why the decoded bytes changed"), why(splits.slice(0, LINES), "Why states changed most"), whyTable] : null,
      growthTable, totalTable);
  }

  // The parts add up to the change.
  const why = (states, caption) => tables.simple(caption, ["state", "#change", "#more keys", "#more entries per key", "#larger values", "#older rows"],
    states.map((one) => [[linked(one), mark(one), h("small", { class: "under" }, name(one.operator_label))],
      ...[one.change.decoded_bytes, ...SPLIT.map((part) => one.split[part])].map((size) => signed("decoded_bytes", size))]));

  const linked = (one) => (one.index === null ? dom.stateName(one) : h("a", { href: `#state=${one.index}` }, dom.stateName(one)));

  // A state that came and went in between is gone.
  const mark = (one) => (one.gone || one.new ? h("small", { class: "quiet" }, one.gone ? " gone" : " new") : null);

  function comings(history) {
    const gone = history.states.filter((one) => one.gone).length;
    const fresh = history.states.filter((one) => one.new && !one.gone).length;
    return `; ${fresh ? format.many(fresh, "new state") : "no new state"}, ${gone ? `${format.count(gone)} gone` : "none gone"}`;
  }

  function percent(one, measure) {
    if (one.change[measure] === null) return "–";
    const [from, to] = [one[measure][0] ?? 0, one[measure].at(-1) ?? 0];
    return from === 0 && to > 0 && !one.new ? "–" : format.change(from, to);
  }

  function signed(measure, value) {
    if (value === null) return "–";
    const size = measure === "rows" ? format.count(Math.abs(value)) : format.bytes(Math.abs(value));
    return `${value > 0 ? "+" : value < 0 ? "−" : ""}${size}`;
  }

  // Of one state, on its own page.
  function ofState(model, index) {
    const one = model.history && model.history.states.find((entry) => entry.index === index);
    if (!one || known(one.file_bytes).length < 2) return null;
    let measure = "file_bytes";
    const place = h("div", {});
    function show() {
      charts.drop(place);
      place.replaceChildren(charts.lines(`Line of the ${sizes.MEASURES[measure]} of this state over the snapshots.`, names(model.history),
        [{ name: label(one), values: one[measure] }], { text: axisText(measure) }));
      if (place.isConnected) charts.draw(place);
    }
    show();
    return h("section", { class: "card" }, h("div", { class: "head" }, h("h2", {}, "History"), choice("Measure", sizes.MEASURES, (chosen) => { measure = chosen; show(); })),
      place, tables.behind("As a table", () => tables.simple("History of this state", ["snapshot", "#bytes in files", "#decoded bytes", "#rows"],
        names(model.history).map((text, i) => [text, ...["file_bytes", "decoded_bytes", "rows"].map((m) => one[m][i] === null ? "–" : format.count(one[m][i]))]))));
  }

  return { section, ofState };
})();
