"""What hardware costs from the day it is acquired to the end of the plan."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec.structs import replace

from planopt._native import energy_kwh
from planopt.money import parts
from planopt.units import CENTS, HOURS_PER_YEAR, MICRO_USD

if TYPE_CHECKING:
    from planopt.catalog.entries import CostAssumptions
    from planopt.documents.fleet import Acquisition
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
    with interest, electricity, hosting and support; rounded up to a cent.
    """
    own = region.electricity_usd_per_kwh
    if own is not None:
        cost = replace(cost, electricity_usd_per_kwh=own)
    price = price_micro_usd / MICRO_USD
    lines = parts(cost, price, unit.power_watts, unit.rack_units)
    bound = lines["purchase"] + lines["financing"]
    running, life = sum(lines.values()) - bound, cost.years * HOURS_PER_YEAR
    charges = []
    for period in range(request.periods):
        hours = (request.periods - period) * request.period_hours
        usd = bound * min(hours, life) + running * hours
        charges.append(math.ceil(round(usd * CENTS, 6)))
    return tuple(charges)


def kg_co2e(
    cost: CostAssumptions,
    request: FleetRequest,
    region: Region,
    unit: Acquisition,
    period: int,
) -> float | None:
    """Carbon dioxide of a unit from the beginning of a period to the end."""
    carbon = region.carbon_kg_per_kwh
    if carbon is None:
        carbon = cost.carbon_kg_per_kwh
    if carbon is None:
        return None
    hours = (request.periods - period) * request.period_hours
    pue = cost.pue if unit.rack_units else 1.0
    return energy_kwh(unit.power_watts, hours, cost.duty, pue) * carbon
