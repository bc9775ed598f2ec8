// Reads the data, and shows the view that the address asks for: #state=12, #operator=3, or the overview.
const model = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const first = overview.view(model);
let single = null; // the view of a state, while there is one

page.append(first);
charts.draw(first);

function show() {
  const [, kind, number] = /^#(state|operator)=(\d+)$/.exec(location.hash) || [];
  const index = Number(number);
  if (single) {
    charts.drop(single);
    single.remove();
    single = null;
  }
  const ofState = kind === "state" && index < model.states.length;
  first.hidden = ofState;
  if (ofState) {
    single = stateView.view(model, index);
    page.append(single);
    charts.draw(single);
    document.title = `${model.states[index].state_name ?? model.states[index].state_kind} – ${model.title}`;
    scrollTo(0, 0);
    single.querySelector("h1").focus({ preventScroll: true });
    return;
  }
  document.title = model.title;
  if (kind === "operator") {
    const row = document.getElementById(`operator-${index}`);
    row?.scrollIntoView({ block: "center" });
    row?.focus({ preventScroll: true });
  } else if (location.hash === "#states") {
    document.getElementById("states").scrollIntoView();
  }
}

addEventListener("hashchange", show);
addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, select, textarea");
  if (event.key !== "/" || typing || first.hidden || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  document.getElementById("search").focus();
});
show();
