// A fleet: what is bought and rented in each period, and what each demand has at last.
function quarters(plan) {
  const { periods, request } = plan;
  if (!periods.length) return null;
  const columns = periods.map((each) => ({ name: `${each.period}`, parts: [{ figure: each.purchase_usd, place: 1 }, { figure: each.rent_usd, place: 4 }] }));
  const say = alike([Math.max(...periods.map((each) => each.purchase_usd + each.rent_usd))], 1e6, "");
  const draw = (width) => columnsOf(width, 260, columns, { title: "paid in the period", say: (usd) => `$${say(usd).trim()}M` });
  const rows = periods.map((each) => [each.period, money(each.purchase_usd), money(each.rent_usd), watts(each.power_watts)]);
  return card("What is paid in each period", `Periods of ${count(request.period_hours)} hours.`,
    figure("Purchase and rent by period", draw, ["Period", "Purchase", "Rent", "Power"], rows), keys([["purchase", 1], ["rent", 4]]),
    sold(plan, "of the demand"));
}

/** A bar for each stream, on its own scale: all that it has, what is left, and a mark at what is asked. */
function streamBars(rows) {
  return (width) => {
    const label = Math.min(170, width * 0.4), end = width - 110, parts = [];
    rows.forEach((row, at) => {
      const y = at * 24 + 4, x = linear(0, Math.max(row.all, row.asked), label, end);
      parts.push(text(0, y + 12, fitted(row.name, label - 6)),
        rect(label, y, x(row.all) - label, 15, { fill: "var(--tint)" }),
        rect(label, y, x(row.kept) - label, 15, { fill: series(1), opacity: 0.55 }),
        line(x(row.asked), y - 3, x(row.asked), y + 18, { class: "mark" }),
        text(width, y + 12, `${rate(row.asked)} of ${rate(row.kept)}`, { "text-anchor": "end" }));
    });
    return { height: rows.length * 24 + 6, parts };
  };
}
function demand({ streams }) {
  if (!streams.length) return null;
  const rows = streams.map((each) => ({ name: each.stream, asked: each.demand.at(-1), kept: each.after_failures.at(-1), all: each.supply.at(-1) }));
  const told = rows.map((row) => [row.name, rate(row.asked), rate(row.kept), rate(row.all)]);
  return card("Demand and what is left after a failure, last period",
    "Requests per second at the peak, each on its own scale: mark, asked; colour, kept when the worst has failed; grey, in all.",
    figure("Demand and capacity of each stream", streamBars(rows), ["Stream", "Asked", "After the worst failure", "In all"], told));
}

function actions({ periods }) {
  const said = (each) => (each.actions.length ? each.actions.map((action) => html("div", {}, times(action))) : "nothing");
  const rows = periods.map((each) => ({ cells: [each.period, said(each), money(each.purchase_usd), money(each.rent_usd)] }));
  return flowing(card("What to do", null, table([["Period", NUMBER], ["Actions"], ["Purchase", NUMBER], ["Rent", NUMBER]], rows)));
}

function oneType(plan) {
  if (!plan.one_type.length) return null;
  const rough = roughOf(plan);
  const rows = plan.one_type.map((each) => ({ cells: [each.accelerator, money(each.total_usd, rough), money(each.more_usd, rough), each.why ?? each.status] }));
  return card("Of one type alone", "The best fleet of a single kind of accelerator.",
    table([["Accelerator"], ["Total", NUMBER], ["More", NUMBER], ["Why not"]], rows));
}

function fleetPage(plan) {
  const { regions, periods } = plan.request, demands = several(plan.streams.length, "demand");
  const paid = `bought ${money(plan.price_usd, roughOf(plan))}, rented ${money(plan.rent_usd)}`;
  const lead = `${demands} in ${several(regions.length, "region")} over ${several(periods, "period")}: ${paid}. `
    + "Each demand is kept when its worst failure domain is gone.";
  return [
    verdict(plan, `A fleet for ${demands}`, lead),
    pair(quarters(plan), oneType(plan)),
    demand(plan),
    bill(plan),
    actions(plan),
    pair(sure(plan), rests(plan), HALVES),
  ];
}
