// The sections that plans of every kind have. Each gives a card, or nothing where the plan has no data for it.
const card = (title, note, ...body) => html("section", { class: "card", "aria-label": title },
  html("h2", {}, title), note ? html("p", { class: "note" }, note) : null, body);
const several = (number, what) => `${count(number)} ${what}${number === 1 ? "" : "s"}`;
const dayOf = (plan) => plan.provenance?.date ?? "";
const nameOf = (lines, kinds) => lines.filter((each) => kinds.includes(each.kind) && each.quantity).map((each) =>
  `${count(each.quantity)} × ${each.name}`).join(" + ");
const hardwareOf = (lines) => nameOf(lines, ["accelerator"]) || nameOf(lines, ["host", "machine", "instance"]);
/** In how many hosts accelerators are that are bought apart from them. */
function housesOf(lines) {
  const hosts = lines.filter((each) => each.kind === "host").reduce((sum, each) => sum + each.quantity, 0);
  return nameOf(lines, ["accelerator"]) && hosts ? ` in ${hosts === 1 ? "one host" : several(hosts, "host")}` : "";
}
/** Two cards side by side; one alone takes the whole width. */
function pair(first, second, sizes = ["wide", "narrow"]) {
  if (first && second)[first, second].forEach((each, at) => each.classList.add(sizes[at]));
  return [first, second].filter(Boolean);
}
const HALVES = ["half", "half"];
const flowing = (of) => { of.classList.add("flows"); return of; };
/** Texts as people write them: `×` for counts, code where it is typed. */
const times = (said) => said.replace(/(\d)x (?=\S)/g, "$1 × ").replace(/ x (?=\S)/g, " × ").replace(/^<= /, "≤ ").replace(/^>= /, "≥ ");
const marked = (said) => times(said).split("`").map((part, at) => (at % 2 ? html("code", {}, part) : part));
/** Options as they are typed, none broken inside. */
const typed = (options) => html("code", {}, Object.entries(options).map(([name, value], at) => [at ? " " : "", html(
"span", { class: "whole" }, `--${name.replace(/^-+/, "").replaceAll("_", "-")} ${value}`.trim())]));
const isHourly = (request) => request.procurement != null && request.procurement !== "buy" && request.tokens == null;
const inFlight = ({ concurrency, sessions: alive }) => concurrency && (alive ? several(concurrency, "session") :
  `${several(concurrency, "request")} in flight`);

/** A layout in short: `TP4 × PP2`. */
function layoutOf(candidate) {
  const degrees = [
    ["TP", candidate.tp],
    ["CP", candidate.cp],
    ["PP", candidate.pp],
    ["EP", candidate.ep],
    ["DP", candidate.dp]
  ];
  return degrees.filter(([, degree]) => degree > 1).map(([name, degree]) => `${name}${count(degree)}`).join(" × ") ||
    "one accelerator";
}

/** A table of rows of cells; a column is `[title, class]`. */
function table(columns, rows, { name, total } = {}) {
  const cell = (content, at, tag) => html(at ? "td" : tag, { class: columns[at][1], scope: at ? null : "row" }, content);
  const row = (cells, attributes) => html("tr", attributes, cells.map((content, at) => cell(content, at, "th")));
  return html("div", { class: "scroll" }, html("table", { class: name }, html("thead", {}, html("tr", {}, columns.map(([title,
      how]) => html("th", { class: how, scope: "col" }, title)))),
    html("tbody", {}, rows.map(({ cells, chosen }) => row(cells, { class: chosen && "chosen" })), total ? row(
    total, { class: "total" }) : null)));
}
const NUMBER = "number", RACK = 42;

// --- The verdict ------------------------------------------------------------------------

const PROVEN = {
  cheapest: "Cheapest in the space searched",
  throughput: "Most throughput in the space searched",
  "cost-per-token": "Lowest cost per token in the space searched",
  latency: "Fastest per user in the space searched"
};
const UNPROVEN = {
  edge: "No cheaper plan can be shown to hold",
  time: "Best found before the clock ended",
  space: "Best found, not all was searched",
};
const GRADES = {
  measured: ["●", "good", "measured on this accelerator"],
  family: ["◐", "", "measured on its family"],
  none: ["◌", "warn", "none on this accelerator"],
};
/** The confidence where none is asked for, and the share by which a price at 95 % is much dearer. */
const SAFE = 0.8, DEARER = 1.1;
const isDoubted = (plan) => known(plan.probability) && plan.probability < (plan.confidence ?? SAFE);
const roughOf = (plan) => isRough(plan.bill_of_materials, dayOf(plan));
const chip = (said, how = "") => html("span", { class: `chip ${how}`.trim() }, said);

