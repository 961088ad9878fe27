"""What hardware costs from the day it is acquired to the end of the plan."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from planopt._native import energy_usd_per_hour, hosting_usd_per_hour

if TYPE_CHECKING:
    from planopt.catalog.entries import CostAssumptions
    from planopt.catalog.open import Catalog
    from planopt.documents.fleet_request import FleetRequest, Region
    from planopt.fleet.runs import Run
    from planopt.fleet.supply import Served


HOURS_PER_YEAR = 8760
MICRO_USD = 10**6
CENTS = 100
WATTS_PER_KILOWATT = 1000


def charge_cents(
    catalog: Catalog,
    request: FleetRequest,
    region: Region,
    unit: Served | Run,
    price_micro_usd: int,
    period: int,
) -> int:
    """Charge for a unit acquired at the beginning of a period, to the end.

    It is the share of its price that is written off by then, with electricity and
    hosting; rounded up to a cent.
    """
    hours = (request.periods - period) * request.period_hours
    assumptions = catalog.cost
    lost = price_micro_usd / MICRO_USD * written_off(assumptions, hours)
    running = running_usd_per_hour(
        assumptions, region, unit.power_watts, unit.rack_units
    )
    return math.ceil(round((lost + running * hours) * CENTS, 6))


def kg_co2e(
    catalog: Catalog,
    request: FleetRequest,
    region: Region,
    power_watts: float,
    period: int,
) -> float | None:
    """Carbon dioxide of a unit from the beginning of a period to the end."""
    assumptions = catalog.cost
    carbon = region.carbon_kg_per_kwh
    if carbon is None:
        carbon = assumptions.carbon_kg_per_kwh
    if carbon is None:
        return None
    hours = (request.periods - period) * request.period_hours
    kilowatts = power_watts / WATTS_PER_KILOWATT
    kwh = kilowatts * hours * assumptions.duty * assumptions.pue
    return kwh * carbon


def written_off(assumptions: CostAssumptions, hours: float) -> float:
    """Share of a price that is lost after some hours, evenly over its years."""
    share = min(1.0, hours / (assumptions.years * HOURS_PER_YEAR))
    return share * (1.0 - assumptions.residual)


def running_usd_per_hour(
    assumptions: CostAssumptions,
    region: Region,
    power_watts: float,
    rack_units: float,
) -> float:
    """Electricity and hosting of hosts whose accelerators are all at work."""
    price = region.electricity_usd_per_kwh
    energy = energy_usd_per_hour(
        power_watts,
        assumptions.duty,
        assumptions.pue,
        assumptions.electricity_usd_per_kwh if price is None else price,
    )
    return energy + hosting_usd_per_hour(
        rack_units, assumptions.rack_units, assumptions.rack_usd_per_month
    )
