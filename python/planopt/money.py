"""Money over time: what a dollar per hour stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.units import HOURS_PER_YEAR

if TYPE_CHECKING:
    from planopt.catalog.entries import CostAssumptions


def price_of_an_hourly_dollar(cost: CostAssumptions) -> float | None:
    """Purchase that a dollar per hour writes off; none where nothing is lost."""
    lost = 1 - cost.residual
    return cost.years * HOURS_PER_YEAR / lost if lost > 0 else None
