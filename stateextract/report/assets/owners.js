// Who owns the state: the keys and windows with most bytes over all states of their operator.
const owners = (() => {
  const { h, choice, name, share } = dom;
  const TITLES = { keys: "keys", windows: "windows" };
  const SHOWN = 10;

  function section(model) {
    const known = Object.keys(TITLES).filter((of) => model.owners[of].length);
    if (!known.length) return null;
    let of = known[0];
    const place = h("div", {});
    const all = tables.behind("", () => table(model, of, model.owners[of], `All listed ${TITLES[of]}`));
    const summary = all.querySelector("summary");

    function show() {
      const rows = model.owners[of];
      place.replaceChildren(table(model, of, rows.slice(0, SHOWN), `The ${TITLES[of]} that own most`));
      summary.textContent = `All ${format.count(rows.length)} that are listed`;
      all.hidden = rows.length <= SHOWN;
      all.again();
    }
    show();
    return h("section", { class: "card", "aria-labelledby": "owners-title" },
      h("div", { class: "head" }, h("h2", { id: "owners-title" }, "Who owns the state"),
        known.length > 1 ? choice("Owners", Object.fromEntries(known.map((one) => [one, TITLES[one]])), (chosen) => { of = chosen; show(); }) : null),
      h("p", { class: "quiet" }, "Decoded bytes over all keyed states of an operator, with their windows, entries, elements and timers."),
      place, all);
  }

  function table(model, of, rows, caption) {
    const label = (one) => model.operators[one.operator].operator_label;
    const largest = Math.max(1, ...rows.map((one) => one.bytes));
    return tables.sortable({
      id: null, caption, rows, sort: 2, down: true,
      columns: [
        { title: of === "keys" ? "key" : "window", value: (one) => one.owner ?? "", class: "named",
          cell: (one) => [one.owner === null ? "–" : name(one.owner), h("small", { class: "under" }, name(label(one)))] },
        { title: "operator", value: label, minor: true, class: "named", cell: (one) => h("a", { href: `#operator=${one.operator}` }, name(label(one))) },
        { title: "owns", value: (one) => one.bytes, number: true, cell: (one) => share(one.bytes / largest, `${format.bytes(one.bytes)}${one.error ? ` to ${format.bytes(one.bytes + one.error)}` : ""}`) },
        { title: "of its operator", value: (one) => one.share, number: true, cell: (one) => format.percent(one.share) },
        { title: "rows", value: (one) => one.rows, number: true, minor: true, cell: (one) => format.count(one.rows) },
        { title: "entries", value: (one) => one.entries, number: true, minor: true, hint: "entries of maps and elements of lists, else rows", cell: (one) => format.count(one.entries) },
        { title: "in states", value: (one) => one.states[0]?.[0] ?? "", minor: true, cell: (one) => one.states.map(([state, size], i) => [i ? ", " : "", name(state), " ", h("span", { class: "quiet" }, format.bytes(size))]) },
      ],
    }).element;
  }

  return { section };
})();
