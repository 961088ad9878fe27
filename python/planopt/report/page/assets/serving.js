// A plan that serves, a plan that trains, a fleet, and the answer that there is none.
const TOKEN = [["memory_seconds", "Memory traffic", 1], ["compute_seconds", "Compute not hidden", 4], ["communication_seconds", "Communication", 2], ["offload_seconds", "Reading from the host", 7],
  ["host_seconds", "Host and engine", 8], ["waiting_seconds", "Waiting for other stages", 6], ["load_seconds", "Prompts and queues", 5]];

function served(plan) {
  const { request } = plan;
  const load = request.requests_per_second ? `${rate(request.requests_per_second)} requests/s` : inFlight(request);
  const ways = plan.deployments.map((each) => `${layoutOf(each.candidate)}${each.replicas > 1 ? `, ${each.replicas} replicas` : ""}, ${each.candidate.weights}, batch ${count(each.candidate.batch)}`);
  return `Serves ${[load, request.model].filter(Boolean).join(" with ")}: ${ways.join(" + ")}${request.engine_name ? `, under ${request.engine_name}` : ""}. ${count(plan.search.candidates_covered)} candidates were covered.`;
}
function tokenTime(plan) {
  const { evaluation } = plan.deployments[0], parts = (evaluation.time_parts ?? []).map((each) => [each.name, each.seconds]);
  const shown = TOKEN.map(([key, name, place]) => ({ name, place, seconds: parts.find(([of]) => of === key)?.[1] })).filter((each) => each.seconds > 0);
  if (!shown.length) return null;
  const promise = plan.promises.find((each) => each.name === "tpot"), total = { name: promise?.percentile ? `${promise.percentile} under the load` : "Time of a token", seconds: shown.reduce((sum, each) => sum + each.seconds, 0) };
  return card("Where a token's time goes", `Time per output token${promise?.percentile ? ` at ${promise.percentile}` : ", steady steps"}${promise ? `. Promised: ${duration(promise.asked)}, which is ${rate(1 / promise.asked)} tok/s` : ""}.`,
    waterfall("Parts of the time of a token", shown, total, promise?.asked));
}
function stands(plan, { training = false } = {}) {
  const [first] = plan.deployments;
  if (!first?.hardware.hosts) return null;
  const { candidate, hardware, evaluation } = first, lines = plan.bill_of_materials, part = lines.find((each) => each.kind === "accelerator"), host = lines.find((each) => ["host", "machine", "instance"].includes(each.kind));
  const spare = evaluation.failures?.spare_hosts ?? 0, hosts = hardware.hosts * (first.units ?? 1), units = plan.facts?.entries?.[`hosts/${hardware.host}`]?.table.rack_units?.value;
  const said = [`${layoutOf(candidate)}: ${several(first.replicas, training ? "run" : "replica")} on ${several(hosts, "host")}${spare ? ` and ${spare} spare` : ""}.`, candidate.pp > 1 ? " Colour and number are the stage of a host's first accelerator." : "",
    hardware.network ? ` Between hosts: ${hardware.network}, ${hardware.nics_per_host} a host${hardware.switch_count ? `, ${several(hardware.switch_count, "switch").replace("switchs", "switches")}` : ""}.` : "", hardware.link ? ` Inside: ${hardware.link}.` : ""].join("");
  const drawn = clusterDrawing({ ...first, replicas: first.replicas }, { spare, rackHosts: units > 0 ? Math.max(1, Math.floor(42 / units)) : 0, sentence: said, host: host?.name ?? "Host", card: part?.name ?? candidate.accelerator });
  return card("How it stands", said, drawn);
}
function busy(plan) {
  const curve = plan.cost.at_duty ?? [], ways = plan.rent_or_buy;
  if (curve.length < 2) return null;
  const hosted = ways?.hosted_usd_per_million_tokens, rented = ways?.rent?.usd_per_million_tokens, asked = plan.facts?.rates?.duty ?? 1;
  const prices = [...curve.map((each) => each.usd_per_million_tokens), hosted, rented].filter(known), flat = [[hosted, "hosted API", 2], [rented, "rented", 4]].filter(([usd]) => known(usd));
  const draw = (width) => {
    const height = 260, { x, y, parts } = axes(width, height, { from: 0.01, to: 1, log: true, title: "share of the hours that are busy", say: (at) => percent(at, 0) },
      { from: Math.min(...prices) * 0.5, to: Math.max(...prices) * 1.2, log: true, title: "$ per million tokens", say: (usd) => `$${Number(usd.toPrecision(2))}` });
    parts.push(svg("path", { d: path(curve.map((each) => [x(each.duty), y(each.usd_per_million_tokens)])), fill: "none", stroke: series(1), "stroke-width": 2 }));
    flat.forEach(([usd, name, place], order) => parts.push(line(x(0.01), y(usd), x(1), y(usd), { stroke: series(place), "stroke-width": 1.5, "stroke-dasharray": "4 3" }),
      text(x(order ? 0.1 : 0.0105), y(usd) - 5, `${name} ${perMillion(usd)}`, { class: "halo" })));
    const at = [x(asked), y(plan.usd_per_million_tokens)], covered = flat.some(([usd]) => Math.abs(y(usd) - 25 - at[1]) < 16);
    parts.push(svg("circle", { cx: at[0], cy: at[1], r: 6, fill: series(1), stroke: "var(--panel)", "stroke-width": 1.5 }),
      text(at[0], at[1] + (covered ? -12 : 20), `asked: ${percent(asked, 0)}, ${perMillion(plan.usd_per_million_tokens)}`, { class: "strong halo", "text-anchor": "end" }));
    return { height, parts };
  };
  const pays = ways && (known(ways.break_even_duty) ? ` Owning costs less than renting from ${percent(ways.break_even_duty, 0)} on.` : ways.rent ? " Owning never costs less than renting." : "");
  return card(flat.length ? "When buying pays" : "Cost against busy hours", `Cost of a million tokens against how busy the cluster is. Both axes are logarithmic.${pays ?? ""}`,
    figure("Cost of a million tokens against busy hours", draw, ["Busy hours", "Cost of a million tokens"], curve.map((each) => [percent(each.duty, 0), perMillion(each.usd_per_million_tokens)])));
}
/** The purchase of each option against what it does; the plan stands out. */
function scatter(plan, title, note, across, marks) {
  const day = dayOf(plan), rows = [...plan.alternatives.map((each) => ({ x: across.of(each), y: each.price_usd, name: hardwareOf(each.bill_of_materials) || each.summary, place: 8 })),
    ...(marks ?? []), { x: across.of(null), y: plan.price_usd, name: `this plan, ${money(plan.price_usd, isRough(plan.bill_of_materials, day))}`, place: 1, strong: true }].filter((each) => known(each.x) && known(each.y) && each.y > 0);
  if (rows.length < 3) return null;
  const [xs, ys] = [rows.map((each) => each.x), rows.map((each) => each.y)], ends = (all, margin) => ({ from: Math.min(...all) / margin, to: Math.max(...all) * margin });
  const draw = (width) => {
    const height = Math.max(300, rows.length * 16 + 80), { x, y, parts } = axes(beside(width), height, { ...ends([...xs, across.asked].filter(known), 1.06), title: across.title, say: (at) => grouped(at, at % 1 ? 1 : 0) }, { ...ends(ys, 1.3), log: true, title: "purchase", say: (usd) => `$${prefixed(usd)}` }, 60);
    const late = known(across.asked) && x(across.asked) > width - 110;
    if (known(across.asked)) parts.push(line(x(across.asked), 20, x(across.asked), height - 42, { class: "mark" }), text(x(across.asked) + (late ? -5 : 5), 12, `${across.say(across.asked)} asked`, { class: "halo", "text-anchor": late ? "end" : "start" }));
    parts.push(...named(rows, x, y, width, 40, height - 48));
    return { height, parts };
  };
  return card(title, note, figure(title, draw, ["Option", across.title, "Purchase"], rows.map((each) => [each.name, across.say(each.x), money(each.y)])));
}
const servingColumns = (plan) => {
  const steady = !plan.request.percentile, of = plan.deployments[0].evaluation;
  return { note: steady ? "The cheapest way to keep the promises with each other accelerator." : "The cheapest way to keep the promises with each other accelerator. Its speed under the load is not in the plan.",
    chosen: () => ({ price_usd: plan.price_usd, usd_per_hour: plan.tco_usd_per_hour, tokens_per_second_per_user: of.decode.tokens_per_second_per_user, usd_per_million_tokens: plan.usd_per_million_tokens, power_watts: plan.power_watts }),
    figures: [["TCO", (each) => each.usd_per_hour, hourly, NUMBER, true], ...(steady ? [["tok/s each", (each) => each.tokens_per_second_per_user, rate, NUMBER, true], ["$/Mtok", (each) => each.usd_per_million_tokens, perMillion, NUMBER, true]] : []),
      ["Power", (each) => each.power_watts, watts, NUMBER, true]] };
};
function sessions(plan) {
  const found = plan.deployments[0].evaluation.under_load?.sessions;
  if (!found) return null;
  const tiers = found.tiers ?? [], parts = [{ name: "Found in accelerators' memory", figure: found.hit_rate - tiers.reduce((sum, each) => sum + each.hit_rate, 0), place: 3 },
    ...tiers.map((each, at) => ({ name: `Found in ${each.name}`, figure: each.hit_rate, place: [7, 5][at] ?? 6 })), { name: "Forgotten, read again", figure: found.all_hit_rate - found.hit_rate, place: 2 }]
    .filter((each) => each.figure > 0).map((each) => ({ ...each, said: percent(each.figure) }));
  return card("What sessions find again", `${count(found.alive)} sessions keep ${prefixed(found.needed_kv_tokens)} tokens between turns; a replica holds ${prefixed(found.kv_tokens)}.`,
    stacked("Tokens of prompts by where they were found", parts, { end: 1 }), legend([...parts, { name: "New in each turn", said: percent(1 - found.all_hit_rate) }]));
}
function servingPage(plan) {
  const lines = plan.bill_of_materials, rents = lines.every((each) => each.kind === "instance"), [first] = plan.deployments, of = first.evaluation;
  const more = [["KV cache holds", known(of.kv_capacity_tokens) ? `${prefixed(of.kv_capacity_tokens)} tokens a replica` : UNKNOWN]];
  const asked = plan.request.target_tokens_per_second, speed = { of: (each) => (each ? each.tokens_per_second_per_user : of.decode.tokens_per_second_per_user), asked, title: "tok/s of each user, steady step", say: (at) => `${rate(at)} tok/s` };
  return [verdict(plan, `${rents ? "Rent" : "Buy"} ${hardwareOf(lines)}${housesOf(lines)}`, served(plan)), pair(bill(plan), costs(plan)), plan.totals.hosts > 8 ? [stands(plan), memory(plan, more)] : pair(stands(plan), memory(plan, more)), pair(tokenTime(plan), moves(plan)),
    plan.request.percentile ? null : scatter(plan, "Speed against price", "What each option does for its price: further right is faster, further down is cheaper.", speed), alternatives(plan, servingColumns(plan)), pair(busy(plan), sessions(plan)), pair(sure(plan), rests(plan), HALVES)];
}

