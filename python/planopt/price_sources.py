"""Where prices come from, how old they are, and how exactly a sum of them is said."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Sequence

import msgspec

from planopt.catalog.open import Catalog
from planopt.documents.parts import BomLine

OLD_PRICE_DAYS = 365
"""After a year a price is another one: the RTX 5090's rose from $1,999 to $5,000."""
SHARE_THAT_MATTERS = 0.01
"""Of a sum: a switch of $20 does not date a cluster of $13,000."""
MILLION = 1e6
HALF_A_CENT = 0.005  # A sum that is nearer to whole dollars has no cents

STATUSES = ("stored", "derived", "from-memory", "assumed")
"""How well a price of a file is known: read, a share of one, or less."""
GIVEN = "given"  # How well one is known that whoever asks has given
WELL_KNOWN = frozenset({"stored", "derived", GIVEN})


def sourced(catalog: Catalog, bill: Iterable[BomLine]) -> tuple[BomLine, ...]:
    """Bill of materials with where each price comes from, and its range."""
    response = catalog.native.sourced(msgspec.json.encode(list(bill)))
    return msgspec.json.decode(response, type=tuple[BomLine, ...])


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
    """Say a sum to the cent where it has cents, or a rough one to three digits."""
    if rough and usd >= MILLION:
        return f"~${three_digits(usd / MILLION)}M"
    if rough and usd:
        return f"~${float(f'{usd:.3g}'):,.0f}" if usd >= 100 else f"~${usd:.3g}"
    no_cents = whole or abs(usd - round(usd)) < HALF_A_CENT
    return f"${usd:,.0f}" if no_cents else f"${usd:,.2f}"


def price(usd: float, bill: Iterable[BomLine]) -> str:
    """Say what a bill comes to, in whole dollars and as exactly as that is known."""
    return dollars(usd, rough=is_rough(bill), whole=True)


def apart(one: float, other: float, *, rough: bool) -> str:
    """Say by how much two sums differ; rough ones differ by what their digits do."""
    by, last_digit = abs(one - other), 10.0 ** (len(f"{max(one, other):.0f}") - 3)
    told = last_digit * round(by / last_digit) if rough else by
    return dollars(told or by, rough=rough, whole=True)


def three_digits(number: float) -> str:
    """Say a number to three digits, with none behind the point from a hundred on."""
    magnitude = abs(number)
    if magnitude >= 99.95 or magnitude == 0:
        return f"{number:,.0f}"
    if magnitude >= 9.995:
        return f"{number:.1f}"
    if magnitude >= 0.9995:
        return f"{number:.2f}"
    return f"{number:#.3g}"


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
    return max(0, (today() - datetime.date(year, month, day)).days)


def today() -> datetime.date:
    """Today, or the day that reproducible outputs are made for (SOURCE_DATE_EPOCH)."""
    utc = datetime.timezone.utc
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is not None and epoch.isdigit():
        return datetime.datetime.fromtimestamp(int(epoch), tz=utc).date()
    return datetime.datetime.now(tz=utc).date()
