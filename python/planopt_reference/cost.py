"""Money over time (model.md, section 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from planopt_reference.units import MICRO_USD_PER_USD

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planopt_reference.assumptions import Cost
    from planopt_reference.rent import Rent

HOURS_PER_YEAR: Final = 8760
HOURS_PER_MONTH: Final = 730
WATTS_PER_KILOWATT: Final = 1000
SECONDS_PER_HOUR: Final = 3600
MILLION: Final = 1e6


def amortised_usd_per_hour(price: int, cost: Cost) -> float:
    """Return dollars per hour of a purchase written off; `price` in micro-dollars."""
    lost = price / MICRO_USD_PER_USD * (1 - cost.residual)
    return lost / (cost.years * HOURS_PER_YEAR)


# Section 7, kg_co2e.
def electricity_kwh(power_watts: float, hours: float, cost: Cost) -> float:
    """Return kilowatt-hours that so many hours take, with cooling."""
    return power_watts / WATTS_PER_KILOWATT * hours * cost.duty * cost.pue


def electricity_usd_per_hour(power_watts: float, cost: Cost) -> float:
    """Return dollars per hour of electricity, with cooling."""
    kilowatts = power_watts / WATTS_PER_KILOWATT * cost.duty * cost.pue
    return kilowatts * cost.electricity_usd_per_kwh


def rack_usd_per_hour(rack_units: float, cost: Cost) -> float:
    """Return dollars per hour of rack space."""
    racks = rack_units / cost.rack_units
    return racks * cost.rack_usd_per_month / HOURS_PER_MONTH


# Section 7, usd_per_hour.
def usd_per_hour(
    price: int, power_watts: float, rack_units: float, cost: Cost
) -> float:
    """Return dollars per hour of owning and running a cluster.

    Parameters
    ----------
    price : int
        Purchase in micro-dollars.
    power_watts : float
        Draw at work, in watts.
    rack_units : float
        Height in racks.
    cost : Cost
        Assumptions.

    Returns
    -------
    float
        Dollars per hour.
    """
    return (
        amortised_usd_per_hour(price, cost)
        + electricity_usd_per_hour(power_watts, cost)
        + rack_usd_per_hour(rack_units, cost)
    )


# Section 7, usd_per_million_tokens.
def usd_per_million_tokens(
    hourly_usd: float, tokens_per_second: float, cost: Cost
) -> float:
    """Return dollars per million tokens at full batch in the busy hours."""
    tokens_per_hour = tokens_per_second * SECONDS_PER_HOUR * cost.duty
    return hourly_usd / (tokens_per_hour / MILLION)


# Section 8, usd_per_hour of what is rented.
def rent_usd_per_hour(rents: Iterable[tuple[int, Rent | None]], cost: Cost) -> float:
    """Return dollars per hour of rents, averaged over busy and idle hours.

    Parameters
    ----------
    rents : iterable of (int, Rent or None)
        Micro-dollars of an hour, and the terms; none of what is bought.
    cost : Cost
        Assumptions.
    """
    return sum(
        price / MICRO_USD_PER_USD * rent.paid(cost)
        for price, rent in rents
        if rent is not None
    )


def cost_table(
    price: int,
    power_watts: float,
    rack_units: float,
    tokens_per_second: float,
    cost: Cost,
    rent: float = 0.0,
) -> dict[str, float]:
    """Return the `cost` of a unit or a plan as in its document."""
    hourly = usd_per_hour(price, power_watts, rack_units, cost) + rent
    per_million = usd_per_million_tokens(hourly, tokens_per_second, cost)
    return {
        "price_usd": price / MICRO_USD_PER_USD,
        "usd_per_hour": hourly,
        "usd_per_million_tokens": per_million,
        "tokens_per_usd": MILLION / per_million,
    }
