// A plan that trains.
const STEP = [
  ["forward", "Forward", 1],
  ["backward", "Backward", 3],
  ["recompute", "Recomputation", 4],
  ["bubble", "Bubble", 8],
  ["tensor", "Tensor parallel", 2],
  ["context", "Context parallel", 2],
  ["expert", "Experts' exchange", 2],
  ["pipeline", "Between stages", 2],
  ["data", "Data parallel", 2],
  ["offload", "Offload", 7],
  ["contention", "Contention", 6],
  ["straggler", "Stragglers", 5],
  ["host", "Host", 8],
  ["optimizer", "Optimizer", 4]
];
const PEAK = {
  model: ["The model's arithmetic", 1],
  kernels: ["Kernels below the peak", 4],
  bubble: ["Bubble and stragglers", 8],
  communication: ["Communication not hidden", 2],
  host: ["Host", 5],
};

function stepTime(plan) {
  const { step, step_seconds: seconds, run, days } = plan.deployments[0].evaluation;
  const parts = STEP.map(([key, name, place]) => ({ name, place, seconds: step[`${key}_seconds`] })).filter((each) => each.seconds > 0);
  if (!parts.length) return null;
  return card("Where a step's time goes", `${duration(seconds)}, ${count(run?.steps)} times.`,
    waterfall("Parts of the time of a step", parts, { name: "Step", seconds }),
    legend([{ name: "A step", said: derived(duration(seconds), "step_of", seconds) }, ...(known(days) ? [{ name: "The run", said: derived(`${rate(days)} d`, "run_of", days * DAY) }] : [])]));
}

function peak(plan) {
  const of = plan.deployments[0].evaluation;
  const parts = (of.peak_parts ?? []).filter((each) => each.share > 0)
    .map(({ name, share }) => ({ name: PEAK[name][0], place: PEAK[name][1], figure: share, said: percent(share) }));
  if (!parts.length) return null;
  const own = `${rate(of.model_tflops_per_accelerator)} TFLOP/s each are the model's (MFU ${percent(of.mfu)})`;
  return card("What becomes of the peak", `Of the arithmetic that the accelerators could do, ${own}.`,
    stacked("Shares of the peak", parts, { inside: (part) => part.said }), legend(parts));
}

function failures(plan) {
  const { failures: of, goodput, run } = plan.deployments[0].evaluation;
  if (!known(of?.interval_seconds)) return null;
  const said = [
    ["A failure every", `${duration(of.interval_seconds)}, ${rate(of.expected)} expected in the run`],
    ["A checkpoint every",
      `${duration(of.checkpoint_interval_seconds)}: ${gigabytes(of.checkpoint_bytes)} in ${duration(of.checkpoint_seconds)}`
    ],
    ["Goodput", `${percent(goodput)} of the time counts`],
    ["Hosts away",
      `${rate(of.hosts_away)} at any time, ${of.spare_hosts ?? 0} spare: all there ${percent(of.availability)} of the time`
    ],
    ["Accelerator-hours", `${count(run.accelerator_hours)}, of which ${count(run.productive_accelerator_hours)} productive`],
    ["Energy", `${rate(run.energy_kwh / 1e3)} MWh, ${rate(run.kg_co2e / 1e3)} t CO₂e`],
    ["Steps", `${count(run.steps)} of ${count(plan.request.global_batch)} sequences of ${count(plan.request.seq_len)} tokens`]
  ];
  return card("Failures and checkpoints", null, html("ul", { class: "parts" }, said.filter(([, each]) => !each.includes(UNKNOWN))
    .map(([name, each]) => html("li", {}, html("span", { class: "quiet" }, name), html(
    "b", { style: "white-space:normal;font-weight:400" }, each)))));
}

