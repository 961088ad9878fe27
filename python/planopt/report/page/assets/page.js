// The page: which sections, in which order, and what the buttons do.
const PAGES = { serving: servingPage, training: trainingPage, fleet: fleetPage };

/** Shows a plan in an element, and nothing that the plan does not say. */
function show(plan, root, more = []) {
  const page = plan.status === "infeasible" ? nonePage : PAGES[plan.kind];
  root.replaceChildren(...[page(plan), more, provenance(plan)].flat(Infinity).filter(Boolean));
}
function turned() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
}
function saved(text, name) {
  const link = html("a", { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: name });
  link.click();
}
function topBar(plan, text) {
  const { request } = plan, asked = [request.model, request.tokens && `${prefixed(request.tokens)} tokens`, inFlight(request),
    request.target_tokens_per_second && `${rate(request.target_tokens_per_second)} tok/s each`, plan.provenance?.date].filter(Boolean).join(" · ");
  return html("header", { class: "bar" }, html("b", {}, "planopt"), html("span", {}, asked), html("button", { type: "button", onclick: turned }, "Light / dark"),
    html("button", { type: "button", onclick: () => saved(text, "plan.json") }, "plan.json"), html("button", { type: "button", onclick: () => print() }, "Print"));
}
function start() {
  const text = document.getElementById("plan").textContent, plan = JSON.parse(text), [, theme] = location.hash.match(/theme=(light|dark)/) ?? [];
  if (theme) document.documentElement.dataset.theme = theme;
  const root = html("main", { id: "report" });
  document.body.prepend(html("a", { class: "skip", href: "#answer" }, "To the answer"), topBar(plan, text), root);
  show(plan, root, [...document.querySelectorAll("template")].map((each) => each.content.cloneNode(true)));
  addEventListener("beforeprint", () => repaint(true));
  addEventListener("afterprint", () => repaint(false));
}
if (document.getElementById("plan")) start();
