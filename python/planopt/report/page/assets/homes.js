// Plans of machines that stand in homes: islands that train, and chains of neighbours that serve.
const HOMES = { "planopt.islands/1": islandsPage, "planopt.neighbours/1": neighboursPage };

const keyed = (all) => html("dl", { class: "keys" }, all.filter(([, figure]) => figure && figure !== UNKNOWN).map(([name, figure, more]) =>
  html("div", {}, html("dt", {}, name), html("dd", {}, figure), more && html("small", {}, more))));
function answerOf(how, title, lead, [price, of], figures) {
  return html("section", { class: "card", id: "answer", "aria-live": "polite" },
    html("div", { class: "verdict" }, html("div", {}, how, html("h1", {}, title), html("p", { class: "lead" }, lead)),
      price && html("div", { class: "paid" }, html("div", { class: "price" }, price), html("small", {}, of))), keyed(figures));
}
/** Shares that are near to all of the time are told as exactly as they are near to it. */
const timeOf = told((share) => (1 - share < 1e-5 ? "all" : percent(share, Math.max(0, Math.ceil(-Math.log10((1 - share) / 2)) - 2))));
const machinesOf = (kind) => `${count(kind.machines)} × ${kind.id} over ${kind.network}`;
const assumedHere = (plan) => plan.assumed.length > 0 &&
  card("Assumed", null, list(plan.assumed.map((each) => [strong(`${each.name}: `), each.value, each.why && html("small", {}, marked(each.why))])));

/** Boxes in rows, as many in each as there is room for: `draw(each, left, top, wide)` gives the parts of one. */
function inRows(all, least, tall, draw) {
  return (width) => {
    const room = Math.max(1, Math.min(all.length, Math.floor(width / least))), wide = width / room;
    const parts = all.flatMap((each, at) => draw(each, (at % room) * wide, Math.floor(at / room) * tall, wide));
    return { height: Math.ceil(all.length / room) * tall, parts };
  };
}

// --- Islands ------------------------------------------------------------------------------

const SQUARE = 14, ISLANDS_DRAWN = 128;
/** Islands as boxes of their machines, and the machines that wait. */
function islandsDrawing(run) {
  const boxed = run.islands.flatMap((kind, place) => [
    ...Array.from({ length: kind.islands }, (_, at) => ({ place: place + 1, machines: kind.machines, name: `${at + 1}` })),
    ...Array.from({ length: Math.ceil(kind.spares / kind.machines) }, (_, at) => (
      { place: 0, machines: Math.min(kind.machines, kind.spares - at * kind.machines), name: "spare" })),
  ]);
  const most = Math.max(...run.islands.map((kind) => kind.machines)), across = Math.min(most, 8);
  const lines = Math.max(...boxed.map(({ machines }) => Math.ceil(machines / across)));
  const least = Math.max(across * SQUARE + 14, 52), tall = lines * SQUARE + 36;
  const draw = inRows(boxed, least, tall, ({ place, machines, name }, left, top) => [
    text(left, top + 12, name, { class: "small" }), rect(left + 0.5, top + 18.5, across * SQUARE + 5, lines * SQUARE + 5, { class: "host", rx: 4 }),
    ...Array.from({ length: machines }, (_, at) => rect(left + 4 + (at % across) * SQUARE, top + 22 + Math.floor(at / across) * SQUARE,
      SQUARE - 3, SQUARE - 3, place ? { fill: series(place), rx: 2 } : { class: "spare", rx: 2 })),
  ]);
  const rows = run.islands.map((kind) => [`${kind.id} over ${kind.network}`, count(kind.islands), count(kind.machines), count(kind.spares), layoutOf(kind.candidate)]);
  const columns = ["Machine", "Islands", "Machines each", "Spare", "Layout"];
  const said = run.islands.map((kind) => `${several(kind.islands, "island")} of ${count(kind.machines)} × ${kind.id}, ${layoutOf(kind.candidate)}`).join("; ");
  return figure(said, boxed.length > ISLANDS_DRAWN ? inRows(rows, 400, 24, (row, left, top) => [text(left, top + 16, row.join(" · "))]) : draw, columns, rows);
}

