"""``planopt catalog quotes``: somebody's own prices beside those of the catalogs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from planopt.catalog.offers import UNDATED
from planopt.catalog.overlay import toml_document, write_overlay
from planopt.catalog.rows import read_rows
from planopt.errors import Diagnostic, InputError
from planopt.price_sources import age_days
from planopt.toml import loads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.catalog.entries import PriceTag
    from planopt.catalog.open import Catalog
    from planopt.catalog.rows import Row

REQUIRED = ("part", "price")
OPTIONAL = ("currency", "usd", "condition", "source", "date")
"""`usd` are the dollars of one unit of the currency: no rate is guessed."""
USD = "USD"
WRITTEN = {"accelerator": "accelerators", "host": "hosts"}
"""Kinds whose price stands in a file of their own, and their folders."""
PRICES = {"new": "price", "used": "price_used"}
"""Figures of such a file by condition."""


class Quoted(Struct, frozen=True, kw_only=True):
    """One line of a table of quotes, beside the price that it stands for."""

    line: int
    kind: str
    id: str
    name: str
    condition: str
    """``new``, ``used``, ``on-demand`` or ``spot``."""
    price: float
    currency: str
    usd: float
    source: str
    date: str | None
    age_days: int | None
    catalog_usd: float | None
    """None: the catalogs have no such price."""
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
    files: tuple[str, ...] = ()
    """Files of the overlay that were written."""
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
