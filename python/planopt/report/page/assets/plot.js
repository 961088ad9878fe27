// Drawings without the page around them, for a notebook.
/** An evaluation as the only deployment of a plan that asks for nothing. */
function evaluated(of) {
  const parts = Object.entries(of.decode ?? {}).map(([name, seconds]) => ({ name, seconds }));
  const deployment = { replicas: 1, ...of, evaluation: of.decode ? { ...of, time_parts: parts } : of };
  const plan = { ...of, request: {}, promises: [], deployments: [deployment] };
  return of.kind === "training" ? [stepTime(plan), memory(plan, []), stands(plan, "run"), pipeline(plan.deployments[0]), peak(plan)]
    : [tokenTime(plan), memory(plan, []), stands(plan), operations()];
}
/** Choices of several accelerators on two axes, those of one in a line. */
function choices({ title, note, across, upwards, choices: all }) {
  const lines = all.map((each, at) => ({ ...each, place: (at % 8) + 1, points: each.points.filter(({ x, y }) => x > 0 && y > 0) }))
    .filter((each) => each.points.length);
  const points = lines.flatMap((each) => each.points);
  if (!points.length) return null;
  const axis = (of, name, margin) => ({ title: name, log: true, from: Math.min(...points.map(of)) / margin, to: Math.max(...points.map(of)) * margin, say: prefixed });
  const [right, up] = [axis((each) => each.x, across, 1.06), axis((each) => each.y, upwards, 1.3)];
  const draw = (width) => {
    const height = Math.max(320, lines.length * 16 + 80), { x, y, parts } = axes(beside(width), height, right, up, 60);
    for (const each of lines) parts.push(svg("path", { d: path(each.points.map((point) => [x(point.x), y(point.y)])), fill: "none", stroke: series(each.place), "stroke-width": 2 }));
    return { height, parts: [...parts, ...named(lines.map((each) => ({ ...each.points.at(-1), name: each.name, place: each.place })), x, y, width, 40, height - 48)] };
  };
  const rows = lines.flatMap((each) => each.points.map((point) => [each.name, rate(point.x), rate(point.y)]));
  return card(title, note, figure(title, draw, ["Accelerator", across, upwards], rows), keys(lines.map((each) => [each.name, each.place])));
}
const drawingsOf = (of) => (of.choices ? choices(of) : of.schema.includes("evaluation") ? evaluated(of) : pageOf(of));
/** Shows the cards that hold a drawing; the answer above them is no drawing. */
function plotted(of) {
  const cards = [drawingsOf(of)].flat(Infinity).filter((each) => each?.querySelector(".drawing") && each.id !== "answer");
  document.body.prepend(html("main", { id: "report" }, cards.length ? cards : html("p", {}, "There is nothing to draw.")));
  drawn.forEach((paint) => paint());
}
