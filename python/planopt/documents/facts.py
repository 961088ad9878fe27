"""What a plan was made from: entries, prices, rates and fits, whole, with digests."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from msgspec import Struct


class Fact(Struct, frozen=True, kw_only=True):
    """A table as its file has it, as far as the plan uses it."""

    digest: str
    """Of its JSON with sorted keys and no blanks: the first half of its SHA-256."""
    table: dict[str, Any]

    @classmethod
    def of(cls, table: dict[str, object]) -> Fact:
        """Take a table with its digest."""
        return cls(digest=digest(table), table=table)


class PricePaid(Struct, frozen=True, kw_only=True):
    """What one of a part costs, or an hour of it, and where that is from."""

    unit_price_usd: float | None = None
    unit_usd_per_hour: float | None = None
    source: str | None = None
    price_date: str | None = None
    price_status: str | None = None


class Facts(Struct, frozen=True, kw_only=True):
    """Everything that verifying a plan reads."""

    entries: dict[str, Fact] = {}
    """Entries of the catalogs by kind and id, such as ``accelerators/rtx-4090``."""
    fits: dict[str, Fact] = {}
    """``assumptions``, and the ``residuals`` that confidence comes from."""
    prices: dict[str, PricePaid] = {}
    """Of the bill of materials, by kind and id."""
    rates: dict[str, float | None] = {}
    """Of money over time, as they were counted: years, dollars per kWh, shares."""


class Changed(Struct, frozen=True, kw_only=True):
    """A fact that is another one in the catalogs at hand."""

    entry: str
    field: str
    before: str | None = None
    """In the plan; none where it had no such field."""
    now: str | None = None


def digest(table: object) -> str:
    """Tell tables apart."""
    text = json.dumps(
        table, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()
    return hashlib.sha256(text).hexdigest()[:32]
