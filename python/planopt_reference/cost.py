"""Money over time (model.md, section 7)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from planopt_reference.derivation import formula
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


_HOURLY: Final = "USD/h"


def amortised_usd_per_hour(price: int, cost: Cost) -> float:
    """Return dollars per hour of a purchase written off; `price` in micro-dollars."""
    return _written_off(price / MICRO_USD_PER_USD, cost.residual, cost.years)


@formula("price (1 - residual) / (years x 8760)", section="7", unit=_HOURLY)
def _written_off(price_usd: float, residual: float, years: float) -> float:
    return price_usd * (1 - residual) / (years * HOURS_PER_YEAR)


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
    return _kwh(power_watts, hours, cost.duty, cost.pue)


def _kwh(power_watts: float, hours: float, duty: float, pue: float) -> float:
    return power_watts / WATTS_PER_KILOWATT * hours * duty * pue


# What an annuity of the price is beyond writing it off.
@formula(
    "price (i (1 - residual) / ((1 + i)^years - 1) + i) / 8760 - purchase, i = wacc",
    section="7",
    unit=_HOURLY,
)
def _financing(price_usd: float, residual: float, years: float, wacc: float) -> float:
    if not wacc:
        return 0.0
    paid_off = 1 - (1 + wacc) ** -years
    owed = 1 - residual * (1 + wacc) ** -years
    yearly: float = price_usd * wacc * owed / paid_off
    return yearly / HOURS_PER_YEAR - _written_off(price_usd, residual, years)


@formula("power / 1000 x duty x PUE x price of a kWh", section="7", unit=_HOURLY)
def _electricity(
    power_watts: float, duty: float, pue: float, usd_per_kwh: float
) -> float:
    return _kwh(power_watts, 1.0, duty, pue) * usd_per_kwh


@formula("rack units / those of a rack x rent / 730", section="7", unit=_HOURLY)
def _rack_space(
    rack_units: float, units_of_a_rack: float, usd_per_month: float
) -> float:
    return rack_units / units_of_a_rack * usd_per_month / HOURS_PER_MONTH


@formula("power / 1000 x rent of a kW / 730", section="7", unit=_HOURLY)
def _colocation(power_watts: float, usd_per_kw_month: float) -> float:
    return power_watts / WATTS_PER_KILOWATT * usd_per_kw_month / HOURS_PER_MONTH


@formula("price x share a year / 8760", section="7", unit=_HOURLY)
def _support(price_usd: float, share_per_year: float) -> float:
    return price_usd * share_per_year / HOURS_PER_YEAR


@formula(
    "rack units / those of a rack x staff of one / 8760", section="7", unit=_HOURLY
)
def _staff(
    rack_units: float, units_of_a_rack: float, usd_per_rack_year: float
) -> float:
    return rack_units / units_of_a_rack * usd_per_rack_year / HOURS_PER_YEAR


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
    dollars, rack = price / MICRO_USD_PER_USD, cost.rack_units
    return {
        "purchase": amortised_usd_per_hour(price, cost),
        "financing": _financing(dollars, cost.residual, cost.years, cost.wacc),
        "electricity": _electricity(
            power_watts, cost.duty, cost.pue, cost.electricity_usd_per_kwh
        ),
        "rack_space": _rack_space(rack_units, rack, cost.rack_usd_per_month),
        "colocation": _colocation(power_watts, cost.colocation_usd_per_kw_month),
        "support": _support(dollars, cost.support_per_year),
        "staff": _staff(rack_units, rack, cost.staff_usd_per_rack_year),
    }


def usd_per_hour(
    price: int, power_watts: float, rack_units: float, cost: Cost
) -> float:
    """Return dollars per hour of owning and running a cluster."""
    return sum(owning(price, power_watts, rack_units, cost).values())


@formula("TCO / (tok/s x 3600 x duty / 10^6)", section="7", unit="USD/Mtok")
def usd_per_million_tokens(
    hourly_usd: float, tokens_per_second: float, duty: float
) -> float:
    """Return dollars per million tokens at full batch in the busy hours."""
    tokens_per_hour = tokens_per_second * SECONDS_PER_HOUR * duty
    return hourly_usd / (tokens_per_hour / MILLION)


@formula("price of an hour x share of hours paid", section="8", unit=_HOURLY)
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


@formula("the lines of each purchase + rent", section="7", unit=_HOURLY)
def _tco(owned: Iterable[Owned], cost: Cost, rent: float) -> float:
    return sum(usd_per_hour(*one, cost) for one in owned) + rent


def cost_table(
    owned: Iterable[Owned], tokens_per_second: float, cost: Cost, rent: float = 0.0
) -> dict[str, float]:
    """Return the `cost` of units or a plan as in its document."""
    owned = list(owned)
    hourly = _tco(owned, cost, rent)
    per_million = usd_per_million_tokens(hourly, tokens_per_second, cost.duty)
    return {
        "price_usd": sum(price for price, _, _ in owned) / MICRO_USD_PER_USD,
        "usd_per_hour": hourly,
        "usd_per_million_tokens": per_million,
        "tokens_per_usd": MILLION / per_million,
    }