function statusChip(plan) {
  const gap = known(plan.gap) && plan.gap > 0 ? `, gap ${percent(plan.gap)}` : "";
  if (plan.status === "optimal") return chip(`✔ ${PROVEN[plan.objective]}`, "good");
  if (plan.status === "feasible") return chip(`~ ${UNPROVEN[plan.why] ?? "Best found, not proven"}${gap}`, "warn");
  return chip(plan.why === "time" ? "? Nothing found before the clock ended, nothing proven" : "✘ No plan in the space searched", "bad");
}

function chips(plan) {
  const [shape, how, grade] = GRADES[plan.evidence?.grade] ?? [];
  return [
    statusChip(plan),
    shape && chip(`${shape} Evidence: ${grade}`, how),
    known(plan.probability) && chip(`${percent(plan.probability, 0)} that all promises hold`, isDoubted(plan) ? "warn" : "good"),
    plan.oldest_price_date && chip(`oldest price ${plan.oldest_price_date}`),
  ];
}

/** What is paid, and of what. */
function priceOf(plan) {
  const rough = roughOf(plan), { budget_usd: budget, budget_usd_per_hour: perHour } = plan.request;
  if (plan.kind === "fleet") return [money(plan.total_usd, rough), "over all periods"];
  if (!isHourly(plan.request)) return [money(plan.price_usd, rough), budget ? `to buy, of ${money(budget)}` : "to buy, no budget was set"];
  const bought = plan.price_usd ? `${money(plan.price_usd, rough)} of it to buy` : "rented";
  return [hourly(plan.tco_usd_per_hour), perHour ? `of ${hourly(perHour)}` : bought];
}

