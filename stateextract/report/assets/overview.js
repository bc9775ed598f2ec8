// The first view: what the snapshot is, what stands out in it, sizes, history, and tables of all states and operators.
const overview = (() => {
  const { h, name, stateName, badge, tile, share } = dom;

  function header(model) {
    const { snapshot, totals } = model;
    const facts = [
      `metadata version ${snapshot.metadata_version}`,
      snapshot.taken_ms === null ? null : `_metadata written ${format.time(snapshot.taken_ms)} UTC by the file's time`,
      model.as_of_ms === null || model.as_of_ms === snapshot.taken_ms ? null : `ages as of ${format.time(model.as_of_ms)} UTC`,
    ].filter(Boolean);
    return h("header", { class: "top" },
      h("h1", {}, name(model.title)),
      h("p", { class: "path" }, name(snapshot.path)),
      h("p", { class: "quiet" }, facts.join(" · ")),
      model.notes.map((note) => h("p", { class: "quiet" }, name(note))),
      h("dl", { class: "tiles" },
        tile("operators", format.count(totals.operators)),
        tile("states", format.count(totals.states), coverage(model)),
        tile("rows", format.count(totals.rows), since(model, "rows")),
        tile("in files", format.bytes(totals.file_bytes), since(model, "file_bytes")),
        tile("decoded", format.bytes(totals.decoded_bytes), since(model, "decoded_bytes"))));
  }

  function coverage(model) {
    const read = model.states.filter((state) => state.status === "decoded").length;
    const empty = model.states.filter(dom.isEmpty).length;
    const without = empty ? `, ${format.count(empty)} of them empty` : "";
    return read === model.states.length ? `all decoded${without}` : `${format.count(read)} decoded, ${format.count(model.states.length - read)} not or in part${without}`;
  }

  function since(model, measure) {
    if (!model.history) return null;
    const { snapshots } = model.history;
    return `${format.change(snapshots[0][measure], model.totals[measure])} since checkpoint ${snapshots[0].checkpoint_id}`;
  }

  // ---- what stands out

  const SHOWN = 5;
  const TEXT = { bad: "✕", warn: "!", note: "i" };

  function findings(model) {
    if (!model.findings.length) {
      return h("section", { class: "card calm" }, h("p", {}, "Every state was read, and nothing stands out."));
    }
    return h("section", { class: "card", "aria-labelledby": "findings-title" },
      h("h2", { id: "findings-title" }, "What stands out"),
      h("ul", { class: "findings" }, model.findings.map((group) => finding(model, group))));
  }

  function finding(model, { level, title, items }) {
    const links = items.map((item) => h("li", {}, link(model, item), h("span", { class: "quiet" }, " ", name(item.note))));
    const rest = links.slice(SHOWN);
    return h("li", { class: level },
      h("span", { class: "mark", "aria-hidden": "true" }, TEXT[level]),
      h("div", {}, h("b", {}, title), h("span", { class: "quiet" }, ` ${format.count(items.length)}`),
        h("ul", {}, links.slice(0, SHOWN)),
        rest.length ? h("details", {}, h("summary", {}, `${format.count(rest.length)} more`), h("ul", {}, rest)) : null));
  }

  function link(model, item) {
    if (item.operator !== undefined) return h("a", { href: `#operator=${item.operator}` }, name(model.operators[item.operator].operator_label));
    const state = model.states[item.state];
    return h("a", { href: `#state=${item.state}` }, name(model.operators[state.operator].operator_label), " · ", stateName(state));
  }

  // ---- states

  function stateTable(model) {
    const largest = Math.max(1, ...model.states.map((state) => state.file_bytes));
    const label = (state) => model.operators[state.operator].operator_label;
    const rows = model.states.map((state, index) => ({ ...state, index }));
    const table = tables.sortable({
      id: "states-table", caption: "All states", rows, sort: 3, down: true,
      mark: (state) => ({ "data-status": state.status }),
      columns: [
        { title: "state", value: (s) => s.state_name ?? `(${s.state_kind})`, class: "named",
          cell: (s) => [h("a", { href: `#state=${s.index}` }, stateName(s)), h("small", { class: "under" }, name(label(s)))] },
        { title: "operator", value: label, cell: (s) => name(label(s)), minor: true, class: "named" },
        { title: "kind", value: (s) => s.state_kind, cell: (s) => name(s.state_kind), minor: true },
        { title: "in files", value: (s) => (dom.isEmpty(s) ? 0 : s.file_bytes), number: true, hint: "bytes of the state in the files, uncompressed",
          cell: (s) => share(dom.isEmpty(s) ? 0 : s.file_bytes / largest, format.bytes(s.file_bytes)) },
        { title: "decoded", value: (s) => (dom.isRead(s) ? s.decoded_bytes : null), cell: (s) => (dom.isRead(s) ? format.bytes(s.decoded_bytes) : "–"), number: true, minor: true,
          hint: "bytes of the decoded values" },
        { title: "rows", value: (s) => (dom.isRead(s) ? s.rows : null), cell: (s) => (dom.isRead(s) ? format.count(s.rows) : "–"), number: true },
        { title: "keys", value: (s) => s.distinct_keys?.count ?? null, number: true, minor: true, hint: "distinct keys",
          cell: (s) => (s.distinct_keys ? `${s.distinct_keys.exact ? "" : "≈ "}${format.count(s.distinct_keys.count)}` : "–") },
        { title: "key group skew", value: (s) => s.key_group_skew?.max_over_mean ?? null, cell: (s) => format.ratio(s.key_group_skew?.max_over_mean), number: true, minor: true,
          hint: "rows of the fullest key group over those of the average one that can have rows" },
        { title: "subtask skew", value: (s) => s.subtask_skew?.max_over_mean ?? null, cell: (s) => format.ratio(s.subtask_skew?.max_over_mean), number: true, minor: true,
          hint: "rows of the fullest subtask over those of the average one that can have rows" },
        { title: "status", value: (s) => s.status, cell: (s) => [badge(s.status), s.reason ? h("small", { class: "why" }, name(s.reason)) : null] },
      ],
    });

    const count = h("output", { class: "quiet", for: "search" });
    const search = h("input", { type: "search", id: "search", placeholder: "name, operator, kind, type, reason …", autocomplete: "off", spellcheck: "false", on: { input: showHits } });
    const statuses = [...new Set(model.states.map((state) => state.status))].sort();
    const status = h("select", { id: "status", on: { change: show } }, h("option", { value: "" }, "every status"),
      statuses.map((one) => h("option", { value: one }, one)));
    const texts = model.states.map((state) => [
      state.state_name, label(state), model.operators[state.operator].operator_id, model.operators[state.operator].operator_name, state.state_kind, state.form, state.state_role, state.status, state.reason,
      ...state.schema.flat(),
    ].filter(Boolean).join("\n").toLowerCase());

    function show() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const shown = table.filter((s) => (!status.value || s.status === status.value) && words.every((word) => texts[s.index].includes(word)));
      const size = shown.reduce((sum, s) => sum + s.file_bytes, 0);
      count.textContent = `${format.count(shown.length)} of ${format.many(rows.length, "state")}, ${format.bytes(size)} in files`;
    }
    function showHits() {
      show();
      // The hits are below the field: its card comes to the top, so that they are in view.
      search.closest("section").scrollIntoView({ block: "start", behavior: "instant" });
    }
    show();
    return h("section", { class: "card", id: "states", "aria-labelledby": "states-title" },
      h("div", { class: "head" }, h("h2", { id: "states-title" }, "States")),
      h("div", { class: "search" }, h("label", { for: "search", class: "unseen" }, "Search states (key: /)"), search,
        h("label", { for: "status", class: "unseen" }, "Status"), status, count),
      table.element);
  }

  // ---- operators

  function operatorTable(model) {
    const largest = Math.max(1, ...model.operators.map((operator) => operator.file_bytes));
    const counts = model.operators.map(() => 0);
    for (const state of model.states) counts[state.operator] += 1;
    const table = tables.sortable({
      id: "operators-table", caption: "All operators", rows: model.operators.map((operator, index) => ({ ...operator, index })), sort: 3, down: true,
      mark: (operator) => ({ id: `operator-${operator.index}`, tabindex: "-1" }),
      columns: [
        { title: "operator", value: (o) => o.operator_label, class: "named", cell: (o) => [name(o.operator_label), o.operator_name && o.operator_name !== o.operator_label ? h("small", { class: "more" }, name(o.operator_name)) : null] },
        { title: "id", value: (o) => o.operator_id, cell: (o) => h("code", {}, name(o.operator_id)), minor: true },
        { title: "uid", value: uid, cell: (o) => (uid(o) === null ? h("span", { class: "quiet" }, "not known") : [name(uid(o)), " ", o.unowned ? h("span", { class: "badge bad" }, "unowned") : null]) },
        { title: "in files", value: (o) => o.file_bytes, number: true, cell: (o) => share(o.file_bytes / largest, format.bytes(o.file_bytes)), hint: "sum over its states" },
        { title: "in handles", value: (o) => o.handle_bytes, number: true, minor: true, cell: (o) => format.bytes(o.handle_bytes),
          hint: "as _metadata says; incremental handles share files with other snapshots" },
        { title: "rows", value: (o) => o.rows, number: true, cell: (o) => format.count(o.rows), minor: true },
        { title: "states", value: (o) => counts[o.index], number: true, cell: (o) => format.count(counts[o.index]) },
        { title: "parallelism", value: (o) => o.operator_parallelism, number: true, minor: true, cell: (o) => `${format.count(o.operator_parallelism)} of ${format.count(o.operator_max_parallelism)}` },
      ],
    });
    return h("section", { class: "card", "aria-labelledby": "operators-title" },
      h("div", { class: "head" }, h("h2", { id: "operators-title" }, "Operators")), table.element);
  }

  const uid = (operator) => operator.operator_uid ?? (operator.without_uid ? "none" : null);

  function view(model) {
    return h("main", { class: "overview" }, header(model), owners.section(model), findings(model), sizes.section(model), growth.section(model), stateTable(model),
      operatorTable(model), h("footer", { class: "quiet" }, `Made by stateextract ${model.tool_version}. Times are UTC. Sizes are powers of 1000.`));
  }

  return { view };
})();
