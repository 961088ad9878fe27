// A fleet: what is bought and rented in each period, and what each demand has at last.
function quarters(plan) {
  const columns = plan.periods.map((each) => ({ name: `${each.period}`, parts: [{ figure: each.purchase_usd, place: 1 },
      { figure: each.rent_usd, place: 4 }] })),
    hours = plan.request.period_hours;
  const say = alike([Math.max(...plan.periods.map((each) => each.purchase_usd + each.rent_usd))], 1e6, "M"),
    usd = (figure) => `$${say(figure)}`.replace(" M", "M");
  return plan.periods.length ? card("What is paid in each period", `Periods of ${count(hours)} hours.`, figure(
    "Purchase and rent by period", (width) => columnsOf(width, 260, columns, { title: "paid in the period", say: usd }), [
      "Period", "Purchase", "Rent", "Power"
    ],
    plan.periods.map((each) => [each.period, money(each.purchase_usd), money(each.rent_usd), watts(each.power_watts)])), keys([
    ["purchase", 1],
    ["rent", 4]
  ])) : null;
}

function demand(plan) {
  const rows = plan.streams.map((each) => { const last = each.demand.length - 1; return { name: each.stream, asked: each.demand[
        last], kept: each.after_failures[last], all: each.supply[last] }; });
  const draw = (width) => {
    const label = Math.min(170, width * 0.4),
      parts = [];
    rows.forEach((row, at) => {
      const y = at * 24 + 4,
        x = linear(0, Math.max(row.all, row.asked), label, width - 110);
      parts.push(text(0, y + 12, fitted(row.name, label - 6)), rect(label, y, x(row.all) - label,
      15, { fill: "var(--tint)" }), rect(label, y, x(row.kept) - label, 15, { fill: series(1), opacity: 0.55 }),
        line(x(row.asked), y - 3, x(row.asked), y + 18, { class: "mark" }), text(width, y + 12,
          `${rate(row.asked)} of ${rate(row.kept)}`, { "text-anchor": "end" }));
    });
    return { height: rows.length * 24 + 6, parts };
  };
  return rows.length ? card("Demand and what is left after a failure, last period",
    "Requests per second at the peak, each on its own scale: mark, asked; colour, kept when the worst has failed; grey, in all.",
    figure("Demand and capacity of each stream", draw, ["Stream", "Asked", "After the worst failure", "In all"], rows.map((
      row) => [row.name, rate(row.asked), rate(row.kept), rate(row.all)]))) : null;
}

function actions(plan) {
  return flowing(card("What to do", null, table([
      ["Period", NUMBER],
      ["Actions"],
      ["Purchase", NUMBER],
      ["Rent", NUMBER]
    ],
    plan.periods.map((each) => ({ cells: [each.period, each.actions.length ? each.actions.map((action) => html("div", {},
        action)) : "nothing", money(each.purchase_usd), money(each.rent_usd)] })))));
}

function oneType(plan) {
  return plan.one_type.length ? card("Of one type alone", "The best fleet of a single kind of accelerator.", table([
      ["Accelerator"],
      ["Total", NUMBER],
      ["More", NUMBER],
      ["Why not"]
    ],
    plan.one_type.map((each) => ({ cells: [each.accelerator, money(each.total_usd, true), money(each.more_usd, true), each
        .why ?? each.status
      ] })))) : null;
}

function fleetPage(plan) {
  const regions = plan.request.regions.length,
    lead =
    `${several(plan.streams.length, "demand")} in ${several(regions, "region")} over ${several(plan.request.periods, "period")}: bought ${money(plan.price_usd, true)}, rented ${money(plan.rent_usd, true)}. Each demand is kept when its worst failure domain is gone.`;
  return [verdict(plan, `A fleet for ${several(plan.streams.length, "demand")}`, lead), pair(quarters(plan), oneType(plan)), demand(
    plan), bill(plan), actions(plan), pair(sure(plan), rests(plan), HALVES)];
}
