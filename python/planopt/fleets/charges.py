"""What hardware costs from the day it is acquired to the end of the plan."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from planopt._native import energy_kwh, energy_usd_per_hour, hosting_usd_per_hour
from planopt.units import CENTS, HOURS_PER_YEAR, MICRO_USD

if TYPE_CHECKING:
    from planopt.catalog.entries import CostAssumptions
    from planopt.documents.fleet_request import FleetRequest, Region
    from planopt.fleets.units import Unit


def charges_cents(
    cost: CostAssumptions,
    request: FleetRequest,
    region: Region,
    unit: Unit,
    price_micro_usd: int,
) -> tuple[int, ...]:
    """Charge for a unit acquired at the beginning of each period, to the end.

    It is the share of its price that is written off by then, evenly over its years,
    with electricity and hosting; rounded up to a cent.
    """
    price = region.electricity_usd_per_kwh
    energy = energy_usd_per_hour(
        unit.power_watts,
        cost.duty,
        cost.pue,
        cost.electricity_usd_per_kwh if price is None else price,
    )
    running = energy + hosting_usd_per_hour(
        unit.rack_units, cost.rack_units, cost.rack_usd_per_month
    )
    charges = []
    for period in range(request.periods):
        hours = (request.periods - period) * request.period_hours
        share = min(1.0, hours / (cost.years * HOURS_PER_YEAR))
        lost = price_micro_usd / MICRO_USD * (share * (1.0 - cost.residual))
        charges.append(math.ceil(round((lost + running * hours) * CENTS, 6)))
    return tuple(charges)


def kg_co2e(
    cost: CostAssumptions,
    request: FleetRequest,
    region: Region,
    power_watts: float,
    period: int,
) -> float | None:
    """Carbon dioxide of a unit from the beginning of a period to the end."""
    carbon = region.carbon_kg_per_kwh
    if carbon is None:
        carbon = cost.carbon_kg_per_kwh
    if carbon is None:
        return None
    hours = (request.periods - period) * request.period_hours
    return energy_kwh(power_watts, hours, cost.duty, cost.pue) * carbon
