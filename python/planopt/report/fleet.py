"""A fleet's plan as the terminal shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.price_sources import is_rough
from planopt.report.numbers import UNKNOWN, money, rate, tonnes, watts
from planopt.report.parts import bought, oldest
from planopt.report.style import bad, faint, good, head, warn
from planopt.report.table import Report, Sentence, Table

if TYPE_CHECKING:
    from pathlib import Path

    from planopt.documents.fleet import FleetDeployment, FleetPlan
    from planopt.report.table import Block

CENT = 0.01


def render_fleet(plan: FleetPlan, *, saved: Path | None = None) -> Report:
    """Lay a plan out, and say where it was saved."""
    blocks = _why_not(plan) if plan.status == "infeasible" else _fleet(plan)
    for assumed in plan.assumed:
        said = f"assumed {assumed.name}: {assumed.value} ({assumed.why})"
        blocks.append(Sentence(said))
    for warning in plan.warnings:
        blocks.append(Sentence(warn(f"warning[{warning.code}]: {warning.message}")))
    if saved is not None:
        blocks.append(faint(f"saved {saved}; `planopt verify {saved}` checks it"))
    return Report(*blocks)


def _fleet(plan: FleetPlan) -> list[Block]:
    return [
        *_verdict(plan),
        "",
        _actions(plan),
        "",
        _demands(plan),
        "",
        *_parts(plan),
        *_one_type(plan),
    ]


def _verdict(plan: FleetPlan) -> list[Block]:
    proven, rough = plan.status == "optimal", is_rough(plan.bill_of_materials)
    total = money(plan.total_usd, rough=rough)
    dated = oldest(plan.oldest_price_date)
    title = f"Fleet for {plan.request.periods} periods: {total}{dated}"
    if proven:
        bound = "no fleet of these parts costs less"
    elif plan.gap is None:
        bound = "how much less a fleet may cost is not known yet"
    else:
        least = money(plan.total_bound_usd, rough=rough)
        bound = f"no fleet costs less than {least}: {plan.gap:.1%} may be left to gain"
    emitted = f"; {tonnes(plan.kg_co2e)} of their electricity" if plan.kg_co2e else ""
    return [
        f"{head(title)}  {good('PROVEN CHEAPEST') if proven else warn('BEST FOUND')}",
        Sentence(f"{bound}; {plan.search.seconds or 0.0:.1f} s"),
        Sentence(
            f"owned: {money(plan.charge_usd, rough=rough)} of it, what is written off "
            f"in these periods of {money(plan.price_usd, rough=rough)} of purchases, "
            f"with electricity and hosting; rented: {money(plan.rent_usd)}; "
            f"{watts(plan.power_watts)} of hosts at the end{emitted}"
        ),
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
        rows.append(
            (
                stream.stream,
                rate(stream.demand[0]),
                rate(stream.demand[last]),
                rate(stream.after_failures[last]),
                ", ".join(served) or UNKNOWN,
            )
        )
    titles = ("demand", ">first /s", ">last /s", ">kept /s", "at the last peak")
    return Table(titles, rows)


def _serving(each: FleetDeployment, period: int) -> str:
    """Say what serves a demand, and how it is laid out."""
    candidate, rented = each.candidate, "rented " if each.way == "rent" else ""
    layout = candidate.layout if candidate.accelerators > 1 else "TP1"
    return (
        f"{each.units[period]} {rented}{candidate.accelerator} hosts of "
        f"{each.replicas} x {layout}"
    )


def _parts(plan: FleetPlan) -> list[Block]:
    rows = bought(plan.bill_of_materials)
    titles = ("bill of materials", ">qty", ">each", ">total", "source")
    return [Table(titles, rows), ""] if rows else []


def _one_type(plan: FleetPlan) -> list[Block]:
    if not plan.one_type:
        return []
    rough = is_rough(plan.bill_of_materials)
    rows = [
        (
            each.accelerator,
            money(each.total_usd, rough=rough),
            money(each.total_bound_usd, rough=rough),
            money(each.more_usd, rough=rough),
            each.why or "",
        )
        for each in plan.one_type
    ]
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
    return [*blocks, ""]


def _why_not(plan: FleetPlan) -> list[Block]:
    blocks: list[Block] = [bad("No fleet meets this")]
    why = plan.infeasibility
    if why is None:
        return blocks
    if why.binding:
        blocks.append(head("  cannot hold together"))
    blocks += [Sentence(f"{each.name}: {each.value}", "    ") for each in why.binding]
    if why.note:
        blocks.append(Sentence(why.note))
    if why.nearest:
        blocks.append(head("  what would do, each solved"))
    for change in why.nearest:
        for name, value in change.options.items():
            would = f"{name} = {value}: {change.summary} ({change.note})"
            blocks.append(Sentence(would, "    "))
    return blocks