// --- Training ---------------------------------------------------------------------------

const STEP = [["forward", "Forward", 1], ["backward", "Backward", 3], ["recompute", "Recomputation", 4], ["bubble", "Bubble", 8], ["tensor", "Tensor parallel", 2], ["context", "Context parallel", 2], ["expert", "Experts' exchange", 2],
  ["pipeline", "Between stages", 2], ["data", "Data parallel", 2], ["offload", "Offload", 7], ["contention", "Contention", 6], ["straggler", "Stragglers", 5], ["host", "Host", 8], ["optimizer", "Optimizer", 4]];
const PEAK = { model: ["The model's arithmetic", 1], kernels: ["Kernels below the peak", 4], bubble: ["Bubble and stragglers", 8], communication: ["Communication not hidden", 2], host: ["Host", 5] };
function stepTime(plan) {
  const of = plan.deployments[0].evaluation, parts = STEP.map(([key, name, place]) => ({ name, place, seconds: of.step[`${key}_seconds`] })).filter((each) => each.seconds > 0);
  return parts.length ? card("Where a step's time goes", `${duration(of.step_seconds)}, ${count(of.run?.steps)} times.`, waterfall("Parts of the time of a step", parts, { name: "Step", seconds: of.step_seconds })) : null;
}
function peak(plan) {
  const of = plan.deployments[0].evaluation, parts = (of.peak_parts ?? []).filter((each) => each.share > 0).map((each) => ({ name: PEAK[each.name][0], place: PEAK[each.name][1], figure: each.share, said: percent(each.share) }));
  return parts.length ? card("What becomes of the peak", `Of the arithmetic that the accelerators could do, ${rate(of.model_tflops_per_accelerator)} TFLOP/s each are the model's (MFU ${percent(of.mfu)}).`,
    stacked("Shares of the peak", parts, { inside: (part) => part.said }), legend(parts)) : null;
}
function failures(plan) {
  const { failures: of, goodput, run } = plan.deployments[0].evaluation;
  if (!known(of?.interval_seconds)) return null;
  const said = [["A failure every", `${duration(of.interval_seconds)}, ${rate(of.expected)} expected in the run`], ["A checkpoint every", `${duration(of.checkpoint_interval_seconds)}: ${gigabytes(of.checkpoint_bytes)} in ${duration(of.checkpoint_seconds)}`],
    ["Goodput", `${percent(goodput)} of the time counts`], ["Hosts away", `${rate(of.hosts_away)} at any time, ${of.spare_hosts ?? 0} spare: all there ${percent(of.availability)} of the time`],
    ["Accelerator-hours", `${count(run.accelerator_hours)}, of which ${count(run.productive_accelerator_hours)} productive`], ["Energy", `${rate(run.energy_kwh / 1e3)} MWh, ${rate(run.kg_co2e / 1e3)} t CO₂e`], ["Steps", `${count(run.steps)} of ${count(plan.request.global_batch)} sequences of ${count(plan.request.seq_len)} tokens`]];
  return card("Failures and checkpoints", null, html("ul", { class: "parts" }, said.filter(([, each]) => !each.includes(UNKNOWN)).map(([name, each]) => html("li", {}, html("span", { class: "quiet" }, name), html("b", { style: "white-space:normal;font-weight:400" }, each)))));
}
function renting(plan) {
  const runs = plan.renting?.runs ?? [];
  if (!runs.length) return null;
  const pays = known(plan.renting.break_even_runs) ? `Owning pays from ${rate(plan.renting.break_even_runs)} runs on.` : "Owning never pays.";
  return card("Buy or rent", pays, table([["Rented"], ["Accelerators", NUMBER], ["Days", NUMBER], ["An hour", NUMBER], ["The run", NUMBER]], runs.map((each) => ({ cells: [`${count(each.instances)} × ${each.instance}`, count(each.accelerators), rate(each.days), money(each.usd_per_hour), money(each.run_usd)] }))));
}
function trainingPage(plan) {
  const lines = plan.bill_of_materials, [first] = plan.deployments, of = first.evaluation, { request } = plan, steps = pipelineDrawing(first.candidate, of.step);
  const lead = `Trains ${request.model} on ${prefixed(request.tokens)} tokens in ${rate(of.days)} days, failures included: ${layoutOf(first.candidate)}, micro-batch ${first.candidate.batch} × ${count(first.candidate.micro_batches)}, ${first.candidate.precision}. ${count(of.accelerators)} accelerators at work. ${count(plan.search.candidates_covered)} candidates were covered.`;
  const deadline = { of: (each) => (each ? each.days : of.days), asked: known(request.deadline_seconds) ? request.deadline_seconds / DAY : undefined, title: "days of the run", say: (days) => `${rate(days)} d` };
  const marks = plan.sensitivity.map((each) => ({ x: Number(each.result.match(/([\d.]+)d$/)?.[1] ?? NaN), y: each.price_usd, name: each.change, place: 7 }));
  const columns = { note: "The cheapest cluster of each other accelerator that ends in time.", chosen: () => ({ price_usd: plan.price_usd, days: of.days, mfu: of.mfu, run_usd: of.run.usd, power_watts: plan.power_watts }),
    figures: [["Days", (each) => each.days, rate, NUMBER, true], ["MFU", (each) => each.mfu, (mfu) => percent(mfu), NUMBER, true], ["One run", (each) => each.run_usd, (usd) => money(usd, true), NUMBER, true], ["Power", (each) => each.power_watts, watts, NUMBER, true]] };
  return [verdict(plan, `${plan.price_usd ? "Buy" : "Rent"} ${hardwareOf(lines)}${housesOf(lines)}`, lead), pair(bill(plan), costs(plan)), pair(stepTime(plan), memory(plan, [])), stands(plan, { training: true }),
    steps && card("One step of the pipeline", `${first.candidate.pp} stages, ${count(first.candidate.micro_batches)} micro-batches, ${(first.candidate.schedule ?? "1f1b").toUpperCase()}${first.candidate.vpp > 1 ? `, ${first.candidate.vpp} chunks a stage` : ""}. What is empty is the bubble.`, steps),
    pair(peak(plan), failures(plan), HALVES), scatter(plan, "Price against days", "The cheapest cluster of each accelerator, and of other deadlines.", deadline, marks), alternatives(plan, columns), renting(plan), pair(sure(plan), moves(plan)), rests(plan)];
}

