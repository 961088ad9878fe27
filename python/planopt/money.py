"""Money over time: what a question puts in place of its assumptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planopt.options import OptionReader, TextOrNumber

__all__ = ["read_cost"]

SHORTEST_YEARS = 0.01
"""Less than four days: nobody writes hardware off over less."""
LONGEST_YEARS = 100.0
"""Nobody writes hardware off over more."""
LEAST_DUTY = 1e-4
"""Less than an hour of a year."""
LEAST_PUE = 1.0
"""A hall draws what its hardware does, and more."""
WORST_PUE = 10.0
"""Ten times the power of the hardware itself: no hall is as bad as that."""
DIRTIEST_KWH = 10.0
"""Kilograms of carbon dioxide: several times what burning lignite gives."""
DEAREST_KWH = 1e3
"""Dollars of a kWh: beyond anything that there is."""


def read_cost(
    reader: OptionReader,
    *,
    years: TextOrNumber | None = None,
    duty: TextOrNumber | None = None,
    electricity: TextOrNumber | None = None,
    pue: TextOrNumber | None = None,
    carbon: TextOrNumber | None = None,
) -> dict[str, float]:
    """Read what is counted otherwise than the assumptions do, by their names."""
    read = {
        "years": reader.quantity(
            "years", years, "number", least=SHORTEST_YEARS, most=LONGEST_YEARS
        ),
        "duty": reader.quantity("duty", duty, "share", least=LEAST_DUTY, most=1.0),
        "electricity_usd_per_kwh": reader.quantity(
            "electricity", electricity, "usd_per_kwh", most=DEAREST_KWH
        ),
        "pue": reader.quantity("pue", pue, "number", least=LEAST_PUE, most=WORST_PUE),
        "carbon_kg_per_kwh": reader.quantity(
            "carbon", carbon, "number", most=DIRTIEST_KWH
        ),
    }
    return {name: value for name, value in read.items() if value is not None}


HOURS_PER_YEAR = 8760


def price_of_an_hourly_dollar(cost: Mapping[str, float]) -> float | None:
    """Purchase that a dollar per hour writes off; none where nothing is lost."""
    lost = 1 - cost["residual"]
    return cost["years"] * HOURS_PER_YEAR / lost if lost > 0 else None