function islandsPage(plan) {
  const run = plan.best ?? plan.nearest, asked = `${plan.model}, ${prefixed(plan.tokens)} tokens, islands over the Internet.`;
  if (!run) return [answerOf(chip("✘ No island holds it", "bad"), `No island of these machines trains ${plan.model}`, "More machines, larger ones, or a smaller model.", [], []), assumedHere(plan)];
  const late = !plan.best, rented = run.islands.every((kind) => known(kind.power_watts) === false);
  const how = chip(late ? `✘ Too late: ${rate(plan.deadline_seconds / DAY)} d were asked` : plan.deadline_seconds ? "✔ Cheapest in time, of all that were tried" : "✔ First to be done, of all that were tried", late ? "bad" : "good");
  const [free, dear] = run.tokens_factor_range, days = (of) => `${rate(of.days)} d`;
  const title = `${run.islands.map((kind) => `${count(kind.islands * kind.machines)} × ${kind.id}`).join(" + ")} train ${plan.model} in ${days(run)}`;
  const figures = [
    ["Days", days(run), `${rate(run.tokens_factor)} times the tokens: ${rate(free)} to ${known(dear) ? rate(dear) : "any number"} as far as is known`],
    ["Speed", `${rate(run.tokens_per_second)} tok/s`, "in the mean of the run"],
    ["Computing", percent(run.compute_utilisation), `of a round; ${several(run.inner_steps, "step")}, then an exchange`],
    ["There", timeOf(run.availability), "of the islands, in the mean"],
    ["Goodput", percent(run.goodput), "of their time counts"],
    ["Electricity", rented ? "" : money(run.energy_usd), `${rate(run.energy_kwh)} kWh`],
  ];
  const round = [["Steps", run.inner_seconds, 1], ["Exchange", run.round_seconds - run.inner_seconds, 2]];
  const rows = plan.cadences.map((each) => ({ chosen: each.inner_steps === run.inner_steps, cells: [count(each.inner_steps), duration(each.round_seconds),
    percent(each.compute_utilisation), rate(each.tokens_factor), rate(each.days), money(each.usd)] }));
  const kinds = run.islands.map((kind) => ({ cells: [[kind.id, html("small", {}, `${kind.host}, ${kind.network}`)], count(kind.islands), count(kind.machines), count(kind.spares),
    layoutOf(kind.candidate), rate(kind.tokens_per_second), gigabytes(kind.memory_bytes), watts(kind.power_watts), hourly(kind.usd_per_hour)] }));
  return [
    answerOf(how, title, asked, [money(run.usd), rented ? "rent of the run" : "of the run, machines written off"], figures),
    card("Islands", "Each box trains alone; a square is a machine. Who is spare takes the place of one that leaves.", islandsDrawing(run),
      table([["Machine"], ["Islands", NUMBER], ["Machines each", NUMBER], ["Spare", NUMBER], ["Layout"], ["tok/s each", NUMBER], ["Memory", NUMBER], ["Power each", NUMBER], ["Cost each", NUMBER]], kinds)),
    pair(run.exchange_bytes > 0 && card("A round", `${gigabytes(run.exchange_bytes)} of each machine by ${run.topology}, ${duration(run.exchange_seconds)}.`,
      waterfall("Parts of a round", round.map(([name, seconds, place]) => ({ name, seconds, place })), { name: "Round", seconds: run.round_seconds })),
    assumedHere(plan), HALVES),
    rows.length > 1 && card("Steps between two exchanges", "Meeting seldom waits less and takes more tokens; meeting often the other way round.",
      table([["Steps"], ["Round", NUMBER], ["Computing", NUMBER], ["Times the tokens", NUMBER], ["Days", NUMBER], ["Cost", NUMBER]], rows)),
  ];
}

// --- Neighbours ---------------------------------------------------------------------------

