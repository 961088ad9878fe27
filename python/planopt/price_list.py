"""``planopt catalog prices``: how old the deciding prices are, and how well known."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from planopt.catalog.entries import Price, Pricing
from planopt.options import Asked
from planopt.price_sources import GIVEN, age_days, is_well_known
from planopt.units import SECONDS_PER_DAY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planopt.catalog.entries import PriceTag
    from planopt.catalog.open import Catalog
    from planopt.options import TextOrNumber

AGES = {"90d": 90, "180d": 180, "1y": 365}
"""Columns of the summary: prices up to so many days old."""
OLDER, UNDATED = "older", "undated"
COLUMNS = (*AGES, OLDER, UNDATED)

Basis = Literal["card", "system / n", "machine only", "rent only", "none"]
"""What the price of an accelerator is: its own, a share of a board or system, that of a
complete machine it comes in, that of an hour, or nothing."""


class Listing(Price, frozen=True, kw_only=True):
    """One price that decides."""

    date: str | None = None
    age_days: int | None = None
    status: str | None = None

    @property
    def age(self) -> str:
        """Return the column of the summary that it is in."""
        days = self.age_days
        if days is None:
            return UNDATED
        return next((name for name, most in AGES.items() if days <= most), OLDER)


class Summary(Struct, frozen=True, kw_only=True):
    """How many parts of a kind have a price of such an age, and known so."""

    kind: str
    parts: int
    by_age: dict[str, int]
    by_status: dict[str, int]
    of_this_year: float
    """Share that is at most a year old and neither remembered nor assumed."""


class PriceList(Struct, frozen=True, kw_only=True):
    """The prices that decide."""

    condition: str
    summaries: tuple[Summary, ...]
    basis: dict[str, int]
    """Accelerators by what their price is."""
    basis_of: dict[str, Basis]
    on_sale: dict[str, int]
    """Accelerators by whether new ones can be bought today: yes, no, not said."""
    prices: tuple[Listing, ...]
    """Those older than was asked for; all of the parts where nothing was."""


def price_list(
    catalog: Catalog, *, condition: str = "new", older: TextOrNumber | None = None
) -> PriceList:
    """List the prices that decide, the oldest first."""
    asked = Asked("catalog prices", {"condition": condition, "older": older})
    given = asked.values()
    chosen, seconds = given["condition"], given.get("older")
    priced = catalog.paid(Pricing(condition=chosen))
    bought = _listings(priced.price_tags())
    rented = _listings(priced.rent_tags())
    basis_of = _basis_of(catalog, bought, rented)
    by_age = sorted(
        [*bought, *rented], key=lambda each: (-(each.age_days or 0), each.kind, each.id)
    )
    return PriceList(
        condition=chosen,
        summaries=tuple(_summaries([*bought, *rented])),
        basis=dict(Counter(basis_of.values())),
        basis_of=basis_of,
        on_sale=dict(Counter(_on_sale(catalog, id_) for id_ in basis_of)),
        prices=tuple(
            each
            for each in by_age
            if seconds is None
            or each.age_days is None
            or each.age_days * SECONDS_PER_DAY > seconds
        ),
    )


def _listings(tags: Iterable[PriceTag]) -> list[Listing]:
    """Take the prices that decide, each part once."""
    listings: dict[tuple[str, str, str], Listing] = {}
    for tag in tags:
        if not tag.decides:
            continue
        source = tag.source
        date, status = (source.date, source.status) if source else (None, None)
        listing = Listing(
            **{name: getattr(tag, name) for name in Price.__struct_fields__},
            date=date or None,
            age_days=age_days(date),
            status="derived" if tag.per > 1 else status,
        )
        # A NIC may stand in several networks.
        listings.setdefault((listing.kind, listing.id, listing.condition), listing)
    return list(listings.values())


def _summaries(listings: Iterable[Listing]) -> Iterable[Summary]:
    by_kind: dict[str, list[Listing]] = {}
    for each in listings:
        by_kind.setdefault(each.kind, []).append(each)
    for kind, of_kind in by_kind.items():
        ages = Counter(each.age for each in of_kind)
        statuses = Counter(each.status or GIVEN for each in of_kind)
        known = [each for each in of_kind if each.age in AGES]
        yield Summary(
            kind=kind,
            parts=len(of_kind),
            by_age={name: ages[name] for name in COLUMNS},
            by_status=dict(statuses),
            of_this_year=sum(is_well_known(each.status) for each in known)
            / len(of_kind),
        )


def _basis_of(
    catalog: Catalog, bought: Iterable[Listing], rented: Iterable[Listing]
) -> dict[str, Basis]:
    """Say of each accelerator what its price is."""
    alone = {each.id: each for each in bought if each.kind == "accelerator"}
    hosts = {each.id for each in bought if each.kind == "host"}
    machines = {catalog.text("hosts", id_, "includes.accelerator") for id_ in hosts}
    # An instance, `provider/instance`, has the same accelerator in all its regions.
    instances = {each.id.rpartition("/")[0]: each.id for each in rented}
    offered = {catalog.text("offers", id_, "accelerator") for id_ in instances.values()}

    def basis(id_: str) -> Basis:
        if id_ in alone:
            return "system / n" if alone[id_].per > 1 else "card"
        if id_ in machines:
            return "machine only"
        return "rent only" if id_ in offered else "none"

    ids = (entry.id for entry in catalog.list("accelerators"))
    return {id_: basis(id_) for id_ in ids}


def _on_sale(catalog: Catalog, accelerator: str) -> str:
    said = catalog.text("accelerators", accelerator, "on_sale")
    return {"true": "yes", "false": "no", None: "not said"}[said]
