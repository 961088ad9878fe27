"""Where prices come from, how old they are, and how exactly a sum of them is said."""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from planopt.catalog.open import Catalog
    from planopt.documents.parts import BomLine

__all__ = [
    "GIVEN",
    "OLD_PRICE_DAYS",
    "STATUSES",
    "PriceSource",
    "age_days",
    "dollars",
    "is_rough",
    "is_well_known",
    "oldest_price",
    "sourced",
]

OLD_PRICE_DAYS = 365
"""After a year a price is another one: the RTX 5090's rose from $1,999 to $5,000."""
SHARE_THAT_MATTERS = 0.01
"""Of a sum: a switch of $20 does not date a cluster of $13,000."""
HALF_A_CENT = 0.005
"""A sum that is nearer to whole dollars has no cents."""

STATUSES = ("stored", "derived", "from-memory", "assumed")
"""How well a price of a file is known: read, a share of one, or less."""
GIVEN = "given"
"""How well one is known that whoever asks has given."""
WELL_KNOWN = frozenset({"stored", "derived", GIVEN})


@dataclass(frozen=True)
class PriceSource:
    """Where a price comes from.

    Parameters
    ----------
    date : str
        When it was published or read; may lack its day or month.
    status : str
        One of `STATUSES`, or `GIVEN`.
    per : int
        How many accelerators the price that was read is for.
    low_usd, high_usd : float, optional
        What one is seen at.
    used : bool
        Whether it is that of a used one.
    """

    date: str
    status: str
    per: int = 1
    low_usd: float | None = None
    high_usd: float | None = None
    used: bool = False

    @property
    def short(self) -> str:
        """Date, and how well it is known where that is not plain reading."""
        if self.status == GIVEN:
            return "--price"
        shared = f"system / {self.per}" if self.per > 1 else ""
        known = "" if self.status == "stored" else self.status
        used = "used" if self.used else ""
        return ", ".join(part for part in (self.date, used, shared or known) if part)


def sourced(catalog: Catalog, bill: Iterable[BomLine]) -> tuple[BomLine, ...]:
    """Bill of materials with where each price comes from, and its range."""
    return tuple(_sourced(catalog, line) for line in bill)


def _sourced(catalog: Catalog, line: BomLine) -> BomLine:
    source = _source(catalog, line)
    if source is None:
        return line
    return replace(
        line,
        source=source.short,
        used=source.used,
        price_date=source.date or None,
        price_status="derived" if source.per > 1 else source.status,
        unit_price_low_usd=source.low_usd,
        unit_price_high_usd=source.high_usd,
    )


def _source(catalog: Catalog, line: BomLine) -> PriceSource | None:
    if line.kind == "instance":
        # All prices of an offer are of one list.
        figures = catalog.figures("offers", line.id)
        prices = (figures.get(terms) for terms in ("price", "spot"))
        found = next((each for each in prices if each and each["status"]), None)
        return PriceSource(found["date"], found["status"]) if found else None
    kind = "switch" if line.kind == "switch_ports" else line.kind
    tags = catalog.price_tags.get((kind, line.id.partition("@")[0]), ())
    paid = (tag for tag in tags if tag["decides"] and tag["source"])
    tag = min(paid, key=lambda tag: tag["usd"] != line.unit_price_usd, default=None)
    if tag is None:
        return None
    source = tag["source"]
    return PriceSource(
        source["date"],
        source["status"],
        tag["per"],
        tag["low_usd"],
        tag["high_usd"],
        used=tag["condition"] == "used",
    )


def is_rough(bill: Iterable[BomLine]) -> bool:
    """Whether a sum has a price from memory, or one older than a year."""
    return any(_is_rough(line) for line in bill if _usd(line))


def _is_rough(line: BomLine) -> bool:
    if line.price_status is None or line.price_status == GIVEN:
        return False  # somebody's own price is of today
    age = age_days(line.price_date)
    return not is_well_known(line.price_status) or age is None or age > OLD_PRICE_DAYS


def is_well_known(status: str | None) -> bool:
    """Whether a price is more than a memory or a choice."""
    return status in WELL_KNOWN


def dollars(usd: float, *, rough: bool = False, whole: bool = False) -> str:
    """Say a sum to the cent where it has cents; a rough one to three digits.

    Rough is one that has a price from memory or an old one: ``~$13,500``.
    """
    if rough and usd:
        return f"~${float(f'{usd:.3g}'):,.0f}" if usd >= 100 else f"~${usd:.3g}"
    no_cents = whole or abs(usd - round(usd)) < HALF_A_CENT
    return f"${usd:,.0f}" if no_cents else f"${usd:,.2f}"


def oldest_price(bill: Sequence[BomLine]) -> str | None:
    """Date of the oldest price that matters: of a line that is 1 % of the sum."""
    whole = sum(map(_usd, bill))
    dated = [
        (age, line.price_date)
        for line in bill
        if _usd(line) >= SHARE_THAT_MATTERS * whole > 0
        and (age := age_days(line.price_date)) is not None
    ]
    return max(dated)[1] if dated else None


def _usd(line: BomLine) -> float:
    return line.price_usd or line.usd_per_hour or 0.0


def age_days(date: str | None) -> int | None:
    """Days since a date; of a month or a year, since its end; none of no date."""
    parts = [int(part) for part in (date or "").split("-") if part.isdigit()]
    if not parts:
        return None
    year, month, day = (*parts, *(12, 28)[len(parts) - 1 :])[:3]
    return max(0, (_today() - datetime.date(year, month, day)).days)


def _today() -> datetime.date:
    """Today, or the day that reproducible outputs are made for (SOURCE_DATE_EPOCH)."""
    utc = datetime.timezone.utc
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is not None and epoch.isdigit():
        return datetime.datetime.fromtimestamp(int(epoch), tz=utc).date()
    return datetime.datetime.now(tz=utc).date()
