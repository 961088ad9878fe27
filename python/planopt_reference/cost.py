"""Money over time (model.md, section 7)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from planopt_reference.units import MICRO_USD_PER_USD

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planopt_reference.assumptions import Cost
    from planopt_reference.rent import Rent

    Owned = tuple[int, float, float]
    """Micro-dollars, watts and rack units of what is bought."""

HOURS_PER_YEAR: Final = 8760
HOURS_PER_MONTH: Final = 730
WATTS_PER_KILOWATT: Final = 1000
SECONDS_PER_HOUR: Final = 3600
MILLION: Final = 1e6


def amortised_usd_per_hour(price: int, cost: Cost) -> float:
    """Return dollars per hour of a purchase written off; `price` in micro-dollars."""
    lost = price / MICRO_USD_PER_USD * (1 - cost.residual)
    return lost / (cost.years * HOURS_PER_YEAR)


# Section 7, "What takes no rack units".
def housed(cost: Cost, rack_units: float) -> Cost:
    """Return the assumptions that hold for what takes so many rack units."""
    if rack_units:
        return cost
    bare = {"colocation_usd_per_kw_month": 0.0, "support_per_year": 0.0, "wacc": 0.0}
    return replace(cost, pue=1.0, **bare)


# Section 7, kg_co2e.
def electricity_kwh(power_watts: float, hours: float, cost: Cost) -> float:
    """Return kilowatt-hours that so many hours take, with cooling."""
    return power_watts / WATTS_PER_KILOWATT * hours * cost.duty * cost.pue


# Section 7, financing: what an annuity of the price is beyond writing it off.
def _financing_usd_per_hour(price: int, cost: Cost) -> float:
    if not cost.wacc:
        return 0.0
    paid_off = 1 - (1 + cost.wacc) ** -cost.years
    owed = 1 - cost.residual * (1 + cost.wacc) ** -cost.years
    yearly: float = price / MICRO_USD_PER_USD * cost.wacc * owed / paid_off
    return yearly / HOURS_PER_YEAR - amortised_usd_per_hour(price, cost)


# Section 7, usd_per_hour.
def owning(
    price: int, power_watts: float, rack_units: float, cost: Cost
) -> dict[str, float]:
    """Return dollars per hour of owning and running a cluster, by line.

    Parameters
    ----------
    price : int
        Purchase in micro-dollars.
    power_watts : float
        Draw at work, in watts.
    rack_units : float
        Height in racks; none of what stands in no hall.
    cost : Cost
        Assumptions.
    """
    cost = housed(cost, rack_units)
    dollars, racks = price / MICRO_USD_PER_USD, rack_units / cost.rack_units
    kwh = electricity_kwh(power_watts, 1.0, cost)
    kilowatts = power_watts / WATTS_PER_KILOWATT
    rent_of_kilowatts = kilowatts * cost.colocation_usd_per_kw_month
    return {
        "purchase": amortised_usd_per_hour(price, cost),
        "financing": _financing_usd_per_hour(price, cost),
        "electricity": kwh * cost.electricity_usd_per_kwh,
        "rack_space": racks * cost.rack_usd_per_month / HOURS_PER_MONTH,
        "colocation": rent_of_kilowatts / HOURS_PER_MONTH,
        "support": dollars * cost.support_per_year / HOURS_PER_YEAR,
        "staff": racks * cost.staff_usd_per_rack_year / HOURS_PER_YEAR,
    }


def usd_per_hour(
    price: int, power_watts: float, rack_units: float, cost: Cost
) -> float:
    """Return dollars per hour of owning and running a cluster."""
    return sum(owning(price, power_watts, rack_units, cost).values())


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
    owned: Iterable[Owned], tokens_per_second: float, cost: Cost, rent: float = 0.0
) -> dict[str, float]:
    """Return the `cost` of units or a plan as in its document."""
    owned = list(owned)
    hourly = sum(usd_per_hour(*one, cost) for one in owned) + rent
    per_million = usd_per_million_tokens(hourly, tokens_per_second, cost)
    return {
        "price_usd": sum(price for price, _, _ in owned) / MICRO_USD_PER_USD,
        "usd_per_hour": hourly,
        "usd_per_million_tokens": per_million,
        "tokens_per_usd": MILLION / per_million,
    }
