"""A fleet's plan as the terminal shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.prices import is_rough
from planopt.report.numbers import count, money, rate, tonnes, watts
from planopt.report.parts import oldest, where_from
from planopt.report.style import PLAIN
from planopt.report.table import table, wrapped

if TYPE_CHECKING:
    from pathlib import Path

    from planopt.documents.fleet import FleetPlan
    from planopt.documents.parts import Candidate
    from planopt.report.style import Style

__all__ = ["render_fleet"]


CENT = 0.01


def render_fleet(
    plan: FleetPlan, *, style: Style = PLAIN, saved: Path | None = None
) -> str:
    """Lay a plan out.

    Parameters
    ----------
    plan : FleetPlan
        What is shown.
    style : Style
        How it is painted.
    saved : Path, optional
        Where it was written.
    """
    lines = _verdict(plan, style)
    if plan.status == "infeasible":
        lines += _why_not(plan, style)
    else:
        lines += [
            *_actions(plan, style),
            *_demands(plan, style),
            *_parts(plan, style),
            *_one_type(plan, style),
        ]
    for assumed in plan.assumed:
        lines += wrapped(f"assumed {assumed.name}: {assumed.value} ({assumed.why})")
    for warning in plan.warnings:
        lines += wrapped(style.warn(f"warning[{warning.code}]: {warning.message}"))
    if saved is not None:
        lines.append(style.faint(f"saved {saved}; `planopt verify {saved}` checks it"))
    return "\n".join(lines)


def _verdict(plan: FleetPlan, style: Style) -> list[str]:
    periods = plan.request.periods
    if plan.status == "infeasible":
        return [style.bad("No fleet meets this")]
    proven = plan.status == "optimal"
    rough = is_rough(plan.bill_of_materials)
    total = money(plan.total_usd, rough=rough)
    head = f"Fleet for {periods} periods: {total}{oldest(plan.oldest_price_date)}"
    how = "PROVEN CHEAPEST" if proven else "BEST FOUND"
    seconds = plan.search.seconds or 0.0
    if proven:
        bound = "no fleet of these parts costs less"
    elif plan.gap is None:
        bound = "how much less a fleet may cost is not known yet"
    else:
        least = money(plan.total_bound_usd, rough=rough)
        bound = f"no fleet costs less than {least}: {plan.gap:.1%} may be left to gain"
    return [
        f"{style.head(head)}  {style.good(how) if proven else style.warn(how)}",
        *wrapped(f"{bound}; {seconds:.1f} s"),
        *wrapped(
            f"owned: {money(plan.charge_usd, rough=rough)} of it, what is written off "
            f"in these periods of {money(plan.price_usd, rough=rough)} of purchases, "
            f"with electricity and hosting; rented: {money(plan.rent_usd)}; "
            f"{watts(plan.power_watts)} of hosts at the end"
            + (
                ""
                if not plan.kg_co2e
                else f"; {tonnes(plan.kg_co2e)} of their electricity"
            )
        ),
        "",
    ]


def _actions(plan: FleetPlan, style: Style) -> list[str]:
    rough = is_rough(plan.bill_of_materials)
    rows = [
        [
            str(period.period) if first else "",
            action,
            money(period.purchase_usd, rough=rough) if first else "",
            money(period.rent_usd) if first else "",
        ]
        for period in plan.periods
        for first, action in _marked(period.actions or ("nothing",))
    ]
    header = ["period", "what to do", "purchase", "rent"]
    return [*table(header, rows, "><>>", style=style), ""]


def _marked(actions: tuple[str, ...]) -> list[tuple[bool, str]]:
    return [(place == 0, action) for place, action in enumerate(actions)]


def _layout(candidate: Candidate) -> str:
    return candidate.layout if candidate.accelerators > 1 else "TP1"


def _demands(plan: FleetPlan, style: Style) -> list[str]:
    last = plan.request.periods - 1
    rows = []
    for stream in plan.streams:
        of_it = [each for each in plan.deployments if each.stream == stream.stream]
        of_runs = [each for each in plan.runs if each.stream == stream.stream]
        served = [
            f"{each.units[last]} {'rented ' if each.way == 'rent' else ''}"
            f"{each.candidate.accelerator} hosts of {each.replicas} x "
            f"{_layout(each.candidate)}"
            for each in of_it
            if each.units[last]
        ]
        served += [
            f"{each.evaluation.accelerators}x {each.candidate.accelerator}, "
            f"{each.days:.1f} days"
            for each in of_runs
        ]
        rows.append(
            [
                stream.stream,
                rate(stream.demand[0]),
                rate(stream.demand[last]),
                rate(stream.after_failures[last]),
                ", ".join(served) or "-",
            ]
        )
    header = ["demand", "first /s", "last /s", "kept /s", "at the last peak"]
    return [*table(header, rows, "<>>><", style=style), ""]


def _parts(plan: FleetPlan, style: Style) -> list[str]:
    rows = [
        [
            line.name,
            count(line.quantity),
            money(line.unit_price_usd),
            money(line.price_usd),
            where_from(line),
        ]
        for line in plan.bill_of_materials
    ]
    if not rows:
        return []
    header = ["bill of materials", "qty", "each", "total", "source"]
    return [*table(header, rows, "<>>><", style=style), ""]


def _one_type(plan: FleetPlan, style: Style) -> list[str]:
    if not plan.one_type:
        return []
    rough = is_rough(plan.bill_of_materials)
    rows = [
        [
            each.accelerator,
            money(each.total_usd, rough=rough),
            money(each.total_bound_usd, rough=rough),
            money(each.more_usd, rough=rough),
            each.why or "",
        ]
        for each in plan.one_type
    ]
    lines = table(
        ["one type only", "total", "at least", "more than this plan", ""],
        rows,
        "<>>><",
        style=style,
    )
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
            proven = f"at least {less} less than any"
            said += f", and {proven} of one type (proven)"
        lines += wrapped(f"{said}.")
    return [*lines, ""]


def _why_not(plan: FleetPlan, style: Style) -> list[str]:
    why = plan.infeasibility
    if why is None:
        return []
    lines = [style.head("  cannot hold together")] if why.binding else []
    for limit in why.binding:
        lines += wrapped(f"{limit.name}: {limit.value}", indent="    ")
    if why.note:
        lines += wrapped(why.note)
    if why.nearest:
        lines.append(style.head("  what would do, each solved"))
    for change in why.nearest:
        for name, value in change.options.items():
            text = f"{name} = {value}: {change.summary} ({change.note})"
            lines += wrapped(text, indent="    ")
    return lines
