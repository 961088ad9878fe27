// A plan that serves.
const LOAD = 5;
const TOKEN = [
  ["memory_seconds", "Memory traffic", 1],
  ["compute_seconds", "Compute not hidden", 4],
  ["communication_seconds", "Communication", 2],
  ["offload_seconds", "Reading from the host", 7],
  ["host_seconds", "Host and engine", 8],
  ["waiting_seconds", "Wait for stages", 6],
  ["load_seconds", "Prompts and queues", LOAD]
];

function served({ request, deployments, search }) {
  const load = request.requests_per_second ? `${rate(request.requests_per_second)} requests/s` : inFlight(request);
  const way = ({ candidate, replicas }) => [layoutOf(candidate), replicas > 1 && `${replicas} replicas`, candidate.weights,
    `batch ${count(candidate.batch)}`].filter(Boolean).join(", ");
  const under = request.engine_name ? `, under ${request.engine_name}` : "";
  const what = [load, request.model].filter(Boolean).join(" with ");
  return `Serves ${what}: ${deployments.map(way).join(" + ")}${under}. ${count(search.candidates_covered)} candidates were covered.`;
}

function tokenTime(plan) {
  const parts = plan.deployments[0].evaluation.time_parts ?? [], seconds = (key) => parts.find((each) => each.name === key)?.seconds;
  const shown = TOKEN.map(([key, name, place]) => ({ name, place, seconds: seconds(key) })).filter((each) => each.seconds > 0);
  if (!shown.length) return null;
  const promise = plan.promises.find((each) => each.name === "tpot");
  const at = shown.some((each) => each.place === LOAD) ? plan.request.percentile : null;
  const total = { name: at ? `${at} under the load` : "Time of a token", seconds: shown.reduce((sum, each) => sum + each.seconds, 0) };
  const asked = promise ? ` Promised: ${duration(promise.asked)}, which is ${rate(1 / promise.asked)} tok/s.` : "";
  return card("Where a token's time goes", `Time per output token${at ? ` at ${at}` : " at full batch, steady steps"}.${asked}`,
    waterfall("Parts of the time of a token", shown, total, promise?.asked), alone(plan.deployments[0].evaluation));
}
/** What a step and a prompt take without any other. */
const alone = ({ decode, prefill }) => legend([["A steady step", decode?.step_seconds, "step_time"], ["A prompt read alone", prefill?.seconds, "prefill_time"]]
  .filter(([, seconds]) => known(seconds)).map(([name, seconds, worked]) => ({ name, said: derived(duration(seconds), worked, seconds) })));

/** Cost of tokens by the share of busy hours, beside what does not depend on it: `flat` is `[usd, name, place]`. */
function busyDrawing(curve, flat, asked, now) {
  const prices = [...curve.map((each) => each.usd_per_million_tokens), ...flat.map(([usd]) => usd)];
  const across = { from: curve[0].duty, to: 1, log: true, title: "share of the hours that are busy", say: (at) => percent(at, 0) };
  const up = { from: Math.min(...prices) * 0.5, to: Math.max(...prices) * 1.2, log: true, title: "$ per million tokens",
    say: (usd) => `$${Number(usd.toPrecision(2))}` };
  return (width) => {
    const height = 260, { x, y, parts } = axes(width, height, across, up);
    const points = curve.map((each) => [x(each.duty), y(each.usd_per_million_tokens)]);
    parts.push(svg("path", { d: path(points), fill: "none", stroke: series(1), "stroke-width": 2 }));
    flat.forEach(([usd, name, place], order) => parts.push(
      line(x(across.from), y(usd), x(1), y(usd), { stroke: series(place), "stroke-width": 1.5, "stroke-dasharray": "4 3" }),
      text(x(order ? 0.1 : 0.0105), y(usd) - 5, `${name} ${perMillion(usd)}`, { class: "halo" })));
    const [left, top] = [x(asked), y(now)], covered = flat.some(([usd]) => Math.abs(y(usd) - 25 - top) < 16);
    parts.push(svg("circle", { cx: left, cy: top, r: 6, fill: series(1), stroke: "var(--panel)", "stroke-width": 1.5 }),
      text(left, top + (covered ? -12 : 20), `asked: ${percent(asked, 0)}, ${perMillion(now)}`, { class: "strong halo", "text-anchor": "end" }));
    return { height, parts };
  };
}
/** What selling the tokens leaves, and when it has paid the purchase back. */
function sold({ sell }, of = "of the hours busy") {
  if (!sell) return null;
  const { break_even_utilisation: even, payback_days: days } = sell;
  const figures = [["Revenue", hourly(sell.revenue_usd_per_hour)], ["Margin", hourly(sell.margin_usd_per_hour)],
    ["Breaks even", known(even) ? `at ${percent(even, 0)} ${of}` : "never"], ["Paid back", known(days) ? `in ${rate(days)} d` : "never"]];
  return legend(figures.map(([name, said]) => ({ name, said })));
}
function busy(plan) {
  const curve = plan.cost.at_duty ?? [], ways = plan.rent_or_buy ?? {}, asked = plan.facts?.rates?.duty ?? 1;
  if (curve.length < 2) return null;
  const flat = [[ways.hosted_usd_per_million_tokens, "hosted API", 2], [ways.rent?.usd_per_million_tokens, "rented", 4]]
    .filter(([usd]) => known(usd));
  const from = ways.break_even_duty, never = ways.rent ? " Owning never costs less than renting." : "";
  const pays = known(from) ? ` Owning costs less than renting from ${percent(from, 0)} on.` : never;
  const rows = curve.map((each) => [percent(each.duty, 0), perMillion(each.usd_per_million_tokens)]);
  return card(flat.length || plan.sell ? "When buying pays" : "Cost against busy hours",
    `Cost of a million tokens against how busy the cluster is. Both axes are logarithmic.${pays}`,
    figure("Cost of a million tokens against busy hours", busyDrawing(curve, flat, asked, plan.usd_per_million_tokens),
      ["Busy hours", "Cost of a million tokens"], rows), sold(plan));
}

