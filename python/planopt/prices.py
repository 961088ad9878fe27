"""Prices of the catalogs: how old they are, how well known, and quotes beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct

from planopt.catalog.entries import Price, PriceTag, Pricing
from planopt.catalog.offers import UNDATED
from planopt.catalog.open import Catalog
from planopt.catalog.overlay import toml_document, write_overlay
from planopt.catalog.rows import Row, read_rows
from planopt.errors import Diagnostic, InputError
from planopt.options import Asked, TextOrNumber
from planopt.price_sources import GIVEN, age_days, is_well_known
from planopt.toml import loads
from planopt.units import SECONDS_PER_DAY

# --- planopt catalog prices -----------------------------------------------------------


AGES = {"90d": 90, "180d": 180, "1y": 365}
"""Columns of the summary: prices up to so many days old."""
ON_SALE = {"true": "yes", "false": "no", None: "not said"}
OLDER = "older"
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
    basis: dict[str, int]  # Accelerators by what their price is
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
        on_sale=dict(
            Counter(
                ON_SALE[catalog.text("accelerators", id_, "on_sale")]
                for id_ in basis_of
            )
        ),
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


# --- planopt catalog quotes -----------------------------------------------------------


REQUIRED = ("part", "price")
OPTIONAL = ("currency", "usd", "condition", "source", "date")
"""`usd` are the dollars of one unit of the currency: no rate is guessed."""
USD = "USD"
WRITTEN = {"accelerator": "accelerators", "host": "hosts"}
"""Kinds whose price stands in a file of their own, and their folders."""
PRICES = {"new": "price", "used": "price_used"}  # Figures of such a file by condition


class Quoted(Struct, frozen=True, kw_only=True):
    """One line of a table of quotes, beside the price that it stands for."""

    line: int
    kind: str
    id: str
    name: str
    condition: str  # ``new``, ``used``, ``on-demand`` or ``spot``
    price: float
    currency: str
    usd: float
    source: str
    date: str | None
    age_days: int | None
    catalog_usd: float | None  # None: the catalogs have no such price
    low_usd: float | None = None
    high_usd: float | None = None
    catalog_date: str | None = None
    catalog_age_days: int | None = None

    @property
    def off(self) -> float | None:
        """Share by which the quote is above the catalog's price."""
        return None if not self.catalog_usd else self.usd / self.catalog_usd - 1


class Quotes(Struct, frozen=True, kw_only=True):
    """A table of quotes, line by line."""

    lines: tuple[Quoted, ...]
    files: tuple[str, ...] = ()  # Files of the overlay that were written
    options: tuple[str, ...] = ()
    """What says the prices in a question, of parts without a file of their own."""


def quotes(
    files: Sequence[str],
    catalog: Catalog,
    *,
    out: str | None = None,
    force: bool = False,
) -> Quotes:
    """Compare quotes with the prices of the catalogs; write them as an overlay."""
    problems: list[Diagnostic] = []
    tags = [*catalog.price_tags(), *catalog.rent_tags()]
    lines = [
        line
        for file in files
        for row in read_rows(Path(file), REQUIRED, OPTIONAL, problems)
        if (line := _line(row, catalog, tags))
    ]
    if problems:
        raise InputError(dict.fromkeys(problems))
    written = [each for each in lines if out is not None and each.kind in WRITTEN]
    overlay: dict[str, str] = {}
    for each in written:
        name = f"{WRITTEN[each.kind]}/{each.id}.toml"
        before = overlay.get(name) or Path(
            catalog.show(WRITTEN[each.kind], each.id).file
        ).read_text(encoding="utf-8")
        overlay[name] = _at_price(before, each)
    return Quotes(
        lines=tuple(lines),
        files=tuple(write_overlay(Path(out or ""), overlay, force=force)),
        options=tuple(
            f"--price {each.id}={each.usd:g}" for each in lines if each not in written
        ),
    )


def _at_price(text: str, quote: Quoted) -> str:
    """Put a quote in the place of the price that a file of the catalogs has."""
    table = loads(text)
    source = f"quote-{quote.condition}"
    told = f"{quote.price:g} {quote.currency}"
    table[PRICES[quote.condition]] = {"value": f"${quote.usd:g}", "source": source}
    sources = table.setdefault("sources", {})
    assert isinstance(sources, dict)
    sources[source] = {
        "cite": f"{quote.source}: {told}",
        "date": quote.date or UNDATED,
        "status": "stored",
    }
    return toml_document(table)


def _line(row: Row, catalog: Catalog, tags: Sequence[PriceTag]) -> Quoted | None:
    """Read a line and find what it stands beside; what is wrong is remembered."""
    part, price = row.text("part"), row.number("price")
    currency = row.text("currency").upper() or USD
    rate = 1.0 if currency == USD else row.number("usd")
    condition = row.text("condition")
    entity = _entity(catalog, part)
    own = [each for each in tags if each.id in (part, *entity)]
    tag = next((each for each in own if condition in ("", each.condition)), None)
    if not price:
        row.wrong("price", "E113", "no price is quoted", "a number above 0")
    elif not rate:
        what = f"what one {currency} is in dollars is not said"
        row.wrong("usd", "E113", what, "the rate of that day, such as 1.08")
    elif tag is None and not entity:
        what = f"`{part}` is no part and no offer of the catalogs"
        help = "`planopt catalog list accelerators` lists them"
        row.wrong("part", "E001", what, "ids and names of the catalogs", help)
    elif tag is None and condition not in ("", *PRICES):
        what = f"`{condition}` is no condition of it"
        row.wrong("condition", "E001", what, ", ".join(PRICES))
    else:
        id_, kind = next(iter(entity.items()), (part, ""))
        date = row.text("date") or None
        of = tag.source.date if tag and tag.source and tag.source.date else None
        return Quoted(
            line=row.line,
            kind=tag.kind if tag else kind,
            id=tag.id if tag else id_,
            name=tag.name if tag else part,
            condition=tag.condition if tag else condition or "new",
            price=price,
            currency=currency,
            usd=price * rate,
            source=row.text("source") or row.file.name,
            date=date,
            age_days=age_days(date),
            catalog_usd=tag.usd if tag else None,
            low_usd=tag.low_usd if tag else None,
            high_usd=tag.high_usd if tag else None,
            catalog_date=of,
            catalog_age_days=age_days(of),
        )
    return None


def _entity(catalog: Catalog, part: str) -> dict[str, str]:
    """Find a part by its id, or by what people call it: its id and its kind."""
    for kind, folder in WRITTEN.items():
        with suppress(InputError):
            return {catalog.show(folder, part).id: kind}
    return {}
