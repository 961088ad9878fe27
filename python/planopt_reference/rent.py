"""Instances for rent, as hosts (docs/reference/catalogs.md; model.md, section 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from planopt_reference import units

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt_reference.assumptions import Cost

_RESERVED: Final = "reserved-"


class RentError(ValueError):
    """An offer that there is not, or terms that it is not offered on."""


@dataclass(frozen=True)
class Offer:
    """An instance with what its provider says of it."""

    id: str
    provider: Mapping[str, Any]
    table: Mapping[str, Any]

    @property
    def answered_for_by(self) -> object:
        """Return its class: its own, or else that of its provider's machines."""
        of_others = self.provider.get("class", "cloud")
        return units.unwrapped(self.table.get("class", of_others))


@dataclass(frozen=True)
class Rent:
    """What an instance costs: micro-dollars of an hour, and when they are paid."""

    price: int
    goodput: float
    always_paid: bool

    def paid(self, cost: Cost) -> float:
        """Return the share of all hours that are paid."""
        return 1.0 if self.always_paid else 1.0 - cost.regained * (1.0 - cost.duty)


def is_offer(host: str) -> bool:
    """Return whether a host is an instance: `provider/instance/region`."""
    return "/" in host


def offer_of(provider: Mapping[str, Any], name: str) -> Offer:
    """Find an offer in the file of its provider.

    Raises
    ------
    RentError
        If it has none of that name.
    """
    for table in provider.get("offer", ()):
        id_ = f"{provider['id']}/{table['instance']}/{table['region']}"
        if id_ == name:
            return Offer(id_, provider, table)
    message = f"no offer `{name}`"
    raise RentError(message)


# Section 8, "On spot terms".
def goodput(provider: Mapping[str, Any]) -> float:
    """Return the share of the time that a spot instance works."""
    spot = provider["spot"]
    between = units.quantity(spot["interrupted_every"], "seconds")
    return between / (between + units.quantity(spot["restart"], "seconds"))


# Section 8, "the price of an hour".
def rent_of(offer: Offer, terms: str) -> Rent:
    """Return what an hour of an offer costs on some terms.

    Raises
    ------
    RentError
        If it is not offered on them.
    """
    if terms == "on-demand" and "price" in offer.table:
        return Rent(hourly(offer.table["price"]), 1.0, always_paid=False)
    if terms == "spot" and "spot" in offer.table:
        price = hourly(offer.table["spot"])
        return Rent(price, goodput(offer.provider), always_paid=False)
    if terms.startswith(_RESERVED) and "price" in offer.table:
        months = int(terms.removeprefix(_RESERVED))
        for term in offer.provider.get("reserved", ()):
            if units.count(term["months"]) == months:
                left = 1.0 - units.share(term["discount"])
                price = hourly(offer.table["price"])
                return Rent(round(price * left), 1.0, always_paid=True)
    message = f"{offer.id} is not offered on the terms `{terms}`"
    raise RentError(message)


def hourly(figure: object) -> int:
    """Return the micro-dollars of an hour."""
    return round(units.dollars_per(figure, "h") * units.MICRO_USD_PER_USD)