// --- Fleets -----------------------------------------------------------------------------

function quarters(plan) {
  const columns = plan.periods.map((each) => ({ name: `${each.period}`, parts: [{ figure: each.purchase_usd, place: 1 }, { figure: each.rent_usd, place: 4 }] })), hours = plan.request.period_hours;
  const say = alike([Math.max(...plan.periods.map((each) => each.purchase_usd + each.rent_usd))], 1e6, "M"), usd = (figure) => `$${say(figure)}`.replace(" M", "M");
  return plan.periods.length ? card("What is paid in each period", `Periods of ${count(hours)} hours.`, figure("Purchase and rent by period", (width) => columnsOf(width, 260, columns, { title: "paid in the period", say: usd }), ["Period", "Purchase", "Rent", "Power"],
    plan.periods.map((each) => [each.period, money(each.purchase_usd), money(each.rent_usd), watts(each.power_watts)])), keys([["purchase", 1], ["rent", 4]])) : null;
}
function demand(plan) {
  const rows = plan.streams.map((each) => { const last = each.demand.length - 1; return { name: each.stream, asked: each.demand[last], kept: each.after_failures[last], all: each.supply[last] }; });
  const draw = (width) => {
    const label = Math.min(170, width * 0.4), parts = [];
    rows.forEach((row, at) => {
      const y = at * 24 + 4, x = linear(0, Math.max(row.all, row.asked), label, width - 110);
      parts.push(text(0, y + 12, fitted(row.name, label - 6)), rect(label, y, x(row.all) - label, 15, { fill: "var(--tint)" }), rect(label, y, x(row.kept) - label, 15, { fill: series(1), opacity: 0.55 }),
        line(x(row.asked), y - 3, x(row.asked), y + 18, { class: "mark" }), text(width, y + 12, `${rate(row.asked)} of ${rate(row.kept)}`, { "text-anchor": "end" }));
    });
    return { height: rows.length * 24 + 6, parts };
  };
  return rows.length ? card("Demand and what is left after a failure, last period", "Requests per second at the peak, each on its own scale: mark, asked; colour, kept when the worst has failed; grey, in all.",
    figure("Demand and capacity of each stream", draw, ["Stream", "Asked", "After the worst failure", "In all"], rows.map((row) => [row.name, rate(row.asked), rate(row.kept), rate(row.all)]))) : null;
}
function actions(plan) {
  return flowing(card("What to do", null, table([["Period", NUMBER], ["Actions"], ["Purchase", NUMBER], ["Rent", NUMBER]],
    plan.periods.map((each) => ({ cells: [each.period, each.actions.length ? each.actions.map((action) => html("div", {}, action)) : "nothing", money(each.purchase_usd), money(each.rent_usd)] })))));
}
function oneType(plan) {
  return plan.one_type.length ? card("Of one type alone", "The best fleet of a single kind of accelerator.", table([["Accelerator"], ["Total", NUMBER], ["More", NUMBER], ["Why not"]],
    plan.one_type.map((each) => ({ cells: [each.accelerator, money(each.total_usd, true), money(each.more_usd, true), each.why ?? each.status] })))) : null;
}
function fleetPage(plan) {
  const regions = plan.request.regions.length, lead = `${several(plan.streams.length, "demand")} in ${several(regions, "region")} over ${several(plan.request.periods, "period")}: bought ${money(plan.price_usd, true)}, rented ${money(plan.rent_usd, true)}. Each demand is kept when its worst failure domain is gone.`;
  return [verdict(plan, `A fleet for ${several(plan.streams.length, "demand")}`, lead), pair(quarters(plan), oneType(plan)), demand(plan), bill(plan), actions(plan), pair(sure(plan), rests(plan), HALVES)];
}

