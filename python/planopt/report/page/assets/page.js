// The page: which sections, in which order, and what the buttons do.
const PAGES = { serving: servingPage, training: trainingPage, fleet: fleetPage };

const pageOf = (plan) => (HOMES[plan.schema] ?? (plan.status === "infeasible" ? nonePage : PAGES[plan.kind]))(plan);

/** Shows a plan in an element, and nothing that the plan does not say; what else there is stands at its end. */
function show(plan, root, appendix) {
  drawn.clear();
  root.replaceChildren(...[pageOf(plan), appendix, HOMES[plan.schema] ? null : provenance(plan)].flat(Infinity).filter(Boolean));
  drawn.forEach((paint) => paint());
}

function turned() {
  const { dataset } = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)").matches;
  dataset.theme = (dataset.theme ?? (system ? "dark" : "light")) === "dark" ? "light" : "dark";
}

function saved(text, name) {
  const file = new Blob([text], { type: "application/json" });
  html("a", { href: URL.createObjectURL(file), download: name }).click();
}

function topBar(plan, text) {
  const { request = plan } = plan;
  const asked = [
    request.model,
    request.tokens && `${prefixed(request.tokens)} tokens`,
    inFlight(request),
    request.target_tokens_per_second && `${rate(request.target_tokens_per_second)} tok/s each`,
    plan.provenance?.date,
  ].filter(Boolean);
  const button = (said, onclick) => html("button", { type: "button", onclick }, said);
  return html("header", { class: "bar" }, html("b", {}, "planopt"), html("span", {}, asked.join(" · ")),
    button("Light / dark", turned), button("plan.json", () => saved(text, "plan.json")), button("Print", () => print()));
}

function start() {
  const text = document.getElementById("plan").textContent, plan = JSON.parse(text);
  const [, theme] = location.hash.match(/theme=(light|dark)/) ?? [];
  if (theme) document.documentElement.dataset.theme = theme;
  const root = html("main", { id: "report" });
  document.body.prepend(html("a", { class: "skip", href: "#answer" }, "To the answer"), topBar(plan, text), root);
  show(plan, root, document.getElementById("appendix")?.content);
  addEventListener("beforeprint", () => repaint(true));
  addEventListener("afterprint", () => repaint(false));
}
if (document.getElementById("plan")) start();
if (document.getElementById("drawn")) plotted(JSON.parse(document.getElementById("drawn").textContent));
