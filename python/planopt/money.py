"""Money over time: what a question puts in place of its assumptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.options import Asked

__all__ = ["price_of_an_hourly_dollar", "read_cost"]

COUNTED = {
    "years": "years",
    "duty": "duty",
    "electricity": "electricity_usd_per_kwh",
    "pue": "pue",
    "carbon": "carbon_kg_per_kwh",
}
"""Assumptions by the option that goes before them."""


def read_cost(asked: Asked) -> dict[str, float]:
    """Read what is counted otherwise than the assumptions do, by their names."""
    read = {name: asked.quantity(option) for option, name in COUNTED.items()}
    return {name: value for name, value in read.items() if value is not None}


HOURS_PER_YEAR = 8760


def price_of_an_hourly_dollar(cost: Mapping[str, float]) -> float | None:
    """Purchase that a dollar per hour writes off; none where nothing is lost."""
    lost = 1 - cost["residual"]
    return cost["years"] * HOURS_PER_YEAR / lost if lost > 0 else None