/** What could change the decision, with the price or the option that removes it. */
function doubts(plan) {
  const rough = roughOf(plan), safe = plan.price_usd_at_confidence_95, said = [];
  const grade = GRADES[plan.evidence?.grade]?.[2], dearer = known(safe) && safe >= DEARER * plan.price_usd;
  if (plan.price_usd && (isDoubted(plan) || dearer))
    said.push(["Likely, not certain.", `${percent(plan.probability, 0)} that all promises hold${grade ? `; evidence: ${grade}` : ""}.`,
      known(safe) && safe > plan.price_usd && `${money(safe, rough)} holds at 95 %`]);
  for (const { message, help } of plan.warnings.filter((each) => each.code === "W001"))
    said.push(["Low margin.", `${message}.`, help?.match(/`(--[^`]*)`/)?.[1]]);
  const bounds = [[plan.total_bound_usd, (usd) => money(usd, rough)], [plan.bound_usd, money], [plan.bound_usd_per_hour, hourly]];
  const [bound, say] = bounds.find(([usd]) => known(usd)) ?? [];
  if (plan.status === "feasible" && say)
    said.push(["Not proven.", `${UNPROVEN[plan.why] ?? "The search did not end"}; nothing is below ${say(bound)}.`]);
  return said.map(([what, why, price]) => html("div", { class: "doubt", role: "note" },
    html("span", {}, html("b", {}, `! ${what}`), ` ${why}`), price && html("em", {}, price)));
}

function verdict(plan, title, lead) {
  const [price, of] = plan.status === "infeasible" ? ["", ""] : priceOf(plan);
  return html("section", { class: "card", id: "answer", "aria-live": "polite" },
    html("div", { class: "verdict" }, html("div", {}, chips(plan), html("h1", {}, title), html("p", { class: "lead" }, lead)),
      price && html("div", { class: "paid" }, html("div", { class: "price" }, price), html("small", {}, of))),
    doubts(plan), promises(plan), keyFigures(plan));
}

// --- Promises ---------------------------------------------------------------------------

/** Each promise in the unit that people read, with what is shown beside it. */
function promised(plan) {
  const days = plan.deployments[0]?.evaluation.intervals?.days;
  const turned = (seconds) => (known(seconds) && seconds ? 1 / seconds : undefined),
    load = plan.request;
  const ways = {
    tpot: (of) => ({ name: "Speed of each user", unit: "tok/s", least: true, say: rate, asked: turned(of.asked),
      predicted: turned(of.predicted), low: turned(of.high), high: turned(of.low) }),
    ttft: (of) => ({ ...of, name: "Time to first token", unit: "ms", say: (seconds) => count(seconds * 1e3) }),
    throughput: (of) => ({ ...of, name: "Throughput", unit: "tok/s", least: true, say: rate }),
    request_rate: (of) => ({ ...of, name: "Requests", unit: "requests/s", least: true, say: rate }),
    concurrency: (of) => ({
      ...of,
      name: load.sessions ? "Sessions" : "Requests in flight",
      unit: "",
      least: true,
      say: count,
      exact: true,
      more: load.prompt_tokens ? `prompt ${count(load.prompt_tokens)} + answer ${count(load.output_tokens)} tokens` : null
    }),
    deadline: (of) => ({
      name: "Days of the run",
      unit: "d",
      say: (value) => rate(value),
      asked: of.asked / DAY,
      predicted: of.predicted / DAY,
      low: known(of.low) ? of.low / DAY : days?.low,
      high: known(of.high) ? of.high / DAY : days?.high,
      more: "failures and restarts included"
    }),
  };
  return plan.promises.map((of) => ({ held: of.held, percentile: of.percentile, ...ways[of.name](of) }));
}
/** Held, but with an end of the interval on the other side of what was asked. */
const crosses = ({ least, asked, low, high }) => (least ? known(low) && low < asked : known(high) && high > asked);

function stateOf(promise, doubted) {
  if (!promise.held) return html("b", { class: "bad" }, "✘ not held");
  if (doubted && crosses(promise)) return html("span", { class: "warn" }, "! held, not surely");
  return html("span", { class: "good" }, "✔ held");
}

function promiseRow(each, doubted) {
  const digits = digitsOf(each.predicted), within = (value) => (each.say === rate ? grouped(value, digits) : each.say(value));
  const asked = `${each.least ? "≥" : "≤"} ${each.say(each.asked)} ${each.unit}`, predicted = each.say(each.predicted);
  const ends = known(each.low) && known(each.high) ? `${within(each.low)} – ${within(each.high)}` : UNKNOWN;
  const interval = each.exact ? "exact" : ends;
  const sentence = `${each.name}: asked ${asked}, predicted ${predicted} ${each.unit}, interval ${interval}`;
  const more = [each.percentile, each.more].filter(Boolean).join(" · ");
  return { cells: [[each.name, html("small", {}, more || each.unit)], asked, [html("b", {}, predicted), ` ${each.unit}`], interval,
    intervalBar({ ...each, sentence }), stateOf(each, doubted)] };
}

function promises(plan) {
  const columns = [["Promise"], ["Asked", NUMBER], ["Predicted", NUMBER], ["80 % interval", NUMBER], ["against what was asked", "bars"], ["State"]];
  const rows = promised(plan).map((each) => promiseRow(each, isDoubted(plan)));
  return rows.length ? table(columns, rows, { name: "promises" }) : null;
}

const carbon = (kilograms, of) => known(kilograms) && `${rate(kilograms / 1e3)} t CO₂e ${of}`;
function figuresOfFleet(plan) {
  const rough = roughOf(plan);
  return [
    ["Bought", money(plan.capex_usd, rough), "in all periods"],
    ["Rent", money(plan.rent_usd), "in all periods"],
    ["Owned", money(plan.charge_usd, rough), "written off, power, space"],
    ["Power", watts(plan.power_watts), "of hosts at the end"],
    ["Carbon", known(plan.kg_co2e) && `${rate(plan.kg_co2e / 1e3)} t`, "CO₂e of their electricity"],
  ];
}
function figuresOfPlan(plan) {
  const { totals, request, tco_usd_per_hour: tco } = plan, { mfu, goodput, run } = plan.deployments[0]?.evaluation ?? {};
  const duty = request.cost?.duty ?? plan.facts?.rates?.duty ?? 1;
  const emitted = carbon(totals.co2_kg_per_year, "a year") || carbon(run?.kg_co2e, "of the run") || "at full load";
  return [
    ["Total cost", hourly(tco), known(tco) && `${money(tco * HOURS_PER_MONTH)} a month`, "_tco", tco],
    ["Million tokens", perMillion(plan.usd_per_million_tokens), `at the load, ${percent(duty, 0)} of hours`,
      "usd_per_million_tokens", plan.usd_per_million_tokens],
    ["Throughput", known(totals.tokens_per_second) && `${rate(totals.tokens_per_second)} tok/s`,
      known(totals.requests_per_second) && `${rate(totals.requests_per_second)} requests/s`],
    ["MFU", percent(mfu), known(goodput) && `goodput ${percent(goodput)}`],
    ["The run", money(run?.usd, roughOf(plan)), "of the cluster's life"],
    ["Power", watts(plan.power_watts), emitted],
    ["Space", totals.rack_units && `${count(totals.rack_units)} units`, `of ${RACK} a rack`],
  ];
}
function keyFigures(plan) {
  const figures = plan.kind === "fleet" ? figuresOfFleet(plan) : figuresOfPlan(plan);
  const there = figures.filter(([, figure]) => figure && figure !== UNKNOWN);
  const parts = (figure) => figure.split(" ").map((part, at) => (at ? html("span", {}, ` ${part}`) : part));
  return there.length ? html("dl", { class: "keys" }, there.map(([name, figure, more, worked, value]) =>
    html("div", {}, html("dt", {}, name), html("dd", {}, worked ? derived(figure, worked, value, parts(figure)) : parts(figure)),
      more && html("small", {}, more)))) : null;
}

// --- Money ------------------------------------------------------------------------------

/** What a source says, its repository or address as a link. */
function cited(cite) {
  const found = cite.match(/https?:\/\/[^\s;,)]+|^[\w.-]+\/[\w.-]+@[0-9a-f]{7,40}(, [\w./-]+\/[\w.-]+\.\w+)?/);
  if (!found) return [cite];
  const [repository, file] = found[0].split(", "), [name, commit] = repository.split("@");
  const at = found[0].startsWith("http") ? found[0] :
    `https://github.com/${name}/${file ? "blob" : "tree"}/${commit}${file ? `/${file}` : ""}`;
  return [cite.slice(0, found.index), html("a", { href: at, rel: "noreferrer" }, found[0]), cite.slice(found.index + found[0]
    .length)];
}
/** The source of a price, as the plan's facts carry it. */
function sourceOf(line, facts) {
  const entry = facts?.entries?.[`${line.kind}s/${line.id}`]?.table,
    price = line.used ? entry?.price_used : entry?.price;
  return entry?.sources?.[price?.source]?.cite;
}
const DOUBTED = { "from-memory": "from memory", assumed: "assumed", derived: "derived", given: "given" };

function priceFrom(line, day) {
  const said = [line.price_date, DOUBTED[line.price_status], line.used && "used", line.owned && "owned"].filter(Boolean).join(" · ") || UNKNOWN;
  const { unit_price_low_usd: low, unit_price_high_usd: high } = line;
  const seen = [known(low) && `from ${money(low)}`, known(high) && `up to ${money(high)}`].filter(Boolean);
  return [
    isWeak(line, day) ? html("span", { class: "warn" }, `! ${said}`) : said,
    seen.length > 0 && html("small", {}, `seen ${seen.join(" ")}`),
  ];
}

const list = (said) => html("ul", { class: "said" }, said.map((each) => html("li", {}, each)));
const strong = (said) => html("b", {}, said);
function bill(plan) {
  const lines = plan.bill_of_materials.filter((each) => each.quantity), day = dayOf(plan);
  if (!lines.length) return null;
  const paid = (each) => (each.kind === "instance" ? [hourly(each.unit_usd_per_hour), hourly(each.usd_per_hour)]
    : [money(each.unit_price_usd), money(each.price_usd)]);
  const rows = lines.map((each) => ({
    cells: [[each.name, html("small", {}, each.kind.replaceAll("_", " "))], count(each.quantity), ...paid(each), priceFrom(each, day)],
  }));
  const owned = lines.some((each) => each.kind !== "instance");
  const sources = lines.map((each) => [each.name, sourceOf(each, plan.facts)]).filter(([, cite]) => cite)
    .map(([name, cite]) => [strong(`${name}: `), cited(cite)]);
  const columns = [["Part"], ["Qty", NUMBER], ["Each", NUMBER], ["Total", NUMBER], ["Price from"]];
  return card("What to buy", null,
    table(columns, rows, { total: owned ? ["Purchase", "", "", money(plan.price_usd), ""] : null }),
    sources.length > 0 && html("details", {}, html("summary", {}, "Where the prices are from"), list(sources)));
}

/** Parts of what an hour costs: their names, their series, what they follow from, and the formula of each. */
const COST = {
  purchase: ["Purchase, written off", 1, (rates) => `over ${rates.years} years`, "_written_off"],
  electricity: ["Electricity", 2, (rates, racks) => `${perMillion(rates.electricity_usd_per_kwh)}/kWh at PUE ${racks ? rates.pue : 1}`, "_electricity"],
  financing: ["Interest", 5, (rates) => `${percent(rates.wacc, 1)} a year`, "_financing"],
  colocation: ["Colocation", 8, (rates) => `$${count(rates.colocation_usd_per_kw_month)} per kW and month`, "_colocation"],
  support: ["Support", 6, (rates) => `${percent(rates.support_per_year, 1)} of the price a year`, "_support"],
  staff: ["Staff", 7, (rates) => `$${count(rates.staff_usd_per_rack_year)} per rack and year`, "_staff"],
  rack_space: ["Rack space", 3, (rates) => `$${count(rates.rack_usd_per_month)} per rack and month`, "_rack_space"],
  rent: ["Rent", 4, () => null, "rent_usd_per_hour"],
};
function costs(plan) {
  const parts = (plan.cost.parts ?? []).filter((each) => each.usd_per_hour > 0), rates = plan.facts?.rates ?? {};
  if (!parts.length) return null;
  const shown = parts.map(({ name, usd_per_hour: usd }) => {
    const [said, place, why, worked] = COST[name];
    return { name: said, place, figure: usd, said: hourly(usd), worked, more: why(rates, plan.totals.rack_units) };
  });
  const left = plan.cost.left_out ?? [], out = left.length ? [{ name: `Left out: ${left.join(", ")}`, said: "not priced", quiet: true }] : [];
  const whole = hourly(plan.tco_usd_per_hour);
  return card("What it costs to run", `${whole}, ${percent(rates.duty ?? 1, 0)} of the hours busy.`,
    stacked(`Parts of ${whole}`, shown),
    legend([...shown.map((each) => ({ ...each, said: derived(each.said, each.worked, each.figure) })), ...out]));
}

const MOVED = {
  years: ["Written off over", (value) => `${rate(value)} y`],
  duty: ["Busy hours", (value) => percent(value, 0)],
  electricity_usd_per_kwh: ["Electricity", (value) => `${perMillion(value)}/kWh`],
  accelerator_price: ["Accelerator price", null],
  other_prices: ["Other prices", null],
  speed: ["Speed, 80 %", null]
};

const change = (share) => `${share > 1 ? "+" : "−"}${percent(Math.abs(share - 1), 0)}`;
function moves(plan) {
  const now = plan.usd_per_million_tokens;
  const rows = (plan.cost.moves ?? []).map((each) => {
    const [name, say] = MOVED[each.name] ?? [each.name, rate], told = say ?? change;
    const [at_low, at_high] = [each.at_low_usd_per_million_tokens, each.at_high_usd_per_million_tokens];
    return { name, at_low, at_high, low_said: told(each.low), high_said: told(each.high) };
  });
  if (!rows.length || !known(now)) return null;
  return card("What moves the cost", `$ per million tokens, from ${perMillion(now)}, if one assumption is off.`,
    tornado("Cost of a million tokens at both ends of each assumption", rows, now, perMillion));
}

// --- What else there was, and how sure it is -----------------------------------------------

/** A table whose columns sort: `{title, of, say, how, sorts}`, where `say(of(row), row)` is shown. */
function sortable(columns, rows) {
  let by = null, up = 1;
  const title = (column) => (column.sorts ? html("button", { type: "button", onclick: () => sort(column) }, column.title) : column.title);
  const heads = columns.map((column) => html("th", { class: column.how, scope: "col" }, title(column))), body = html("tbody");
  const cell = (row) => ({ of, say, how }, at) => html(at ? "td" : "th", { class: how, scope: at ? null : "row" }, say(of(row), row));
  const show = (order) => body.replaceChildren(...order.map((row) => html("tr", { class: row.chosen && "chosen" }, columns.map(cell(row)))));
  const sort = (column) => {
    up = by === column ? -up : 1;
    by = column;
    const figure = (row) => column.of(row) ?? Infinity;
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[columns.indexOf(column)].setAttribute("aria-sort", up > 0 ? "ascending" : "descending");
    show([...rows].sort((a, b) => (figure(a) - figure(b)) * up));
  };
  show(rows);
  return html("div", { class: "scroll" }, html("table", {}, html("thead", {}, html("tr", {}, heads)), body));
}

/** A column of figures that sorts. */
const figures = (title, of, say) => ({ title, of, say, how: NUMBER, sorts: true });
const itself = (each) => each;
function option({ candidate, hardware, ...each }) {
  const hosts = hardware?.hosts > 1 ? `, ${several(hardware.hosts, "host")}` : "";
  const name = `${each.chosen ? "▸ " : ""}${hardwareOf(each.bill_of_materials) || times(each.summary)}`;
  return [name, candidate && html("small", {}, layoutOf(candidate) + hosts)];
}
function alternatives(plan, { note, chosen, more }) {
  if (!plan.alternatives?.length) return null;
  const [{ candidate, hardware }] = plan.deployments, day = dayOf(plan);
  const rows = [{ ...chosen, price_usd: plan.price_usd, bill_of_materials: plan.bill_of_materials, candidate, hardware, chosen: true }, ...plan.alternatives];
  const columns = [
    { title: "Option", of: itself, say: option },
    figures("Purchase", (each) => each.price_usd, (usd, each) => money(usd || null, isRough(each.bill_of_materials, day))),
    ...more,
    { title: "Why not", of: itself, say: (each) => (each.chosen ? strong("chosen") : each.why_not || UNKNOWN) },
  ];
  const known_ = columns.filter(({ of, sorts }) => !sorts || rows.some((row) => known(of(row))));
  return flowing(card("Alternatives", note, sortable(known_, rows)));
}

/** The plan and its alternatives in the same scenarios: how often each is best, what it comes to. */
function scenarios({ scenarios: told, worth_measuring: measured = [] }) {
  if (!told) return null;
  const columns = [["Option"], ...["Best", "Holds", "P50", "P80", "P95", "CVaR95", "Regret P95"].map((title) => [title, NUMBER])];
  const rows = told.regret.map((each) => ({ cells: [each.summary, percent(each.p_best, 0), percent(each.p_holds, 0),
    ...[each.price_usd_p50, each.price_usd_p80, each.price_usd_p95, each.cvar95_usd, each.regret_usd_p95].map((usd) => money(usd))] }));
  const note = `${count(told.drawn)} scenarios. Spreads are assumed: demand ${percent(told.demand_spread, 0)}, memory and wafers `
    + `${percent(told.common_price_spread, 0)}, each part's own price ${percent(told.own_price_spread, 0)}; speeds err as on file. `
    + `What is missing is bought later at ${told.later_price_ratio} times its price. None of them holds in ${percent(told.p_none_holds, 0)}.`
    + measured.map((each) => ` Worth measuring: 20 minutes of ${each.configuration}${known(each.rent_usd) ? `, rented for ${money(each.rent_usd)}` : ""}; `
      + `it changes the choice in ${percent(each.changes_choice, 0)} and saves ${money(each.saves_usd)} in the mean.`).join("");
  return card("Scenarios", note, table(columns, rows));
}

function sure(plan) {
  const [shape, , grade] = GRADES[plan.evidence?.grade] ?? [];
  const kinds = (plan.evidence?.kinds ?? []).map((each) => [strong(`${each.accelerator}: `), `${each.grade}; errors as of ${each.of}, `
    + `${count(each.rows)} rows; steps take ${rate(each.low)} to ${rate(each.high)} of the predicted in 80 % of them`]);
  const prices = [[0.5, plan.price_usd_at_confidence_50], [0.95, plan.price_usd_at_confidence_95]].filter(([, usd]) => known(usd))
    .map(([at, usd]) => `${money(usd, roughOf(plan))} is held at ${percent(at, 0)}`);
  const said = [
    shape && strong(`Grade: ${shape} ${grade}.`),
    plan.accuracy && marked(plan.accuracy.statement),
    ...kinds,
    prices.length > 0 && [strong("Price by confidence: "), `${prices.join("; ")}.`],
    ...plan.sensitivity.map((each) => [strong([html("code", {}, each.change), ": "]), times(each.result)]),
  ].filter(Boolean);
  return said.length ? card("How sure this is", null, list(said)) : null;
}

const NAMES_SHOWN = 6;
function rests(plan) {
  const names = (each) => `${each.names.slice(0, NAMES_SHOWN).join(", ")}${each.count > NAMES_SHOWN ? " …" : ""}`;
  const small = (said) => said && html("small", {}, marked(said));
  const lost = ({ loss }) => known(loss) ? (loss ? `lost ${percent(loss)} at worst` : "lost nothing where it was tried") : "not measured";
  const space = plan.search.space;
  const said = [
    ...(space ? [[strong("Space searched: "), space.text, small(space.restrictions.map((each) => `not ${each.what} (${lost(each)})`).join(", "))]] : []),
    ...plan.assumed.map((each) => [strong(`Assumed ${each.name}: `), each.value, small(each.why)]),
    ...plan.not_considered.map((each) => [strong(`${each.why} (${several(each.count, each.what.replace(/s$/, ""))}): `), names(each), small(each.help)]),
    ...plan.warnings.filter((each) => each.code !== "W001")
      .map((each) => [html("b", { class: "warn" }, `${each.code} `), marked(each.message), small(each.help)]),
  ];
  return said.length ? card("Assumed, and not considered", null, list(said)) : null;
}

function provenance({ provenance: from, search, assumptions }) {
  const done = [
    `${count(search.candidates_covered)} candidates${known(search.seconds) ? ` in ${rate(search.seconds)} s` : ""}`,
    search.simulations > 0 && `${count(search.simulations)} simulations`,
  ];
  const made = from ? [`planopt ${from.planopt}`, from.date, `assumptions ${assumptions ?? UNKNOWN} ${from.assumptions_digest ?? ""}`, `catalog ${from.catalog_digest}`] : [];
  return html("footer", {}, from && [html("code", {}, from.command), html("br")], [...made, ...done].filter(Boolean).join(" · "));
}

// --- The machines -----------------------------------------------------------------------

const MEMORY = { weights_bytes: ["Weights", 1], kv_cache_bytes: ["KV cache", 3], gradients_bytes: ["Gradients", 4],
  optimizer_bytes: ["Optimizer", 5], activations_bytes: ["Activations", 3], overhead_bytes: ["Runtime", 8] };

function memory(plan, more) {
  const [first] = plan.deployments, held = first?.evaluation.memory;
  if (!held) return null;
  const { total_bytes: total, capacity_bytes: capacity } = held, say = alike([total], GB, "GB");
  const places = plan.kind === "serving" ? { ...MEMORY, activations_bytes: ["Activations", 4] } : MEMORY;
  const parts = Object.entries(places).filter(([name]) => held[name] > 0)
    .map(([name, [said, place]]) => ({ name: said, place, figure: held[name], said: derived(say(held[name]), plan.kind === "serving" ? name : "memory_of", held[name]) }));
  const mark = { at: capacity, said: `${say(capacity)} usable` }, rest = more.map(([name, said]) => ({ name, said, quiet: true }));
  return card("Memory of each accelerator", `The fullest: ${say(total)} of ${say(capacity)} usable.`,
    stacked(`${say(total)} of ${say(capacity)} are used`, parts, { end: Math.max(capacity, total), mark }),
    legend([...parts, { name: "Free", said: say(capacity - total) }, ...rest]));
}

const HOUSES = ["host", "machine", "instance"];
/** What a deployment is spread over, in words. */
function spreadOf({ candidate, hardware, replicas, units = 1, evaluation }, what) {
  const spare = evaluation.failures?.spare_hosts, switches = hardware.switch_count === 1 ? "1 switch" : `${count(hardware.switch_count)} switches`;
  return [
    `${layoutOf(candidate)}: ${several(replicas, what)} on ${several(hardware.hosts * units, "host")}${spare ? ` and ${spare} spare` : ""}.`,
    candidate.pp > 1 && "Colour and number are the stage of a host's first accelerator; ranks are drawn in turn.",
    hardware.network && `Between hosts: ${hardware.network}, ${hardware.nics_per_host} a host${hardware.switch_count ? `, ${switches}` : ""}.`,
    hardware.link && `Inside: ${hardware.link}.`,
  ].filter(Boolean).join(" ");
}
function stands(plan, what = "replica") {
  const drawn = plan.deployments.filter((each) => each.hardware.hosts).map((each) => {
    const lines = each.bill_of_materials, card_ = lines.find((line) => line.kind === "accelerator")?.name ?? each.candidate.accelerator;
    const units = plan.facts?.entries?.[`hosts/${each.hardware.host}`]?.table.rack_units?.value;
    return clusterDrawing(each, {
      spare: each.evaluation.failures?.spare_hosts ?? 0,
      rackHosts: units > 0 ? Math.max(1, Math.floor(RACK / units)) : 0,
      sentence: spreadOf(each, what),
      host: lines.find((line) => HOUSES.includes(line.kind))?.name ?? "Host",
      card: card_,
    });
  });
  const said = plan.deployments.map((each) => spreadOf(each, what));
  if (drawn.length < 2) return drawn.length ? card("How it stands", said[0], drawn) : null;
  return card("How it stands", null, drawn.map((each, at) => [html("h3", {}, said[at]), each]));
}

const PURCHASE = { of: (each) => each.price_usd, log: true, title: "purchase", say: (usd) => `$${prefixed(usd)}`, told: money };
/** The points that no other beats in both, from left to right. */
const unbeaten = (points) => points.filter((one) => !points.some((other) => other.x >= one.x && other.y >= one.y && other.x + other.y > one.x + one.y))
  .sort((one, other) => one.x - other.x);

/** What each option does, `across.of(option)`, against its purchase or `upwards.of(option)`; the plan stands out. */
function scatter(plan, title, note, across, { marks = [], upwards = PURCHASE } = {}) {
  const others = plan.alternatives.map((each) => ({ x: across.of(each), y: upwards.of(each), place: 8,
    name: hardwareOf(each.bill_of_materials) || times(each.summary) }));
  const own = { x: across.of(plan), y: upwards.of(plan), name: `this plan, ${money(plan.price_usd, roughOf(plan))}`, place: 1, strong: true };
  const rows = [...others, ...marks, own].filter((each) => known(each.x) && known(each.y) && each.y > 0);
  if (rows.length < 3) return null;
  const ends = (all, margin) => ({ from: Math.min(...all) / margin, to: Math.max(...all) * margin });
  const right = { ...ends([...rows.map((each) => each.x), across.asked].filter(known), 1.06), title: across.title, say: (at) => grouped(at, at % 1 ? 1 : 0) };
  const up = { ...upwards, ...ends(rows.map((each) => each.y), 1.3) };
  const draw = (width) => {
    const height = Math.max(300, rows.length * 16 + 80), { x, y, parts } = axes(beside(width), height, right, up, 60);
    if (known(across.asked)) {
      const at = x(across.asked), late = at > width - 110;
      parts.push(line(at, 20, at, height - 42, { class: "mark" }),
        text(at + (late ? -5 : 5), 12, `${across.say(across.asked)} asked`, { class: "halo", "text-anchor": late ? "end" : "start" }));
    }
    if (upwards.front) parts.push(svg("path", { d: path(unbeaten(rows).map((each) => [x(each.x), y(each.y)])), fill: "none", stroke: "var(--ink3)",
      "stroke-dasharray": "4 3" }));
    return { height, parts: [...parts, ...named(rows, x, y, width, 40, height - 48)] };
  };
  const shown = rows.map((each) => [each.name, across.say(each.x), (upwards.told ?? up.say)(each.y)]);
  return card(title, note, figure(title, draw, ["Option", across.title, up.title], shown));
}
