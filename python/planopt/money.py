"""Money over time: what a dollar per hour stands for, and what a token costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from planopt.units import HOURS_PER_YEAR, SECONDS_PER_HOUR, TOKENS_PER_MILLION

if TYPE_CHECKING:
    from planopt.catalog.entries import CostAssumptions
    from planopt.documents.parts import Cost


def price_of_an_hourly_dollar(cost: CostAssumptions) -> float | None:
    """Purchase that a dollar per hour writes off; none where nothing is lost."""
    lost = 1 - cost.residual
    return cost.years * HOURS_PER_YEAR / lost if lost > 0 else None


def at_load(cost: Cost, tokens_per_second: float | None, duty: float) -> Cost:
    """Cost of the tokens that come of a load, in the share of hours that are busy."""
    if not tokens_per_second or not cost.usd_per_hour:
        return cost
    per_hour = tokens_per_second * SECONDS_PER_HOUR * duty
    return replace(
        cost,
        usd_per_million_tokens=cost.usd_per_hour / (per_hour / TOKENS_PER_MILLION),
        tokens_per_usd=per_hour / cost.usd_per_hour,
    )
