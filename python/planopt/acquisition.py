"""How hardware is come by: bought, rented, or whichever is cheaper over its life."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from planopt.shared_options import read_purchase_money

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.catalog.open import Catalog
    from planopt.options import OptionReader, TextOrNumber

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
TERMS = ("on-demand", "spot", "reserved")
"""Terms that instances are rented on."""


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
    reader: OptionReader,
    catalog: Catalog,
    *,
    acquire: str | None,
    budget: TextOrNumber | None,
    terms: str | Sequence[str] | None,
    provider: str | Sequence[str] | None,
    region: str | Sequence[str] | None,
) -> tuple[Acquisition, float | None, float | None]:
    """Read how to come by hardware, a budget to buy with and one per hour."""
    acquisition = read_way(
        reader, catalog, acquire=acquire, terms=terms, provider=provider, region=region
    )
    if acquisition.way == "buy":
        return BUYING, read_purchase_money(reader, budget, acquisition.way), None
    usd, per_hour = (None, False) if budget is None else reader.money("budget", budget)
    if usd is not None and not per_hour and acquisition.way == "rent":
        reader.problem(
            "E004",
            "purchase money buys, and this question rents",
            option="budget",
            value=budget,
            accepted="money per hour or month, such as 12/h or $5000/month",
        )
    return (
        acquisition,
        None if per_hour else usd,
        usd if per_hour else None,
    )


def read_way(
    reader: OptionReader,
    catalog: Catalog,
    *,
    acquire: str | None,
    terms: str | Sequence[str] | None = None,
    provider: str | Sequence[str] | None,
    region: str | Sequence[str] | None,
) -> Acquisition:
    """Read how to come by hardware, and where from."""
    way = reader.choice("acquire", acquire, WAYS) or "buy"
    named = {"terms": terms, "provider": provider, "region": region}
    if way == "buy":
        reader.out_of_place(
            named,
            "is about renting, and this question buys",
            accepted="--acquire rent or --acquire both beside it",
        )
        return BUYING
    chosen = reader.names("terms", terms) or Acquisition.terms
    acquisition = Acquisition(
        way=way,
        terms=tuple(each for each in chosen if reader.choice("terms", each, TERMS)),
        providers=reader.names("provider", provider),
        regions=reader.names("region", region),
    )
    _check_places(reader, catalog, acquisition)
    return acquisition


def _check_places(
    reader: OptionReader, catalog: Catalog, acquisition: Acquisition
) -> None:
    """Refuse providers and regions that no offer has."""
    parts = [each["id"].split("/") for each in catalog.list("offers")]
    known = {
        "provider": (acquisition.providers, {part[0] for part in parts}),
        "region": (acquisition.regions, {part[-1] for part in parts}),
    }
    for option, (named, there) in known.items():
        for name in named:
            reader.choice(option, name, sorted(there))
