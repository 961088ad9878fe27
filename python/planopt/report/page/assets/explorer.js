// The page that asks: its state is its address, its answers are drawn as a report's are.
const PAUSE_MS = 120, SLOW_MS = 300, JUDGING = "Estimate, not judged yet";
UNPROVEN.estimate = JUDGING;

/** Asks the server of this page; its answers come a line at a time. */
async function* askServer(options, signal) {
  const reply = await fetch("ask", { method: "POST", body: JSON.stringify(options), signal });
  if (!reply.ok) throw new Error(`the server says ${reply.status}`);
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = "", ended = false; !ended;) {
    const { value, done } = await reader.read();
    ended = done;
    const lines = (text + (value ?? "")).split("\n");
    text = lines.pop();
    yield* lines.filter(Boolean).map((line) => JSON.parse(line));
  }
}

/** A plan that nobody has simulated yet, and nothing is proven of. */
const unjudged = (plan) => ({ ...plan, why: "estimate" });

/** The question that an address asks, and the one that is pinned there. */
function readAddress(usual) {
  const { theme, pin, ...options } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const pinned = pin == null ? null : Object.fromEntries(new URLSearchParams(pin));
  return { options: location.hash.length > 1 ? options : usual, pinned, theme };
}
function writeAddress(options, pinned, settled) {
  const said = new URLSearchParams(options);
  if (pinned) said.set("pin", new URLSearchParams(pinned.options));
  const { theme } = document.documentElement.dataset;
  if (theme) said.set("theme", theme);
  const address = `#${said}`;
  if (address !== location.hash) history[settled ? "pushState" : "replaceState"](null, "", address);
}

function explore(settings, ask, links) {
  const { given, folders, panels, notes = [] } = settings;
  const usual = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value === true ? "yes" : String(value)]));
  const status = html("p", { class: "working", role: "status" }), command = html("code", {}), left = html("small", {}), root = html("main", { id: "report" });
  const told = html("span", {}, "explorer");
  let pinned = null, now = null, running = null, pause = null;

  const button = (said, onclick) => html("button", { type: "button", onclick }, said);
  const question = questionForm(panels, changed, [button("Pin to compare", pin), button("Reset", () => { question.options = usual; changed(true); })]);
  const files = Object.entries(links).map(([name, save]) => button(name, () => save(now)));
  const copy = (text, said) => navigator.clipboard.writeText(text).then(() => { status.textContent = said; });

  /** Shows an answer, and keeps what has the keyboard where it is. */
  function draw(answer, isEstimate) {
    now = { ...answer, isEstimate };
    const plan = isEstimate ? unjudged(answer.plan) : answer.plan, short = comparable(plan);
    show(plan, root);
    root.querySelector("#answer .chip")?.parentElement.append(...notes.map((note) => html("p", { class: "note" }, marked(note))));
    if (pinned?.plan) root.querySelector("#answer").after(sideBySide(pinned, now, unpin));
    drawn.forEach((paint) => paint());
    told.textContent = short.status === "infeasible" ? "no plan" :
      [short.short ?? hardwareOf(short.bill_of_materials), priceOf(short)[0], known(speedOf(short)) && `${rate(speedOf(short))} tok/s`].filter((each) => each && each !== UNKNOWN).join(" · ");
    files.forEach((each) => { each.disabled = isEstimate; });
    root.classList.remove("old");
  }

  /** Asks, and gives what is answered last; a newer question ends it. */
  async function answered(given, signal, onEstimate) {
    const [options] = asking(given, question.flags), asked = commandOf(given, question.flags, folders), late = setTimeout(() => root.classList.add("old"), SLOW_MS);
    try {
      for await (const said of ask(options, signal)) {
        if (signal.aborted) return null;
        clearTimeout(late);
        if (said.progress) status.textContent = `working: ${said.progress}`;
        if (said.estimate) onEstimate({ options: given, command: asked, plan: said.estimate });
        if (said.problems) throw said.problems;
        if (said.plan) return { options: given, command: asked, plan: said.plan };
      }
      return null;
    } finally {
      clearTimeout(late);
    }
  }

  async function run() {
    running?.abort();
    const own = running = new AbortController(), { options } = question;
    command.textContent = commandOf(options, question.flags, folders);
    left.textContent = leftOut(options, question.flags);
    status.textContent = "working";
    try {
      if (pinned && !pinned.plan) pinned = await answered(pinned.options, own.signal, () => {}) ?? pinned;
      const last = await answered(options, own.signal, (estimate) => draw(estimate, true));
      if (own.signal.aborted || !last) return;
      draw(last, false);
      question.refuse([]);
      status.textContent = "";
    } catch (error) {
      if (own.signal.aborted) return;
      const rest = question.refuse(Array.isArray(error) ? error : [{ code: "", message: `could not plan: ${error.message}` }]);
      root.classList.toggle("old", Boolean(now));
      status.replaceChildren(...(rest.length ? rest.flatMap(saidOf) : [document.createTextNode("The question is not understood: see its controls.")]));
    }
  }

  function changed(settled) {
    writeAddress(question.options, pinned, settled);
    clearTimeout(pause);
    pause = setTimeout(run, PAUSE_MS);
  }
  function pin() {
    if (now) pinned = { ...now };
    writeAddress(question.options, pinned, true);
    if (now) draw(now, now.isEstimate);
  }
  function unpin() {
    pinned = null;
    writeAddress(question.options, pinned, true);
    draw(now, now.isEstimate);
  }
  function readState() {
    const state = readAddress(usual);
    if (["light", "dark"].includes(state.theme)) document.documentElement.dataset.theme = state.theme;
    question.options = state.options;
    pinned = state.pinned && { options: state.pinned };
    run();
  }
  takeUp = (options) => {
    question.options = { ...question.options, ...options };
    changed(true);
  };
  addEventListener("popstate", readState);
  addEventListener("beforeprint", () => repaint(true));
  addEventListener("afterprint", () => repaint(false));
  const theme = () => { turned(); writeAddress(question.options, pinned, false); };
  document.body.append(
    html("a", { class: "skip", href: "#answer", onclick: (event) => { event.preventDefault(); root.querySelector("#answer")?.scrollIntoView(); } }, "To the answer"),
    html("header", { class: "bar" }, html("b", {}, "planopt"), told, button("Light / dark", theme),
      button("Copy link", () => copy(location.href, "the link is copied")), button("Copy command", () => copy(command.textContent, "the command is copied")), files),
    html("div", { class: "explorer" }, question.form, html("div", { class: "asked card" }, html("small", {}, "The same on the command line"), status, command, left), root));
  readState();
  return run;
}

if (document.getElementById("explorer") && !document.getElementById("core")) {
  const open = (name) => () => { html("a", { href: name, download: name }).click(); };
  explore(JSON.parse(document.getElementById("explorer").textContent), askServer,
    { "plan.json": open("plan.json"), "report.html": open("report.html") });
}
