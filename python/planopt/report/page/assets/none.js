// The answer that there is no plan: what is in the way, and what would change it.
function conflict(plan) {
  const why = plan.infeasibility ?? { binding: [], nearest: [] },
    trains = plan.request.tokens != null;
  const limits = why.binding.map((each) => html("li", {}, html("b", { class: "bad" }, `${each.name} `), each.value, each.detail &&
    html("small", {}, each.detail)));
  const rows = why.nearest.map((each) => ({ cells: [typed(each.options), each.price_usd || !each.usd_per_hour ? money(each
      .price_usd, each.price_is_rough) : hourly(each.usd_per_hour), rate(trains ? each.days : each
      .tokens_per_second_per_user), [times(each.summary), each.note && html("small", {}, each.note)]] }));
  return [limits.length || why.note ? card("Limits in conflict", "Without any one of these there is a plan.", html(
    "ul", { class: "said" }, limits, why.note && html("li", {}, why.note))) : null,
    rows.length ? card("Change one thing", "Each was solved and checked.", table([
      ["Change"],
      ["Price", NUMBER],
      [trains ? "Days" : "tok/s each", NUMBER],
      ["With"]
    ], rows)) : null
  ];
}

function nonePage(plan) {
  const { request } = plan, what = request.model ? ` for ${request.model}` : "";
  return [verdict(plan, plan.why === "time" ? `Nothing found yet${what}` : `No plan${what} meets these limits`,
    `${count(plan.search.candidates_covered)} candidates were covered.`), pair(...conflict(plan), ["narrow", "wide"]), rests(
    plan)];
}