// --- No plan ----------------------------------------------------------------------------

function conflict(plan) {
  const why = plan.infeasibility ?? { binding: [], nearest: [] }, trains = plan.request.tokens != null;
  const limits = why.binding.map((each) => html("li", {}, html("b", { class: "bad" }, `${each.name} `), each.value, each.detail && html("small", {}, each.detail)));
  const rows = why.nearest.map((each) => ({ cells: [typed(each.options), each.price_usd || !each.usd_per_hour ? money(each.price_usd, each.price_is_rough) : hourly(each.usd_per_hour), rate(trains ? each.days : each.tokens_per_second_per_user), [times(each.summary), each.note && html("small", {}, each.note)]] }));
  return [limits.length || why.note ? card("Limits in conflict", "Without any one of these there is a plan.", html("ul", { class: "said" }, limits, why.note && html("li", {}, why.note))) : null,
    rows.length ? card("Change one thing", "Each was solved and checked.", table([["Change"], ["Price", NUMBER], [trains ? "Days" : "tok/s each", NUMBER], ["With"]], rows)) : null];
}
function nonePage(plan) {
  const { request } = plan, what = request.model ? ` for ${request.model}` : "";
  return [verdict(plan, plan.why === "time" ? `Nothing found yet${what}` : `No plan${what} meets these limits`, `${count(plan.search.candidates_covered)} candidates were covered.`), pair(...conflict(plan), ["narrow", "wide"]), rests(plan)];
}
