// The view of one state: everything that its statistics say.
const stateView = (() => {
  const { h, name, stateName, badge, tile, choice } = dom;

  const card = (title, ...children) => h("section", { class: "card" }, h("div", { class: "head" }, h("h2", {}, title)), children);

  function view(model, index) {
    const state = model.states[index];
    const operator = model.operators[state.operator];
    return h("main", { class: "state" },
      navigation(model, index),
      h("header", { class: "top" },
        h("p", { class: "path" }, h("a", { href: `#operator=${state.operator}` }, name(operator.operator_label))),
        h("h1", { tabindex: "-1" }, stateName(state), " ", badge(state.status)),
        h("p", { class: "quiet" }, facts(state, operator))),
      state.reason || state.problems.length ? trouble(state) : null,
      h("dl", { class: "tiles" },
        tile("rows", dom.isRead(state) ? format.count(state.rows) : "–"),
        tile("distinct keys", format.distinct(state.distinct_keys)),
        tile("in files", format.bytes(state.file_bytes), `${format.count(state.file_bytes)} B`),
        dom.isRead(state) ? tile("decoded", format.bytes(state.decoded_bytes), `${format.count(state.decoded_bytes)} B`) : tile("decoded", "–"),
        tile("of all files", format.percent(model.totals.file_bytes ? state.file_bytes / model.totals.file_bytes : null))),
      growth.ofState(model, index),
      h("div", { class: "pair" },
        spread("Key groups", "key group", state.key_groups, state.key_group_skew),
        spread("Subtasks", "subtask", state.subtasks, state.subtask_skew)),
      h("div", { class: "pair" }, ttl(state, model.as_of_ms), times(state, model.as_of_ms)),
      columns(state),
      h("div", { class: "pair" }, biggest("Biggest keys", state.biggest_keys), biggest("Biggest values", state.biggest_values)),
      schema(state));
  }

  function navigation(model, index) {
    const to = (place, text, rel) => place < 0 || place >= model.states.length
      ? h("span", { class: "quiet" }, text) : h("a", { href: `#state=${place}`, rel }, text);
    return h("nav", { "aria-label": "Report" }, h("a", { href: "#states" }, "← All states"), h("span", {}, to(index - 1, "previous", "prev"), " ", to(index + 1, "next", "next")));
  }

  function facts(state, operator) {
    const parts = [name(state.state_kind), state.form ? name(state.form) : null, state.state_role ? name(state.state_role) : null,
      `parallelism ${format.count(operator.operator_parallelism)} of ${format.count(operator.operator_max_parallelism)}`, h("code", {}, name(operator.operator_id))];
    return parts.filter(Boolean).flatMap((part, i) => (i ? [" · ", part] : [part]));
  }

  function trouble(state) {
    const level = state.status === "decoded" ? "warn" : ["partial", "raw"].includes(state.status) ? "warn" : state.status === "not selected" ? "note" : "bad";
    const problems = state.problems.filter((problem) => problem !== state.reason);
    return h("section", { class: `callout ${level}`, role: "note" },
      state.reason ? h("p", {}, h("b", {}, name(state.reason))) : null,
      problems.length ? h("ul", {}, problems.map((problem) => h("li", {}, name(problem)))) : null,
      state.more_problems ? h("p", {}, `${format.count(state.more_problems)} more are in the statistics document.`) : null);
  }

  function schema(state) {
    if (!state.schema.length) return null;
    return card("Schema", tables.simple("Schema", ["column", "Arrow type"], state.schema.map(([column, type]) => [h("code", {}, name(column)), h("code", { class: "wrap" }, name(type))])));
  }

  // ---- skew

  function spread(title, one, places, skew) {
    if (!places) return null;
    let measure = "rows";
    const place = h("div", {});
    const summary = h("p", { class: "quiet" });
    const range = (bin) => {
      const from = bin * places.width;
      const to = Math.min(from + places.width, places.count) - 1;
      return from === to ? `${one} ${from}` : `${one}s ${from} to ${to}`;
    };

    function show() {
      charts.drop(place);
      const values = places[measure];
      const text = measure === "rows" ? format.count : format.bytes;
      const sum = values.reduce((a, b) => a + b, 0);
      const [over, top] = !skew ? [null, null] : measure === "rows" ? [skew.max_over_mean, skew.top_percent_share] : [skew.bytes_max_over_mean, skew.bytes_top_percent_share];
      const hundredth = Math.max(Math.floor(places.count / 100), 1);
      const words = [
        `${format.count(places.filled)} of ${format.many(places.count, one)} ${places.filled === 1 ? "has" : "have"} rows`,
        over === null ? null : `the largest has ${format.ratio(over)} the average${hundredth === 1 ? ` and ${format.percent(top)} of all` : ""}`,
        top === null || hundredth === 1 ? null : `the largest ${hundredth} (one in a hundred) have ${format.percent(top)} of all`,
      ].filter(Boolean).join("; ");
      summary.textContent = `${words}.${places.width > 1 ? ` A bar is ${format.count(places.width)} ${one}s.` : ""}`;
      place.replaceChildren(charts.bars(`Bars of ${measure} by ${one}: ${words}.`, values.map((value, bin) => ({
        value, label: String(bin * places.width), tip: `${range(bin)}\n${measure === "rows" ? format.many(value, "row") : format.bytes(value)}, ${format.percent(sum ? value / sum : 0)}`,
      })), { text, mean: (sum / places.count) * Math.min(places.width, places.count) }));
      if (place.isConnected) charts.draw(place);
    }
    show();
    const total = places.rows.reduce((a, b) => a + b, 0);
    return h("section", { class: "card" },
      h("div", { class: "head" }, h("h2", {}, title), choice(`${title} by`, { rows: "rows", bytes: "decoded bytes" }, (chosen) => { measure = chosen; show(); })),
      summary, place,
      tables.behind(`The ${places.heaviest.length > 1 ? `${places.heaviest.length} heaviest` : "heaviest"}`, () => tables.simple(`Heaviest ${one}s`, [one, "#rows", "#share", "#decoded bytes"],
        places.heaviest.map(([number, rows, size]) => [String(number), format.count(rows), format.percent(total ? rows / total : 0), format.count(size)]))));
  }

  // ---- times

  // Of bins the label is where they begin, as exact as they are wide.
  function histogram(label, bins, asOf, isSpecial, special) {
    const widths = bins.filter(([from, to]) => from !== null && to !== null).map(([from, to]) => to - from);
    const narrowest = Math.min(...widths, Infinity);
    const short = (ms) => {
      const text = format.time(ms);
      if (!/^\d{4}-/.test(text)) return text; // beyond the year 9999
      return narrowest >= 86_400_000 ? text.slice(0, -9) : narrowest >= 60_000 ? text.slice(5, 16) : text.slice(11);
    };
    const range = ([from, to]) => from === null ? `before ${format.time(to)}` : to === null ? `${format.time(from)} or later` : `${format.time(from)} to ${format.time(to)}`;
    const age = ([from, to]) => [format.away(from, asOf), format.away(to, asOf)].filter(Boolean).join(" to ");
    const items = bins.map((bin) => ({
      value: bin[2], label: bin[0] === null ? `< ${short(bin[1])}` : short(bin[0]),
      color: isSpecial(bin) ? "warn" : null,
      tip: [range(bin), age(bin), `${format.many(bin[2], "row")}${isSpecial(bin) ? `, ${special}` : ""}`].filter(Boolean).join("\n"),
    }));
    return [
      items.some((item) => item.color) ? h("p", { class: "quiet" }, h("span", { class: "swatch", "aria-hidden": "true" }), ` ${special}`) : null,
      charts.bars(label, items, { text: format.count }),
      tables.behind("As a table", () => tables.simple(label, ["from", "to", "#rows"], bins.map(([from, to, rows]) => [format.time(from), format.time(to), format.count(rows)]))),
    ];
  }

  const definitions = (pairs) => h("dl", { class: "facts" }, pairs.filter(Boolean).map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))));
  const timeAndAge = (ms, asOf) => (ms === null ? "–" : `${format.time(ms)}${format.away(ms, asOf) ? ` (${format.away(ms, asOf)})` : ""}`);

  function ttl(state, asOf) {
    const { ttl: found } = state;
    if (!found) return null;
    const limit = found.ttl_ms === null || asOf === null ? null : asOf - found.ttl_ms;
    return card("Time to live: last access",
      definitions([
        ["with a time", format.count(found.rows_with_time)],
        ["oldest", timeAndAge(found.min_ms, asOf)],
        ["newest", timeAndAge(found.max_ms, asOf)],
        found.ttl_ms === null ? null : ["time to live", format.duration(found.ttl_ms)],
        found.expired === null ? null : ["expired by it", `${format.count(found.expired)} (${format.percent(found.rows_with_time ? found.expired / found.rows_with_time : 0)})`],
      ]),
      found.histogram.length ? histogram("Histogram of last accesses", found.histogram, asOf, ([, to]) => limit !== null && to !== null && to <= limit, "expired") : null);
  }

  function times(state, asOf) {
    const { times: found } = state;
    if (!found) return null;
    const timer = found.of === "timer";
    return card(timer ? "Timers by time" : "Windows by their end",
      definitions([
        ["first", timeAndAge(found.min_ms, asOf)],
        ["last", timeAndAge(found.max_ms, asOf)],
        found.progress_ms === null ? null : ["snapshot's own progress", `${format.time(found.progress_ms)} (latest ${found.progress_of})`],
        found.past_by_progress === null ? null : [timer ? "due by own progress" : "ended by own progress",
          `${found.past_by_progress_error ? "≈ " : ""}${format.count(found.past_by_progress)} (${format.percent(state.rows ? found.past_by_progress / state.rows : 0)})`],
        [timer ? "due already" : "ended already", `${format.count(found.past)} (${format.percent(state.rows ? found.past / state.rows : 0)})`],
      ]),
      found.histogram.length ? histogram(timer ? "Histogram of timers" : "Histogram of window ends", found.histogram, asOf, ([, to]) => asOf !== null && to !== null && to <= asOf, timer ? "due already" : "ended already") : null);
  }

  // ---- values

  function columns(state) {
    if (!state.columns.length) return null;
    const cell = (text) => (text === null ? "–" : name(text, { class: "value" }));
    const table = tables.sortable({
      id: "columns-table", caption: "Columns", rows: state.columns.map((column, place) => ({ ...column, place })),
      columns: [
        { title: "column", value: (c) => c.place, class: "named", cell: (c) => [h("code", {}, name(c.name)), h("small", { class: "more" }, name(charts.short(c.type, 60), { title: c.type }))] },
        { title: "null", value: (c) => c.null_share, number: true, hint: "share of nulls, and how many are not a number",
          cell: (c) => [dom.share(c.null_share, c.nulls ? format.percent(c.null_share) : "0"), c.nans ? h("small", { class: "more" }, `${format.count(c.nans)} NaN`) : null] },
        { title: "distinct", value: (c) => c.distinct?.count ?? null, number: true, cell: (c) => format.distinct(c.distinct) },
        { title: "min", value: (c) => c.min, cell: (c) => cell(c.min) },
        { title: "median", value: (c) => median(c.quantiles), cell: (c) => cell(median(c.quantiles)), minor: true },
        { title: "max", value: (c) => c.max, cell: (c) => cell(c.max) },
        { title: "length: min / mean / max", value: (c) => c.lengths?.mean ?? null, number: true, minor: true, hint: "bytes, elements or entries",
          cell: (c) => (c.lengths ? `${format.count(c.lengths.min)} / ${format.decimal(c.lengths.mean)} / ${format.count(c.lengths.max)}` : "–") },
      ],
    });
    const spreads = state.columns.filter((c) => c.quantiles.length || c.lengths?.quantiles.length);
    return card("Columns", table.element, spreads.length ? tables.behind("Quantiles", () => quantiles(spreads)) : null);
  }

  const median = (found) => found.find(([q]) => q === 0.5)?.[1] ?? null;

  function quantiles(found) {
    const rows = found.flatMap((column) => [
      column.quantiles.length ? [column.name, column.quantiles, column.rank_error] : null,
      column.lengths?.quantiles.length ? [`length of ${column.name}`, column.lengths.quantiles, column.rank_error] : null,
    ]).filter(Boolean);
    const steps = [...new Set(rows.flatMap(([, values]) => values.map(([q]) => q)))].sort((a, b) => a - b);
    const titles = ["column", ...steps.map((q) => `#${format.decimal(q * 100)} %`), "#rank error"];
    return tables.simple("Quantiles", titles, rows.map(([title, values, error]) => [
      h("code", {}, name(title)),
      ...steps.map((q) => name(values.find(([other]) => other === q)?.[1] ?? "–", { class: "value" })),
      error ? `± ${format.percent(error)}` : "exact",
    ]));
  }

  function biggest(title, rows) {
    if (!rows.length) return null;
    const namespaces = rows.some(([, namespace]) => namespace !== null);
    const groups = rows.some(([, , group]) => group !== null);
    const titles = ["key", ...(namespaces ? ["namespace"] : []), ...(groups ? ["#key group"] : []), "#subtask", "#bytes"];
    return card(title, tables.simple(title, titles, rows.map(([key, namespace, group, subtask, size]) => [
      name(key ?? "–", { class: "value" }),
      ...(namespaces ? [name(namespace ?? "–", { class: "value" })] : []),
      ...(groups ? [group === null ? "–" : String(group)] : []),
      String(subtask), format.count(size),
    ])));
  }

  return { view };
})();