/** Who holds which layers, one after the other, and the way to the next. */
function chainDrawing({ stages, machines }) {
  const say = timesAlike(stages.map((each) => Math.max(each.stage_seconds, each.hop_seconds)));
  const draw = inRows(stages.map((stage, at) => ({ ...stage, at })), 168, 92, (stage, left, top, wide) => {
    const place = stage.kind + 1, box = Math.min(wide - 62, 180), middle = left + box / 2, ink = { "text-anchor": "middle", style: `fill:${onSeries(place)}` };
    const last = stage.at === stages.length - 1, end = left + wide - 6;
    return [
      rect(left, top + 8, box, 62, { fill: series(place), rx: 4 }),
      text(middle, top + 27, fitted(machines[stage.kind].id, box - 8), { ...ink, class: "strong", style: `${ink.style};font-weight:600` }),
      text(middle, top + 44, fitted(`layers ${stage.first_layer + 1} – ${stage.first_layer + stage.layers}`, box - 8), ink), text(middle, top + 61, say(stage.stage_seconds), ink),
      ...(last ? [] : [svg("path", { class: "link", d: `M${left + box + 4} ${top + 39}H${end}M${end - 5} ${top + 35}L${end} ${top + 39}L${end - 5} ${top + 43}` }),
        text((left + box + end) / 2, top + 31, say(stage.hop_seconds), { "text-anchor": "middle", class: "small" })]),
    ];
  });
  const rows = stages.map((each, at) => [`${at + 1}`, machines[each.kind].id, count(each.layers), gigabytes(each.memory.total_bytes), say(each.stage_seconds), say(each.hop_seconds),
    duration(each.takeover_seconds + each.replay_seconds)]);
  return figure(`A chain of ${several(stages.length, "stage")}`, draw, ["Stage", "Machine", "Layers", "Memory", "Stage", "Way to the next", "A loss"], rows);
}

/** Parts of what a token takes, with its share of what others' prompts and losses take. */
function chainTime(chains, target) {
  const sum = (of) => chains.stages.reduce((all, each) => all + of(each), 0), { step_seconds: step, decoding, serving } = chains;
  const stages = sum((each) => each.stage_seconds), ways = sum((each) => each.hop_seconds);
  const parts = [["Stages", stages, 1], ["Ways between homes", ways, 2], ["Engine", chains.turn_seconds - stages - ways, 8], ["Waiting for the slowest stage", step - chains.turn_seconds, 6],
    ["Prompts of others", step / decoding - step, LOAD], ["Losses made up for", step / decoding / serving - step / decoding, 4]];
  const shown = parts.filter(([, seconds]) => seconds > 1e-6).map(([name, seconds, place]) => ({ name, seconds, place }));
  return card("Where a token's time goes", target ? `Promised: ${duration(1 / target)}, which is ${rate(target)} tok/s.` : null,
    waterfall("Parts of the time of a token", shown, { name: "Time of a token", seconds: 1 / chains.tokens_per_second_per_user_served }, target && 1 / target));
}

function thereDrawing(chains) {
  const columns = chains.at_least.map((share, at) => ({ name: `${at + 1}`, parts: [{ figure: share * 100, place: 1 }] }));
  const shown = columns.slice(0, 12), what = "share of the time in which at least so many chains are whole, %";
  const draw = (width) => columnsOf(width, 220, shown, { title: width < 480 ? "% of the time" : what, say: (at) => grouped(at, at < 99.5 && at % 1 ? 1 : 0) });
  const simulated = chains.simulated && ` Simulated, one is whole ${timeOf(chains.simulated.availability)} of the time.`;
  return card("Chains that are whole", `${several(chains.chains, "chain")} where all are there, ${rate(chains.chains * chains.running)} in the mean.${simulated ?? ""}`,
    figure(what, draw, ["Chains", "Share of the time"], chains.at_least.map((share, at) => [`${at + 1}`, timeOf(share)])));
}

function membersTable(chains) {
  const columns = [["Machine"], ["There", NUMBER], ["In a chain", NUMBER], ["Spare", NUMBER], ["Present", NUMBER], ["Power", NUMBER], ["Cost", NUMBER], ["Paid", NUMBER], ["Left", NUMBER], ["Pays below", NUMBER]];
  const pays = (usd) => (usd > 0 ? `${perMillion(usd)}/kWh` : "never");
  const rows = chains.machines.map((kind) => ({ cells: [[kind.id, html("small", {}, `${kind.host}, ${kind.network}`)], count(kind.machines), count(kind.each), count(kind.spares),
    percent(kind.presence, 0), watts(kind.power_watts), hourly(kind.usd_per_hour), hourly(kind.paid_usd_per_hour), known(kind.earned_usd_per_hour) ? `${kind.earned_usd_per_hour < 0 ? "−" : ""}${hourly(Math.abs(kind.earned_usd_per_hour))}` : UNKNOWN,
    known(kind.pays_below_usd_per_kwh) ? pays(kind.pays_below_usd_per_kwh) : UNKNOWN] }));
  return card("What a member earns", "Per machine that is there. Paid and left need a price of tokens (--sell).", table(columns, rows));
}