function servingColumns(plan) {
  const { decode } = plan.deployments[0].evaluation, steady = !plan.request.percentile;
  const speed = [
    figures("tok/s each", (each) => each.tokens_per_second_per_user, rate),
    figures("$/Mtok", (each) => each.usd_per_million_tokens, perMillion),
  ];
  return {
    note: `The cheapest way to keep the promises with each other accelerator.${steady ? "" : " Its speed under the load is not in the plan."}`,
    chosen: { usd_per_hour: plan.tco_usd_per_hour, tokens_per_second_per_user: decode.tokens_per_second_per_user,
      usd_per_million_tokens: plan.usd_per_million_tokens, power_watts: plan.power_watts },
    more: [figures("TCO", (each) => each.usd_per_hour, hourly), ...(steady ? speed : []), figures("Power", (each) => each.power_watts, watts)],
  };
}

function sessions(plan) {
  const found = plan.deployments[0].evaluation.under_load?.sessions;
  if (!found) return null;
  const tiers = found.tiers ?? [], behind = tiers.reduce((sum, each) => sum + each.hit_rate, 0);
  const parts = [
    { name: "Found in accelerators' memory", figure: found.hit_rate - behind, place: 3 },
    ...tiers.map((each, at) => ({ name: `Found in ${each.name}`, figure: each.hit_rate, place: [7, 5][at] ?? 6 })),
    { name: "Forgotten, read again", figure: found.all_hit_rate - found.hit_rate, place: 2 },
  ].filter((each) => each.figure > 0).map((each) => ({ ...each, said: percent(each.figure) }));
  const kept = `${count(found.alive)} sessions keep ${prefixed(found.needed_kv_tokens)} tokens between turns`;
  return card("What sessions find again", `${kept}; a replica holds ${prefixed(found.kv_tokens)}.`,
    stacked("Tokens of prompts by where they were found", parts, { end: 1 }),
    legend([...parts, { name: "New in each turn", said: percent(1 - found.all_hit_rate) }]));
}

/** One kind of replica for all the work, or one pool for prompts and one for answers. */
function pools(plan) {
  const two = plan.disaggregated, [first] = plan.deployments, at = plan.request.percentile ?? "p95";
  if (!two) return null;
  const layout = (pool) => `${pool.replicas} × ${layoutOf(pool.candidate)}`;
  const row = (name, how, of, power) => ({ cells: [[name, html("small", {}, how)], money(of.price_usd), hourly(of.cost.usd_per_hour),
    duration(of.ttft_seconds[at]), duration(of.tpot_seconds[at]), rate(of.tokens_per_second), watts(power)] });
  const rows = [
    row("this plan", layoutOf(first.candidate), { price_usd: plan.price_usd, cost: plan.cost, tokens_per_second: plan.totals.tokens_per_second, ...latenciesOf(first) }, plan.power_watts),
    row(two.in_time ? "two pools" : "two pools, not in time", `${layout(two.prefill)} for prompts, ${layout(two.decode)} for answers`, two, two.power_watts),
  ];
  const columns = [["Build"], ...["Purchase", "TCO", `TTFT ${at}`, `TPOT ${at}`, "tok/s", "Power"].map((title) => [title, NUMBER])];
  return card("One pool or two", "The best pair of pools that was asked about, simulated.", table(columns, rows));
}
const latenciesOf = ({ evaluation: { ttft_seconds, tpot_seconds } }) => ({ ttft_seconds, tpot_seconds });

