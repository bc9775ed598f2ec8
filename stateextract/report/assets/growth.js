// How states came about over several snapshots of the job.
const growth = (() => {
  const { h, choice, name } = dom;
  const LINES = 8;

  const label = (one) => `${one.operator} · ${one.state === null ? `(${one.kind})` : one.state}`;
  const known = (values) => values.filter((value) => value !== null);
  const first = (values) => values[0] ?? 0;
  const last = (values) => values.at(-1) ?? 0;
  const changeOf = (values) => last(values) - first(values);
  const sizeOf = (measure, value) => (value === null ? "–" : sizes.text(measure, value));
  const names = (history) => history.snapshots.map((one) =>
    `checkpoint ${one.checkpoint_id}${one.taken_ms === null ? "" : `, ${format.time(one.taken_ms)}`}`);
  const times = (history) => history.snapshots.map((one) => one.taken_ms);
  const axisText = (measure) => (measure === "rows" ? format.count : format.bytes);

  const ORDERS = {
    largest: ["largest", (measure) => (a, b) => last(b[measure]) - last(a[measure])],
    growing: ["growing most", (measure) => (a, b) => changeOf(b[measure]) - changeOf(a[measure])],
  };

  function section(model) {
    const { history } = model;
    if (!history) return null;
    let measure = "file_bytes";
    let order = "largest";
    const place = h("div", {});
    const growthTable = tables.behind(`Growth of all ${format.many(history.states.length, "state")}`, growthOf);

    function show() {
      charts.drop(place);
      const chosen = [...history.states].sort(ORDERS[order][1](measure)).slice(0, LINES);
      place.replaceChildren(charts.lines(
        `Lines of the ${sizes.MEASURES[measure]} of the ${chosen.length} states that are ${ORDERS[order][0]}; the table below has all.`,
        names(history), times(history), chosen.map((one) => ({ name: label(one), values: one[measure] })),
        { text: axisText(measure), size: "tall" },
      ));
      if (place.isConnected) charts.draw(place);
      growthTable.again();
    }

    function growthOf() {
      return tables.sortable({
        id: "growth-table", caption: `Growth of every state, ${sizes.MEASURES[measure]}`, rows: history.states, sort: 4, down: true,
        columns: [
          { title: "state", value: (one) => one.state ?? "", cell: (one) => one.index === undefined || one.index === null
            ? [name(label(one)), h("small", { class: "quiet" }, " gone")] : h("a", { href: `#state=${one.index}` }, name(one.state ?? `(${one.kind})`)) },
          { title: "operator", value: (one) => one.operator, cell: (one) => name(one.operator), minor: true },
          { title: "first", value: (one) => one[measure][0], cell: (one) => sizeOf(measure, one[measure][0]), number: true, minor: true },
          { title: "newest", value: (one) => one[measure].at(-1), cell: (one) => sizeOf(measure, one[measure].at(-1)), number: true },
          { title: "change", value: (one) => changeOf(one[measure]), cell: (one) => signed(measure, changeOf(one[measure])), number: true },
          { title: "in percent", value: (one) => one[measure][0] ? changeOf(one[measure]) / one[measure][0] : null,
            cell: (one) => format.change(first(one[measure]), last(one[measure])), number: true },
        ],
      }).element;
    }
    show();
    return h("section", { class: "card", "aria-labelledby": "history-title" },
      h("div", { class: "head" }, h("h2", { id: "history-title" }, "History"),
        choice("Measure", sizes.MEASURES, (chosen) => { measure = chosen; show(); }),
        choice("Which states", Object.fromEntries(Object.entries(ORDERS).map(([key, [title]]) => [key, title])), (chosen) => { order = chosen; show(); })),
      h("p", { class: "quiet" }, `${format.many(history.snapshots.length, "snapshot")}, from ${names(history)[0]} to ${names(history).at(-1)}.`),
      place, growthTable);
  }

  function signed(measure, value) {
    const size = measure === "rows" ? format.count(Math.abs(value)) : format.bytes(Math.abs(value));
    return `${value > 0 ? "+" : value < 0 ? "−" : ""}${size}`;
  }

  // Of one state, on its own page.
  function ofState(model, index) {
    const one = model.history && model.history.states.find((entry) => entry.index === index);
    if (!one || known(one.rows).length < 2) return null;
    let measure = "file_bytes";
    const place = h("div", {});
    function show() {
      charts.drop(place);
      place.replaceChildren(charts.lines(`Line of the ${sizes.MEASURES[measure]} of this state over the snapshots.`, names(model.history),
        times(model.history), [{ name: label(one), values: one[measure] }], { text: axisText(measure) }));
      if (place.isConnected) charts.draw(place);
    }
    show();
    return h("section", { class: "card" }, h("div", { class: "head" }, h("h2", {}, "History"), choice("Measure", sizes.MEASURES, (chosen) => { measure = chosen; show(); })),
      place, tables.behind("As a table", () => tables.simple("History of this state", ["snapshot", "#bytes in files", "#decoded bytes", "#rows"],
        names(model.history).map((text, i) => [text, ...["file_bytes", "decoded_bytes", "rows"].map((m) => one[m][i] === null ? "–" : format.count(one[m][i]))]))));
  }

  return { section, ofState };
})();
