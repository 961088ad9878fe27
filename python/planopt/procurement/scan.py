"""Purchases of one kind of unit: exact, without a solver.

They cross-check the solver (and give it a purchase to begin with), and they are the
builds that a plan shows beside its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt.procurement.problem import (
    MICRO_USD,
    Purchase,
    Totals,
    by_name,
    copies_enough,
    copies_possible,
    figure,
    rank,
    shortfalls,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from planopt.procurement.problem import Limits, Objective, Unit

__all__ = ["Alternative", "alternatives", "scan"]


@dataclass(frozen=True, slots=True)
class Alternative:
    """A build beside the chosen one: copies of one unit.

    Parameters
    ----------
    unit : Unit
        What is bought.
    count : int
        How many.
    totals : Totals
        What they add up to.
    why_not : tuple of str
        The limits it breaks, such as ``over budget by $800``; none if it breaks none.
    """

    unit: Unit
    count: int
    totals: Totals
    why_not: tuple[str, ...] = ()


def scan(
    units: Sequence[Unit], limits: Limits, objective: Objective
) -> Purchase | None:
    """Find the best purchase of one kind of unit."""
    best: tuple[tuple[Fraction, ...], Unit, int] | None = None
    possible = dict(
        zip((unit.index for unit in units), copies_possible(units, limits), strict=True)
    )
    for unit in sorted(units, key=by_name):
        count = copies_enough(unit, limits)
        if objective == "throughput":
            count = max(count, possible[unit.index] or 0)
        counts = {unit.index: count}
        if shortfalls([unit], counts, limits):
            continue
        key = rank(Totals.of([unit], counts), objective)
        if best is None or key < best[0]:
            best = key, unit, count
    if best is None:
        return None
    _, unit, count = best
    totals = Totals.of([unit], {unit.index: count})
    return Purchase(
        status="feasible",
        counts={unit.index: count},
        price_micro_usd=totals.price_micro_usd,
        objective_value=float(figure(totals, objective)),
    )


def alternatives(
    units: Sequence[Unit], limits: Limits, k: int, *, over_limits: bool = False
) -> list[Alternative]:
    """List the cheapest build of one kind of unit for each hardware signature."""
    builds: dict[tuple[object, ...], tuple[tuple[Fraction, ...], Alternative]] = {}
    for unit in sorted(units, key=by_name):
        count = copies_enough(unit, limits)
        counts = {unit.index: count}
        broken = shortfalls([unit], counts, limits)
        if broken and not over_limits:
            continue
        totals = Totals.of([unit], counts)
        why_not = tuple(_why_not(group, by, limits) for group, by in broken.items())
        build = Alternative(unit, count, totals, why_not)
        key, signature = rank(totals, "cheapest"), _whole_signature(unit, count)
        if signature not in builds or key < builds[signature][0]:
            builds[signature] = key, build
    return [
        build
        for _, build in sorted(
            builds.values(), key=lambda ranked: (ranked[0], by_name(ranked[1].unit))
        )[:k]
    ]


def _whole_signature(unit: Unit, count: int) -> tuple[object, ...]:
    """Hardware of the whole build: what is counted is multiplied."""
    accelerator, accelerators, host, hosts, *network = unit.signature
    return (
        accelerator,
        _times(accelerators, count),
        host,
        _times(hosts, count),
        *network,
    )


def _times(quantity: str | int | None, count: int) -> object:
    return quantity * count if isinstance(quantity, int) else quantity


def _why_not(group: str, by: Fraction, limits: Limits) -> str:
    """Say which limit is broken and by how much."""
    if group == "budget":
        dollars = float(by / MICRO_USD)
        if limits.hourly:
            return f"over budget by ${dollars:,.3g}/h"
        return f"over budget by ${dollars:,.{0 if dollars >= 1 else 2}f}"
    if group == "purchase":
        return f"over the purchase money by ${float(by / MICRO_USD):,.0f}"
    if group == "power":
        return f"over the power limit by {float(by):,.6g} W"
    if group == "racks":
        return f"over the rack limit by {float(by):,.6g} U"
    if group == "accelerators":
        most = limits.accelerators or 0
        return f"needs {int(by) + most} accelerators where the limit is {most}"
    name = group.removeprefix("stock:")
    stock = limits.stock[name]
    return f"needs {int(by) + stock} {name} where the stock is {stock}"