/** Money spent after so many runs: rented, or on the cluster that is bought. */
function runsDrawing(runs, rent, plan) {
  const most = Math.max(runs * 1.6, 4), buy = [[0, plan.price_usd], [runs, runs * rent]];
  const slope = (buy[1][1] - buy[0][1]) / runs, top = Math.max(most * rent, plan.price_usd + slope * most);
  const across = { from: 0, to: most, title: "runs of this kind", say: (at) => grouped(at, at % 1 ? 1 : 0) };
  const up = { from: 0, to: top, title: "money spent", say: (at) => `$${at ? prefixed(at) : 0}` };
  const draw = (width) => {
    const { x, y, parts } = axes(width, 250, across, up, 60), at = [x(runs), y(runs * rent)];
    const way = (points, place, dashes) => svg("path", { d: path(points.map(([run, paid]) => [x(run), y(paid)])), fill: "none",
      stroke: series(place), "stroke-width": 2, "stroke-dasharray": dashes });
    parts.push(way([[0, 0], [most, most * rent]], 4, "4 3"), way([buy[0], [most, plan.price_usd + slope * most]], 1),
      svg("circle", { cx: at[0], cy: at[1], r: 5, fill: "var(--panel)", stroke: series(1), "stroke-width": 2 }),
      text(at[0], at[1] + 22, `${rate(runs)} runs: buying pays`, { class: "strong halo", "text-anchor": "middle" }));
    return { height: 250, parts };
  };
  const rows = [[0, "$0", money(plan.price_usd)], [rate(runs), money(runs * rent), money(runs * rent)]];
  return [figure("Money spent on rented runs, and on the cluster", draw, ["Runs", "Rented", "Bought"], rows), keys([["buy", 1], ["rent", 4]])];
}
function renting(plan) {
  const offers = plan.renting?.runs ?? [], runs = plan.renting?.break_even_runs;
  if (!offers.length) return null;
  const pays = known(runs) ? `Owning pays from ${rate(runs)} runs on, against the cheapest offer.` : "Owning never pays.";
  const columns = [["Rented"], ["Accelerators", NUMBER], ["Days", NUMBER], ["An hour", NUMBER], ["The run", NUMBER]];
  const rows = offers.map((each) => ({ cells: [`${count(each.instances)} × ${each.instance}`, count(each.accelerators), rate(each.days),
    money(each.usd_per_hour), money(each.run_usd)] }));
  return card("Buy or rent", pays, known(runs) && plan.price_usd ? runsDrawing(runs, offers[0].run_usd, plan) : null, table(columns, rows));
}

/** The purchase against the days of the run: the plan, other accelerators, and other deadlines. */
function priceAgainstDays(plan) {
  const { days } = plan.deployments[0].evaluation, { deadline_seconds: seconds } = plan.request;
  const across = { of: (each) => (each === plan ? days : each.days), asked: known(seconds) ? seconds / DAY : undefined,
    title: "days of the run", say: (value) => `${rate(value)} d` };
  const daysOf = (result) => Number(result.match(/([\d.]+)d$/)?.[1] ?? NaN);
  const marks = plan.sensitivity.map((each) => ({ x: daysOf(each.result), y: each.price_usd, name: each.change, place: 7 }));
  return scatter(plan, "Price against days", "The cheapest cluster of each accelerator, and of other deadlines.", across, { marks });
}
function clusters(plan) {
  const { days, mfu, run } = plan.deployments[0].evaluation;
  return alternatives(plan, {
    note: "The cheapest cluster of each other accelerator that ends in time.",
    chosen: { days, mfu, run_usd: run.usd, power_watts: plan.power_watts },
    more: [
      figures("Days", (each) => each.days, rate),
      figures("MFU", (each) => each.mfu, (share) => percent(share)),
      figures("One run", (each) => each.run_usd, (usd) => money(usd, roughOf(plan))),
      figures("Power", (each) => each.power_watts, watts),
    ],
  });
}
function pipeline({ candidate, evaluation }) {
  const steps = pipelineDrawing(candidate, evaluation.step);
  if (!steps) return null;
  const said = [`${candidate.pp} stages`, `${count(candidate.micro_batches)} micro-batches`, (candidate.schedule ?? "1f1b").toUpperCase(),
    candidate.vpp > 1 && `${candidate.vpp} chunks a stage`].filter(Boolean);
  return card("One step of the pipeline", `${said.join(", ")}. What is empty is the bubble.`, steps);
}

function trained({ request, deployments, search }) {
  const { candidate, evaluation: of } = deployments[0];
  return `Trains ${request.model} on ${prefixed(request.tokens)} tokens in ${rate(of.days)} days, failures included: ${layoutOf(candidate)}, `
    + `micro-batch ${candidate.batch} × ${count(candidate.micro_batches)}, ${candidate.precision}. ${count(of.accelerators)} accelerators at work. `
    + `${count(search.candidates_covered)} candidates were covered.`;
}
function trainingPage(plan) {
  const lines = plan.bill_of_materials, title = `${plan.price_usd ? "Buy" : "Rent"} ${hardwareOf(lines)}${housesOf(lines)}`;
  return [
    verdict(plan, title, trained(plan)),
    pair(bill(plan), costs(plan)),
    pair(stepTime(plan), memory(plan, [])),
    stands(plan, "run"),
    pipeline(plan.deployments[0]),
    pair(peak(plan), failures(plan), HALVES),
    priceAgainstDays(plan),
    clusters(plan),
    scenarios(plan),
    renting(plan),
    pair(sure(plan), moves(plan)),
    rests(plan),
  ];
}
