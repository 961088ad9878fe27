// How figures were worked out by the second opinion: a figure opens its formula, what went in, and the sources.
const WORKED = JSON.parse(document.getElementById("derivation")?.textContent ?? "[]");
function* within(nodes) {
  for (const node of nodes) {
    yield node;
    yield* within(node.children);
  }
}
/** The derivation of a figure by its name: the one that comes to it. */
function workedOut(name, figure) {
  const all = [...within(WORKED)].filter((node) => node.name === name), near = (each) => Math.abs(each.value - figure) <= 1e-6 * Math.abs(figure);
  return all.find(({ result }) => result.some(near) || near({ value: result.reduce((sum, each) => sum + each.value, 0) }));
}

const written = (value) => (Number.isInteger(value) ? count(value) : typeof value === "number" ? rate(value) : value);
const WRITTEN = { bytes: (value) => (value < 1e7 ? `${written(value)} bytes` : gigabytes(value)), s: duration, USD: money };
const inUnit = (value, unit) => (WRITTEN[unit] && value ? WRITTEN[unit](value) : `${written(value)} ${unit}`.trim());
const spoken = (name) => name.replace(/^_|_of$/g, "").replaceAll(/[_.]+/g, " ").trim();
function derivationOf(node, isOpen) {
  const results = node.result.filter((each) => each.value || node.result.length === 1).map((each) => `${spoken(each.name)} ${inUnit(each.value, each.unit)}`.trim());
  const given = Object.entries(node.inputs).filter(([, value]) => value !== 0 && value !== false && value !== "").map(([name, value]) => `${spoken(name.split(".").pop())} ${inUnit(value, "")}`);
  const title = `${node.times > 1 && !isOpen ? `${count(node.times)} × ` : ""}${spoken(node.name)}${node.inputs["operation.name"] ? ` of ${spoken(node.inputs["operation.name"])}` : ""}`;
  return html("details", { open: isOpen }, html("summary", {}, strong(title), ` = ${results.join(", ")}`),
    html("p", {}, html("code", {}, node.formula), html("small", {}, `${node.page}, section ${node.section}`)), given.length > 0 && html("p", {}, `with ${given.join(", ")}`),
    node.facts.length > 0 && list(node.facts.map((fact) => [`${spoken(fact.name)} = ${fact.text}`, fact.source && html("small", {}, cited(fact.source))])),
    node.children.map((child) => derivationOf(child, false)));
}

let opened = 0;
/** A figure that opens its derivation, where the page has it; it may be shown in parts. */
function derived(said, name, figure, shown = said) {
  const node = workedOut(name, figure);
  if (!node) return shown;
  const id = `worked-${opened += 1}`, box = html("div", { id, popover: "auto", class: "worked", role: "dialog", "aria-label": `How ${said} was worked out` });
  const open = html("button", { type: "button", class: "figure", popovertarget: id }, shown);
  open.addEventListener("click", () => box.childElementCount || box.append(derivationOf(node, true)), { once: true });
  return [open, box];
}

// --- What limits each operation ------------------------------------------------------------

const KERNELS = ["matmul_time", "attention_times", "elementwise_time"];
const WHERE_LIMITED = [["step_time", "A token", 1], ["prefill_time", "A prompt", 5]];
const OPERATIONS = { attention_times: "attention", elementwise_time: "norms and activations" };
/** Operations of a step: how their arithmetic compares with their memory traffic, and what they take. */
function operationsOf([name, step, place]) {
  const root = WORKED.find((node) => node.name === name), stage = root && [...within([root])].find((node) => node.name === "stage_time");
  const kernels = (stage?.children ?? []).filter((node) => KERNELS.includes(node.name)).map((node) => {
    const of = (what) => node.times * node.result.filter((each) => each.name.split(".").pop() === what).reduce((sum, each) => sum + each.value, 0);
    return { name: spoken(node.inputs["operation.name"] ?? OPERATIONS[node.name]), compute: of("arithmetic"), memory: of("traffic"), seconds: of("seconds"), step, place };
  });
  return kernels.filter((each) => each.compute > 0 && each.memory > 0);
}
/** A roofline in times: left of 1 memory traffic limits an operation, right of it compute; the roof is what its kernels reach. */
function operations() {
  const points = WHERE_LIMITED.flatMap(operationsOf).map((each) => ({ ...each, x: each.compute / each.memory }));
  if (points.length < 2) return null;
  const most = Math.max(...points.map((each) => each.seconds)), ends = points.map((each) => each.x);
  const across = { from: Math.min(...ends, 0.1) / 1.6, to: Math.max(...ends, 10) * 1.6, log: true, title: "time of compute ÷ of memory traffic", say: (at) => rate(at) };
  const up = { from: 0, to: 1.08, title: "share of the compute that kernels reach", say: (at) => percent(at, 0) };
  const draw = (width) => {
    const height = Math.max(280, points.length * 16 + 80), { x, y, parts } = axes(beside(width), height, across, up);
    const roof = Array.from({ length: 60 }, (_, at) => across.from * (across.to / across.from) ** (at / 59)).map((at) => [x(at), y(Math.min(at, 1))]);
    parts.push(svg("path", { d: path(roof), fill: "none", stroke: "var(--ink3)", "stroke-width": 1.5 }));
    const placed = points.map((each) => ({ ...each, y: Math.min(1, each.compute / each.seconds), strong: each.seconds > most / 4,
      name: `${each.place === 1 ? "" : "prompt: "}${each.name}, ${duration(each.seconds)}` }));
    return { height, parts: [...parts, ...named(placed, x, y, width, 30, height - 48)] };
  };
  const rows = points.map((each) => [`${each.step}: ${each.name}`, duration(each.compute), duration(each.memory), duration(each.seconds)]);
  return card("What limits each operation", "Left of 1 memory traffic limits it, right of 1 compute; the line is what kernels reach at best. Of a stage, all its layers.",
    figure("Operations of a step under the roofline", draw, ["Operation", "Compute", "Memory traffic", "Takes"], rows), keys(WHERE_LIMITED.map(([, step, place]) => [step, place])));
}
