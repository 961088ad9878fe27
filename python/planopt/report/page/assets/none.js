// The answer that there is no plan: what is in the way, and what would change it.
function inConflict({ binding, note }) {
  if (!binding.length && !note) return null;
  const limits = binding.map((each) => [html("b", { class: "bad" }, `${each.name} `), times(each.value), each.detail && html("small", {}, each.detail)]);
  return card("Limits in conflict", "Without any one of these there is a plan.", list(note ? [...limits, note] : limits));
}
/** Takes a change up, where a page can ask again. */
let takeUp = null;
const offered = (options) => (takeUp ? html("button", { type: "button", onclick: () => takeUp(options) }, typed(options)) : typed(options));
function nearest({ nearest: changes }, trains) {
  if (!changes.length) return null;
  const paid = (each) => (each.price_usd || !each.usd_per_hour ? money(each.price_usd, each.price_is_rough) : hourly(each.usd_per_hour));
  const rows = changes.map((each) => ({ cells: [offered(each.options), paid(each), rate(trains ? each.days : each.tokens_per_second_per_user),
    [times(each.summary), each.note && html("small", {}, each.note)]] }));
  const columns = [["Change"], ["Price", NUMBER], [trains ? "Days" : "tok/s each", NUMBER], ["With"]];
  return card("Change one thing", "Each was solved and checked.", table(columns, rows));
}

function nonePage(plan) {
  const what = plan.request.model ? ` for ${plan.request.model}` : "", why = plan.infeasibility ?? { binding: [], nearest: [] };
  const title = plan.why === "time" ? `Nothing found yet${what}` : `No plan${what} meets these limits`;
  return [
    verdict(plan, title, `${count(plan.search.candidates_covered)} candidates were covered.`),
    pair(inConflict(why), nearest(why, plan.request.tokens != null), ["narrow", "wide"]),
    rests(plan),
  ];
}