function neighboursPage(plan) {
  const chains = plan.best ?? plan.nearest, target = plan.target_tokens_per_second;
  if (!chains) return [answerOf(chip("✘ No chain holds it", "bad"), `No chain of these neighbours holds ${plan.model}`, `In ${plan.weights}: more machines, larger ones, or smaller weights.`, [], []), assumedHere(plan)];
  const slow = !plan.best, speed = chains.tokens_per_second_per_user_served;
  const how = chip(slow ? `✘ Too slow: ${rate(target)} tok/s were asked` : target ? "✔ Most tokens at this speed, of all chains tried" : "✔ Fastest of all chains tried", slow ? "bad" : "good");
  const users = chains.users === 1 ? "1 user" : `${count(chains.users)} users at once`;
  const title = slow ? `At best ${rate(speed)} tok/s each` : `${users} at ${rate(speed)} tok/s each, ${timeOf(chains.availability)} of the time`;
  const lead = `${plan.model} in ${plan.weights} on ${chains.machines.map(machinesOf).join(" + ")}; prompts of ${count(plan.prompt_tokens)}, answers of ${count(plan.output_tokens)} tokens.`;
  const figures = [
    ["Throughput", `${rate(chains.output_tokens_per_second)} tok/s`, `and ${rate(chains.prompt_tokens_per_second)} of prompts`],
    ["First token", duration(chains.prefill_seconds), "of a prompt read alone"],
    ["Alone", `${rate(chains.tokens_per_second_alone)} tok/s`, "one user, nobody leaves"],
    ["Losses", percent(1 - chains.serving), `of the time; ${chains.recovery === "copies" ? "others hold copies" : "tokens are computed again"}`],
    ["Electricity", perMillion(chains.energy_usd_per_million_tokens), "of a million tokens"],
    ["All machines", hourly(chains.usd_per_hour), "that are there"],
    ["Revenue", known(chains.revenue_usd_per_hour) && hourly(chains.revenue_usd_per_hour), "at the price of --sell"],
  ];
  const rows = plan.lengths.map((each) => ({ chosen: each.in_flight === chains.in_flight, cells: [count(each.in_flight), count(each.chains), count(each.users), rate(each.tokens_per_second_per_user_served),
    timeOf(each.availability), rate(each.output_tokens_per_second), perMillion(each.usd_per_million_tokens)] }));
  return [
    answerOf(how, title, lead, [`${perMillion(chains.usd_per_million_tokens)}/Mtok`, "pays for all machines that are there"], figures),
    card("A chain", "Layers and the time of a token on each machine; over the arrows the way to the next.", chainDrawing(chains)),
    pair(chainTime(chains, target), thereDrawing(chains), HALVES),
    membersTable(chains),
    pair(rows.length > 1 && card("Stages of a chain", null, table([["Stages"], ["Chains", NUMBER], ["Users", NUMBER], ["tok/s each", NUMBER], ["Whole", NUMBER], ["tok/s", NUMBER], ["$/Mtok", NUMBER]], rows)), assumedHere(plan)),
  ];
}

/** The figures of such a plan under the names that all plans have them by, to stand beside another. */
function comparable(plan) {
  if (!HOMES[plan.schema]) return plan;
  const it = plan.best ?? plan.nearest ?? {}, { usd, usd_per_hour, usd_per_million_tokens, output_tokens_per_second, tokens_per_second = output_tokens_per_second } = it;
  return { status: plan.best ? "feasible" : "infeasible", request: plan, bill_of_materials: [], promises: [], deployments: [], price_usd: usd, tco_usd_per_hour: usd_per_hour, usd_per_million_tokens,
    totals: { tokens_per_second }, speed: it.tokens_per_second_per_user_served, short: (it.islands ?? it.machines ?? []).map(machinesOf).join(" + ") };
}
