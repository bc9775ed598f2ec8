// Tables that sort by any column and can be filtered.
const tables = (() => {
  const { h } = dom;
  const collator = new Intl.Collator("en", { numeric: true });

  // What is not known is last, whichever way one sorts.
  function compare(a, b, down) {
    if (a === null || b === null) return (a === null) - (b === null);
    const order = typeof a === "number" ? a - b : collator.compare(a, b);
    return down ? -order : order;
  }

  // `columns` are { title, value(row), cell(row), number, minor, hint }: `value` sorts, `cell` gives what is shown; `minor`
  // ones are left out on a phone. `sort` is the column to begin with. Gives { element, filter(test) → rows shown }.
  function sortable({ id, caption, columns, rows, sort = 0, down = false, mark }) {
    let by = sort;
    let descending = down;
    const body = h("tbody");
    const made = rows.map((row) => ({ row, element: null }));
    let test = () => true;

    const heads = columns.map((column, index) => {
      const button = h("button", { type: "button", title: column.hint, on: { click: () => choose(index) } }, column.title);
      return h("th", { scope: "col", class: classes(column) }, button);
    });

    function classes(column) {
      return [column.number ? "number" : "", column.minor ? "minor" : "", column.class || ""].filter(Boolean).join(" ") || null;
    }

    function rowElement(row) {
      return h("tr", mark ? mark(row) : {}, columns.map((column, index) =>
        h(index === 0 ? "th" : "td", { scope: index === 0 ? "row" : null, class: classes(column) }, column.cell ? column.cell(row) : column.value(row))));
    }

    function show() {
      const { value } = columns[by];
      const shown = made.filter(({ row }) => test(row));
      shown.sort((a, b) => compare(value(a.row), value(b.row), descending));
      for (const one of shown) one.element ||= rowElement(one.row);
      body.replaceChildren(...shown.map((one) => one.element));
      heads.forEach((head, index) => {
        if (index === by) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      return shown.map(({ row }) => row);
    }

    // Numbers begin with the largest, as that is what one looks for.
    function choose(index) {
      descending = index === by ? !descending : Boolean(columns[index].number);
      by = index;
      show();
    }

    show();
    const table = h("table", { id, class: "sortable" }, h("caption", { class: "unseen" }, caption), h("thead", {}, h("tr", {}, heads)), body);
    return { element: h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table), filter: (wanted) => { test = wanted; return show(); } };
  }

  // A small table as it is. Of `titles` those with a "#" in front are numbers.
  function simple(caption, titles, rows, properties) {
    const numbers = titles.map((title) => title.startsWith("#"));
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      h("table", properties || {}, h("caption", { class: "unseen" }, caption),
        h("thead", {}, h("tr", {}, titles.map((title, i) => h("th", { scope: "col", class: numbers[i] ? "number" : null }, title.replace("#", ""))))),
        h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, i) => h("td", { class: numbers[i] ? "number" : null }, cell)))))));
  }

  // What a chart shows, as a table that is made when it is asked for, and `again()` when it is another.
  function behind(summary, make) {
    const details = h("details", { class: "behind" }, h("summary", {}, summary));
    const fill = () => { if (details.open && details.children.length === 1) details.append(make()); };
    details.addEventListener("toggle", fill);
    details.again = () => {
      details.children[1]?.remove();
      fill();
    };
    return details;
  }

  return { sortable, simple, behind };
})();
