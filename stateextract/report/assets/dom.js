// Elements. Text becomes text nodes and nothing in the report writes markup, so no name or key of a job can be any.
const dom = (() => {
  // h("p", { class: "why", on: { click } }, "text", anotherElement, null): null children are left out.
  function h(tag, properties, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
      else if (name === "width") element.style.width = value;
      else element.setAttribute(name, value === true ? "" : value);
    }
    add(element, children);
    return element;
  }

  function add(element, children) {
    for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) element.append(child);
  }

  // What came out of a snapshot: isolated, so that its writing direction stays inside of it.
  const name = (text, properties) => h("bdi", properties, text);

  // Of other states the figures say nothing.
  const isRead = (state) => state.status === "decoded" || state.status === "partial";

  // Files have some bytes of each state, also of one without rows.
  const isEmpty = (state) => isRead(state) && state.rows === 0;

  const stateName = (state) => state.state_name === null ? h("i", {}, `(${state.state_kind})`) : name(state.state_name);

  const BADGES = {
    decoded: ["good", "✓"], partial: ["warn", "◐"], raw: ["warn", "◐"], skipped: ["bad", "✕"], unsupported: ["bad", "✕"],
    missing: ["bad", "✕"], unreadable: ["bad", "✕"],
  };
  function badge(status) {
    const [level, mark] = Object.hasOwn(BADGES, status) ? BADGES[status] : ["quiet", "–"];
    return h("span", { class: `badge ${level}`, title: status }, h("span", { "aria-hidden": "true" }, mark), h("span", {}, ` ${status}`));
  }

  const tile = (title, value, more) =>
    h("div", { class: "tile" }, h("dt", {}, title), h("dd", {}, h("b", {}, value), more ? h("small", {}, more) : null));

  // A share as a number with a bar behind it.
  const share = (value, text) =>
    h("span", { class: "share" }, h("span", { class: "bar", width: `${Math.min(Math.max(value, 0), 1) * 100}%` }), h("span", {}, text));

  // One of a few: radio buttons that look like one control. `choose` is called with the value, at first too.
  let groups = 0;
  function choice(label, options, choose) {
    const group = `choice-${++groups}`;
    const made = Object.entries(options).map(([value, text], index) => {
      const id = `${group}-${index}`;
      const input = h("input", { type: "radio", name: group, id, value, on: { change: () => choose(value) } });
      input.checked = index === 0;
      return [input, h("label", { for: id }, text)];
    });
    return h("fieldset", { class: "choice" }, h("legend", { class: "unseen" }, label), made);
  }

  return { h, name, isRead, isEmpty, stateName, badge, tile, share, choice };
})();