/** What one step of each limit is worth, and over which prices the choice stays: where the question asked. */
function limits(plan) {
  const say = isHourly(plan.request) ? hourly : money;
  const rows = (plan.steps ?? []).map((each) => ({ cells: [each.limit, each.step, say(each.saves_usd), rate(each.gains_tokens_per_second),
    (each.binding && each.choice && times(each.choice)) || "not binding"] }));
  const columns = [["Limit"], ["Step", NUMBER], ["Saves", NUMBER], ["tok/s more", NUMBER], ["Then"]];
  return rows.length ? card("A step of each limit", "The question was asked again with each.", table(columns, rows)) : null;
}
function bands(plan) {
  const told = plan.uncertainty;
  if (!told) return null;
  const within = `the same choice within ${percent(told.price_band, 0)}`;
  const until = (each, say) => [[each.low_usd ?? each.low, each.low_choice, "below"], [each.high_usd ?? each.high, each.high_choice, "above"]]
    .filter(([end]) => known(end)).map(([end, choice, side]) => `${side} ${say(end)} ${times(choice ?? "another")}`).join("; ") || within;
  const rows = [
    ...told.prices.map((each) => [each.name, money(each.price_usd), until(each, money), money(each.regret_usd)]),
    ...told.flips.map((each) => [MOVED[each.name]?.[0] ?? each.name.replaceAll("_", " "), rate(each.value), until(each, rate), UNKNOWN]),
  ].map((cells) => ({ cells }));
  return card("If prices or assumptions move", `The choice, with each moved by ${percent(told.price_band, 0)} either way.`,
    table([["What"], ["Now", NUMBER], ["The choice"], ["Regret at worst", NUMBER]], rows));
}

/** The best of each accelerator by how fast users get tokens and how many of them a dollar buys: of steady steps, which all have. */
function speedAgainstValue(plan) {
  const { deployments, request, transfer } = plan, { decode } = deployments[0].evaluation;
  if (transfer) return null;
  const sum = deployments.reduce((all, { evaluation, replicas }) => all + evaluation.decode.tokens_per_second * replicas, 0);
  const across = { of: (each) => (each === plan ? decode : each).tokens_per_second_per_user,
    asked: request.percentile ? undefined : request.target_tokens_per_second,
    title: "tok/s of each user, steady step", say: (at) => `${rate(at)} tok/s` };
  const upwards = { of: (each) => ((each === plan ? sum : each.tokens_per_second) / each.price_usd) * 1e3, front: true,
    title: "tok/s of all users for $1,000 of purchase", say: rate };
  const how = request.percentile ? " Of the step at the batch that carries the load; the promise is judged under it." : "";
  return scatter(plan, "Speed against value", `The best of each accelerator: further right is faster, further up is more for the money. The line joins those that no other beats.${how}`,
    across, { upwards });
}

const MANY_HOSTS = 8;
function servingPage(plan) {
  const lines = plan.bill_of_materials, { kv_capacity_tokens: tokens } = plan.deployments[0].evaluation;
  const title = `${lines.every((each) => each.kind === "instance") ? "Rent" : "Buy"} ${hardwareOf(lines)}${housesOf(lines)}`;
  const held = memory(plan, known(tokens) ? [["KV cache holds", `${prefixed(tokens)} tokens a replica`]] : []);
  return [
    verdict(plan, title, served(plan)),
    pair(bill(plan), costs(plan)),
    plan.totals.hosts > MANY_HOSTS ? [stands(plan), held] : pair(stands(plan), held),
    pair(tokenTime(plan), moves(plan)),
    operations(),
    speedAgainstValue(plan),
    alternatives(plan, servingColumns(plan)),
    pools(plan),
    limits(plan),
    bands(plan),
    scenarios(plan),
    pair(busy(plan), sessions(plan)),
    pair(sure(plan), rests(plan), HALVES),
  ];
}
