"""What selling a fleet's tokens comes to (docs/reference/fleet.md, section 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from planopt_reference.cost import HOURS_PER_YEAR
from planopt_reference.mismatch import Mismatch, compared

if TYPE_CHECKING:
    from planopt_reference.assumptions import Cost

Document = Mapping[str, Any]

_SECONDS_PER_HOUR: Final = 3600
_HOURS_PER_DAY: Final = 24
_MILLION: Final = 1e6


def sold_mismatches(
    plan: Document, request: Document, cost: Cost
) -> Iterator[Mismatch]:
    """Compute again what selling comes to, over all periods, by their hours."""
    told, prices = plan.get("sell") or {}, request.get("sell") or {}
    expected: dict[str, float | None] = {}
    if prices:
        hours = request["periods"] * request["period_hours"]
        tokens = _tokens(request)
        paid = sum(tokens[key] * usd for key, usd in prices.items()) / _MILLION
        total = plan["total_usd"]
        kept = total - _written_off(plan, request, cost)
        days = hours * plan["price_usd"] / _HOURS_PER_DAY
        expected = {
            "revenue_usd_per_hour": paid / hours,
            "margin_usd_per_hour": (paid - total) / hours,
            "break_even_utilisation": total / paid if paid and total <= paid else None,
            "payback_days": days / (paid - kept) if days and paid > kept else None,
        }
    for name in sorted({*told, *expected}):
        yield from compared(
            f"sell.{name}", told.get(name), expected.get(name), "as tokens are sold"
        )


def _tokens(request: Document) -> dict[str, float]:
    """Count the tokens of all periods: of prompts, `in`, and of answers, `out`."""
    tokens = {"in": 0.0, "out": 0.0}
    curves = {each["name"]: each for each in request["curves"]}
    for workload in request["workloads"]:
        busy = 1.0
        if workload.get("curve") is not None:
            curve = curves[workload["curve"]]
            days = 5 * fmean(curve["weekday"]) + 2 * fmean(curve["weekend"])
            busy = days / 7 / max(*curve["weekday"], *curve["weekend"])
        for period in range(request["periods"]):
            grown = (1 + workload["growth"]) ** period
            seconds = busy * request["period_hours"] * _SECONDS_PER_HOUR
            for place in workload["demand"]:
                requests = place["requests_per_second"] * grown * seconds
                for size in workload["sizes"]:
                    tokens["in"] += requests * size["share"] * size["prompt"]
                    tokens["out"] += requests * size["share"] * size["output"]
    return tokens


def _written_off(plan: Document, request: Document, cost: Cost) -> float:
    """Add up what purchases lose of their prices by the end."""
    life = cost.years * HOURS_PER_YEAR
    lost = 0.0
    for table in plan["acquisitions"]:
        for period, units in enumerate(table["units"]):
            hours = (request["periods"] - period) * request["period_hours"]
            lost += units * table["unit_price_usd"] * min(1.0, hours / life)
    return lost * (1.0 - cost.residual)
