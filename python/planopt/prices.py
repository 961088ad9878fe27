"""Prices of parts: which are asked for, where each comes from, and how old it is."""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

from msgspec.structs import replace

from planopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from planopt.catalog import Catalog
    from planopt.documents.parts import BomLine
    from planopt.options import OptionReader, TextOrNumber

__all__ = [
    "OLD_PRICE_DAYS",
    "Condition",
    "PriceOptions",
    "PriceSource",
    "age_days",
    "dollars",
    "is_rough",
    "is_well_known",
    "oldest_price",
    "read_prices",
    "rounded",
    "sourced",
]

Condition = Literal["new", "used", "any"]
"""Accelerators are bought new, used, or at the lower of both prices."""

OLD_PRICE_DAYS = 365
"""After a year a price is another one: the RTX 5090's rose from $1,999 to $5,000."""
SHARE_THAT_MATTERS = 0.01
"""Of a sum: a switch of $20 does not date a cluster of $13,000."""
WELL_KNOWN = frozenset({"stored", "derived", "given"})


@dataclass(frozen=True)
class PriceSource:
    """Where a price comes from.

    Parameters
    ----------
    date : str
        When it was published or read; may lack its day or month.
    status : str
        ``stored``, ``from-memory``, ``derived``, ``assumed``, or ``given`` by whoever
        asks.
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
        if self.status == "given":
            return "--price"
        shared = f"system / {self.per}" if self.per > 1 else ""
        known = "" if self.status == "stored" else self.status
        used = "used" if self.used else ""
        return ", ".join(part for part in (self.date, used, shared or known) if part)


class PriceOptions(TypedDict, total=False):
    """Options of what parts cost, as they were given."""

    condition: str | None
    prices: Mapping[str, TextOrNumber] | Sequence[str] | str | None


def read_prices(
    reader: OptionReader,
    catalog: Catalog,
    *,
    condition: str | None = None,
    prices: Mapping[str, TextOrNumber] | Sequence[str] | str | None = None,
) -> dict[str, Any]:
    """Read what accelerators are bought as, and prices that somebody knows better.

    Parameters
    ----------
    reader : OptionReader
        Where problems go.
    catalog : Catalog
        Where the parts are.
    condition : {"new", "used", "any"}, optional
        New unless said.
    prices : mapping, or sequence of str, optional
        Dollars by part, or ``ID=USD``; of an offer, ``$2.50/h``.

    Returns
    -------
    dict
        ``condition``, and ``prices`` in dollars by part.
    """
    chosen = reader.choice("condition", condition, get_args(Condition))
    dollars: dict[str, float] = {}
    for id_, given in reader.pairs("price", prices, "rtx-5090=4500"):
        dimension = "usd_per_hour" if "/" in id_ else "usd"
        text = f"{given}/h" if "/" in id_ and "/" not in str(given) else given
        usd = reader.quantity("price", text, dimension, least=0.0)
        if usd is None:
            continue
        dollars[id_] = usd
        try:
            catalog.at_price({"id": id_, "usd": usd})
        except InputError as unknown:
            reader.refuse("price", unknown)
    return {"condition": chosen or "new", "prices": dollars}


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
        figures = catalog.show("offers", line.id)["figures"]
        prices = (each for each in figures if each["field"] in ("price", "spot"))
        found = next((each for each in prices if each["status"]), None)
        return found and PriceSource(found["date"], found["status"])
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
    if line.price_status is None or line.price_status == "given":
        return False  # somebody's own price is of today
    age = age_days(line.price_date)
    return not is_well_known(line.price_status) or age is None or age > OLD_PRICE_DAYS


def is_well_known(status: str | None) -> bool:
    """Whether a price is more than a memory or a choice."""
    return status in WELL_KNOWN


def rounded(usd: float) -> str:
    """Say a sum that has a price from memory or an old one: ``~$13,500``."""
    return f"~${float(f'{usd:.3g}'):,.0f}" if usd >= 100 else f"~${usd:.3g}"


def dollars(usd: float | None, bill: Iterable[BomLine]) -> str:
    """Say what a bill comes to, as exactly as its prices are known."""
    return rounded(usd or 0.0) if is_rough(bill) else f"${usd or 0.0:,.0f}"


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
