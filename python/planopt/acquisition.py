"""How hardware is come by: bought, rented, or whichever is cheaper over its life."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog
    from planopt.options import Asked

__all__ = [
    "BUYING",
    "Acquisition",
    "Way",
    "is_offer",
    "read_acquisition",
    "read_way",
]

Way = Literal["buy", "rent", "both", "own"]
"""To buy for the least price; to rent, to buy or rent, or to own for the fewest dollars
per hour. The last is asked only to compare renting with."""
WAYS: tuple[Way, ...] = ("buy", "rent", "both")


@dataclass(frozen=True, kw_only=True)
class Acquisition:
    """Whether hardware is bought or rented, and within what money.

    Where anything may be rented, money is dollars per hour: of what is bought, its
    purchase written off over the years of the assumptions, electricity and hosting.
    """

    way: Way = "buy"
    terms: tuple[str, ...] = ("on-demand",)
    providers: tuple[str, ...] = ()
    """Providers to rent from; empty for all."""
    regions: tuple[str, ...] = ()

    @property
    def hourly(self) -> bool:
        """Whether the best plan is the one of fewest dollars per hour."""
        return self.way != "buy"

    @property
    def rents(self) -> bool:
        """Whether anything may be rented."""
        return self.way in ("rent", "both")

    def rent_request(self) -> dict[str, Any]:
        """Put what may be rented as the core takes it."""
        return {
            "terms": list(self.terms),
            "providers": list(self.providers),
            "regions": list(self.regions),
        }


BUYING: Final = Acquisition()
"""As long as nothing else is said."""


def is_offer(host: str) -> bool:
    """Whether a host is an instance for rent: ``provider/instance/region``."""
    return "/" in host


def read_acquisition(
    asked: Asked, catalog: Catalog
) -> tuple[Acquisition, float | None, float | None]:
    """Read how to come by hardware, a budget to buy with and one per hour."""
    acquisition = read_way(asked, catalog)
    usd, hourly = asked.money("budget") or (None, False)
    if hourly and acquisition.way == "buy":
        asked.problem(
            "E004",
            "a budget per time is for renting, and this question buys",
            option="budget",
            value=asked.given["budget"],
            accepted="purchase money, such as $20k, or --acquire rent beside it",
        )
    if usd is not None and not hourly and acquisition.way == "rent":
        asked.problem(
            "E004",
            "purchase money buys, and this question rents",
            option="budget",
            value=asked.given["budget"],
            accepted="money per hour or month, such as 12/h or $5000/month",
        )
    return acquisition, None if hourly else usd, usd if hourly else None


def read_way(asked: Asked, catalog: Catalog) -> Acquisition:
    """Read how to come by hardware, and where from."""
    way = asked.choice("acquire", WAYS) or "buy"
    if way == "buy":
        asked.out_of_place(
            ("terms", "provider", "region"),
            "is about renting, and this question buys",
            accepted="--acquire rent or --acquire both beside it",
        )
        return BUYING
    acquisition = Acquisition(
        way=way,
        terms=asked.choices("terms"),
        providers=asked.names("provider"),
        regions=asked.names("region"),
    )
    _check_places(asked, catalog, acquisition)
    return acquisition


def _check_places(asked: Asked, catalog: Catalog, acquisition: Acquisition) -> None:
    """Refuse providers and regions that no offer has."""
    parts = [each["id"].split("/") for each in catalog.list("offers")]
    known = {
        "provider": (acquisition.providers, {part[0] for part in parts}),
        "region": (acquisition.regions, {part[-1] for part in parts}),
    }
    for option, (named, there) in known.items():
        for name in named:
            asked.among(option, name, sorted(there))
