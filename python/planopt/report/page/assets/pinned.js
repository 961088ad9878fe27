// Two answers side by side: the one that is pinned, and the one of now.
const speedOf = (plan) => plan.speed ?? promised(plan).find((each) => each.unit === "tok/s" && each.least && each.percentile !== undefined)?.predicted ??
  plan.deployments[0]?.evaluation.decode?.tokens_per_second_per_user;
const difference = (now, then, say, lessIsBetter) => {
  if (!known(now) || !known(then)) return UNKNOWN;
  const moved = now - then;
  if (Math.abs(moved) <= 1e-9 * Math.abs(then)) return "the same";
  const better = moved < 0 === lessIsBetter;
  return html("span", { class: better ? "good" : "warn" }, `${moved < 0 ? "−" : "+"}${say(Math.abs(moved))}`, html("small", {}, better ? "better" : "worse"));
};
const WHAT_DIFFERS = [
  ["Price", (plan) => plan.price_usd, money, true],
  ["Speed of each user", speedOf, (value) => `${rate(value)} tok/s`, false],
  ["Total cost", (plan) => plan.tco_usd_per_hour, hourly, true],
  ["Million tokens", (plan) => plan.usd_per_million_tokens, perMillion, true],
  ["Throughput", (plan) => plan.totals?.tokens_per_second, (value) => `${rate(value)} tok/s`, false],
  ["Power", (plan) => plan.power_watts, watts, true],
  ["All promises hold", (plan) => plan.probability, (share) => percent(share, 0), false],
];
/** What a plan is, or that there is none. */
const planInShort = (plan) => (plan.status === "infeasible" ? "no plan" : plan.short ?? `${hardwareOf(plan.bill_of_materials)}, ${layoutOf(plan.deployments[0].candidate)}`);

function sideBySide(one, other, onUnpin) {
  const [pinned, now] = [one, other].map((each) => ({ ...each, plan: comparable(each.plan) }));
  const rows = WHAT_DIFFERS.map(([name, of, say, lessIsBetter]) => {
    const [a, b] = [pinned.plan, now.plan].map((plan) => (plan.status === "infeasible" ? undefined : of(plan)));
    const cells = [name, told(say)(a, roughOf(pinned.plan)), told(say)(b, roughOf(now.plan)), difference(b, a, say, lessIsBetter)];
    return { cells, isThere: known(a) || known(b) };
  }).filter(({ isThere }) => isThere);
  const plans = { cells: ["Plan", planInShort(pinned.plan), planInShort(now.plan), ""] };
  const asked = { cells: ["Asked", html("code", {}, pinned.command), html("code", {}, now.command), ""] };
  const columns = [["Figure"], ["A, pinned"], ["B, now"], ["Difference", NUMBER]];
  const shown = card("A and B", "The pinned question beside this one.", table(columns, [plans, ...rows, asked], { name: "two" }),
    html("button", { type: "button", onclick: onUnpin }, "Unpin"));
  shown.id = "two";
  return shown;
}
