"""A fleet's plan as the terminal shows it."""

from collections import Counter
from pathlib import Path

from planopt.documents.explanations import Infeasibility
from planopt.documents.fleet import FleetDeployment, FleetPlan
from planopt.price_sources import is_rough
from planopt.report.first import assumptions, kinds, last, sold
from planopt.report.money import money
from planopt.report.numbers import counted, rate, tonnes, watts
from planopt.report.parts import assumed, bill, searched, warnings
from planopt.report.screen import TALL, Ends, Parts, Screen, doubt, flagged
from planopt.report.style import UNKNOWN, bad, good, head, warn
from planopt.report.table import Block, Report, Section, Sentence, Table

CENT = 0.01


def render_fleet(
    plan: FleetPlan, *, saved: str | Path | None = None, details: bool = False
) -> Report:
    """Lay the first screen of a plan out, or all of it; say where it was saved."""
    every = _all(plan) if details else []
    if plan.status == "infeasible":
        return Report(*_why_not(plan), *_below(plan, saved), *every)
    above = [*_verdict(plan), "", _by_period(plan)]
    return Report(Screen(TALL, above, _demands(plan), _below(plan, saved)), *every)


def _verdict(plan: FleetPlan) -> list[Block]:
    proven, rough = plan.status == "optimal", is_rough(plan.bill_of_materials)
    sign, colour = ("✔", good) if proven else ("~", warn)
    of, regions = plan.request.periods, len(plan.request.regions)
    demands = counted(len(plan.streams), "demand")
    what = f"{sign} {demands} in {counted(regions, 'region')}, {counted(of, 'period')}"
    sums = plan.charge_usd, plan.price_usd, plan.total_usd, plan.total_bound_usd
    owned, bought, total, least = (money(usd, rough=rough, whole=True) for usd in sums)
    gap = "" if plan.gap is None else f", gap {plan.gap:.1%}"
    status = good("cheapest of these parts") if proven else warn(f"feasible{gap}")
    more = [] if proven or plan.gap is None else [f"nothing is below {least}"]
    paid = f"  owned {owned} ({bought} bought) · rented "
    return [
        Ends(what, total, flagged(sign, colour)),
        Ends(paid + money(plan.rent_usd, whole=True), status),
        *map(doubt, more),
    ]


def _by_period(plan: FleetPlan) -> Table:
    """Say of each period what is bought in all regions together, and what is paid."""
    rough = is_rough(plan.bill_of_materials)
    rows = []
    for place, period in enumerate(plan.periods):
        hosts: Counter[str] = Counter()
        for each in plan.acquisitions:
            own = "own " if each.way == "own" else ""
            kind = f"{own}{each.accelerators} {each.accelerator}"
            hosts[kind] += each.units[place]
        said = [f"{number} × {kind}" for kind, number in hosts.items() if number]
        paid = money(period.purchase_usd, rough=rough, whole=True)
        rent = money(period.rent_usd, whole=True)
        rows.append((str(period.period), ", ".join(said) or UNKNOWN, paid, rent))
    titles = (">PERIOD", "BUY, HOSTS OF ACCELERATORS", ">PURCHASE", ">RENT")
    return Table(titles, rows, wraps=False)


def _below(plan: FleetPlan, saved: str | Path | None) -> list[Block]:
    rough = is_rough(plan.bill_of_materials)
    alone = [
        f"{each.accelerator} {money(each.more_usd, rough=rough, whole=True)} more"
        if each.more_usd is not None
        else f"{each.accelerator} not possible"
        for each in plan.one_type
    ]
    dated = plan.oldest_price_date
    known = [
        (plan.power_watts, f"{watts(plan.power_watts)} of hosts"),
        (plan.kg_co2e, f"{tonnes(plan.kg_co2e)} of their electricity"),
        (dated, f"oldest price {dated}"),
    ]
    return [
        Parts("One type", alone),
        Parts("At last", [said for figure, said in known if figure]),
        *sold(plan.sell, of="of the demand"),
        *assumptions(plan.assumed, plan.warnings, plan.not_considered),
        last(f"  {kinds(plan)}{plan.search.seconds or 0.0:.1f} s", saved),
    ]


