"""What selling the tokens of a fleet leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.documents.parts import Sell
from planopt.fleets.question import WEEKDAYS, WEEKEND_DAYS
from planopt.units import (
    HOURS_PER_DAY,
    HOURS_PER_YEAR,
    SECONDS_PER_HOUR,
    TOKENS_PER_MILLION,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planopt.catalog.entries import CostAssumptions
    from planopt.documents.fleet import Acquisition
    from planopt.documents.fleet_request import FleetRequest, Workload


def sold(
    cost: CostAssumptions,
    request: FleetRequest,
    acquisitions: Iterable[Acquisition],
    total_usd: float,
) -> Sell:
    """Return what the tokens of all periods come to, in the mean of their hours."""
    hours, life = request.periods * request.period_hours, cost.years * HOURS_PER_YEAR
    price, gone = 0.0, 0.0
    for each in acquisitions:
        price += each.price_usd
        lost = each.unit_price_usd * (1 - cost.residual) / life
        for period, units in enumerate(each.units):
            held = (request.periods - period) * request.period_hours
            gone += units * lost * min(held, life)
    revenue = sum(_usd_per_hour(request, each) for each in request.workloads)
    spent, earned = total_usd / hours, revenue - (total_usd - gone) / hours
    return Sell(
        revenue_usd_per_hour=revenue,
        margin_usd_per_hour=revenue - spent,
        break_even_utilisation=spent / revenue if spent <= revenue > 0 else None,
        payback_days=price / earned / HOURS_PER_DAY if earned > 0 < price else None,
    )


def _usd_per_hour(request: FleetRequest, workload: Workload) -> float:
    """Return what a workload's tokens are sold for, in the mean of all hours."""
    of_prompts, of_answers = (request.sell.get(each, 0.0) for each in ("in", "out"))
    of_request = sum(
        size.share * (size.prompt * of_prompts + size.output * of_answers)
        for size in workload.sizes
    )
    grown = [(1 + workload.growth) ** period for period in range(request.periods)]
    peak = sum(each.requests_per_second for each in workload.demand)
    busy = 1.0
    if workload.curve is not None:
        curve = request.curve(workload.curve)
        week = (*curve.weekday * WEEKDAYS, *curve.weekend * WEEKEND_DAYS)
        busy = sum(week) / len(week) / max(week)
    requests = peak * sum(grown) / len(grown) * busy * SECONDS_PER_HOUR
    return requests * of_request / TOKENS_PER_MILLION