def _all(plan: FleetPlan) -> list[Block]:
    return [
        Section("What to do", _actions(plan)),
        Section("", bill(plan.bill_of_materials)),
        Section("", *_one_type(plan)),
        assumed(plan.assumed),
        searched(plan.search.space),
        warnings(plan.warnings),
    ]


def _actions(plan: FleetPlan) -> Table:
    rough = is_rough(plan.bill_of_materials)
    rows = []
    for period in plan.periods:
        first, *more = period.actions or ("nothing",)
        paid = money(period.purchase_usd, rough=rough)
        rows.append((str(period.period), first, paid, money(period.rent_usd)))
        rows += [("", action, "", "") for action in more]
    return Table((">period", "what to do", ">purchase", ">rent"), rows)


def _demands(plan: FleetPlan) -> Table:
    last = plan.request.periods - 1
    rows = []
    for stream in plan.streams:
        served = [
            _serving(each, last)
            for each in plan.deployments
            if each.stream == stream.stream and each.units[last]
        ]
        served += [
            f"{each.evaluation.accelerators}x {each.candidate.accelerator}, "
            f"{each.days:.1f} days"
            for each in plan.runs
            if each.stream == stream.stream
        ]
        figures = stream.demand[0], stream.demand[last], stream.after_failures[last]
        by = ", ".join(served) or UNKNOWN
        rows.append((stream.stream, *map(rate, figures), by))
    peaks = "+>FIRST PEAK", ">LAST PEAK", ">KEPT"
    titles = ("DEMAND, REQUESTS/S", *peaks, "SERVED BY AT LAST")
    return Table(titles, rows, wraps=False)


def _serving(each: FleetDeployment, period: int) -> str:
    """Say what serves a demand, and how it is laid out."""
    candidate, rented = each.candidate, "rented " if each.way == "rent" else ""
    layout = candidate.layout if candidate.accelerators > 1 else "TP1"
    hosts = f"{each.units[period]} × {rented}{candidate.accelerator}"
    return f"{hosts} {each.replicas}×{layout.replace(' x ', ' ')}"


def _one_type(plan: FleetPlan) -> list[Block]:
    if not plan.one_type:
        return []
    rough = is_rough(plan.bill_of_materials)
    rows = []
    for each in plan.one_type:
        sums = each.total_usd, each.total_bound_usd, each.more_usd
        told = (money(usd, rough=rough) for usd in sums)
        rows.append((each.accelerator, *told, each.why or ""))
    titles = ("one type only", ">total", ">at least", ">more than this plan", "")
    blocks: list[Block] = [Table(titles, rows)]
    best = plan.one_type[0]
    if best.total_usd is not None and plan.total_usd:
        saved = best.total_usd - plan.total_usd
        less = f"{money(saved, rough=rough)} ({saved / best.total_usd:.1%})"
        said = (
            f"The mixed fleet costs {less} less than the best fleet of one type that "
            f"was found ({best.accelerator})"
            if saved >= CENT
            else f"No mix that was found costs less than {best.accelerator} alone"
        )
        possible = [each for each in plan.one_type if each.status != "infeasible"]
        least = min((each.total_bound_usd or 0.0 for each in possible), default=0.0)
        if least > plan.total_usd:
            less = money(least - plan.total_usd, rough=rough)
            said += f", and at least {less} less than any of one type (proven)"
        blocks.append(Sentence(f"{said}."))
    return blocks


def _why_not(plan: FleetPlan) -> list[Block]:
    blocks: list[Block] = [
        Ends("✘ infeasible: no fleet meets this", mark=flagged("✘", bad))
    ]
    why = plan.infeasibility or Infeasibility()
    joint = [f"{each.name}: {each.value}" for each in why.binding]
    would = [
        f"{name} = {value}: {change.summary} ({change.note})"
        for change in why.nearest
        for name, value in change.options.items()
    ]
    blocks += [head("  cannot hold together")] if joint else []
    blocks += [Sentence(each, "    ") for each in joint]
    blocks += [Sentence(why.note)] if why.note else []
    blocks += [head("  what would do, each solved")] if why.nearest else []
    return [*blocks, *(Sentence(each, "    ") for each in would)]
