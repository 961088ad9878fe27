"""The facts that a plan carries: what it is computed again from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from planopt_reference.mismatch import Mismatch, compared

if TYPE_CHECKING:
    from planopt_reference.assumptions import Cost

Document = Mapping[str, Any]
_PAID = (
    *("unit_price_usd", "unit_usd_per_hour"),
    *("source", "price_date", "price_status"),
)


def carried_tables(plan: Document) -> dict[str, Mapping[str, Any]] | None:
    """Return the tables by kind and id; none where the plan carries none."""
    facts = plan.get("facts")
    if not isinstance(facts, Mapping) or not facts.get("entries"):
        return None
    return {
        name: fact["table"]
        for part in ("entries", "fits")
        for name, fact in facts[part].items()
    }


def fact_mismatches(plan: Document, cost: Cost) -> Iterator[Mismatch]:
    """Compare facts with their digests, and with what else the plan says of them."""
    facts = plan.get("facts")
    if not isinstance(facts, Mapping) or not facts.get("entries"):
        return
    for part in ("entries", "fits"):
        for name, fact in facts[part].items():
            expected = digest(fact["table"])
            field = f"facts.{part}.{name}.digest"
            yield from compared(field, fact["digest"], expected, "of its table")
    counted = asdict(cost)
    rates = facts["rates"]
    known = {name for name, rate in counted.items() if rate is not None} - _NO_RATES
    for name in sorted({*rates, *known}):
        why, field = "as it is counted", f"facts.rates.{name}"
        yield from compared(field, rates.get(name), counted.get(name), why)
    provenance = plan.get("provenance") or {}
    entries = [fact["digest"] for fact in facts["entries"].values()]
    for name, expected in (
        ("catalog_digest", digest(entries)),
        ("assumptions_digest", facts["fits"]["assumptions"]["digest"]),
    ):
        field = f"provenance.{name}"
        yield from compared(field, provenance.get(name), expected, "of its facts")
    lines = plan.get("bill_of_materials") or []
    paid = {
        f"{line['kind']}/{line['id']}": {key: line.get(key) for key in _PAID}
        for line in lines
        if not line.get("owned")
    }
    yield from compared("facts.prices", facts["prices"], paid, "of the bill")


# No rates of money: of the assumptions, which are carried whole, and of the question.
_NO_RATES: Final = {"load_fraction", "memory_bytes", "disks"}


def digest(table: object) -> str:
    """Return the first half of the SHA-256 of its JSON: sorted keys, no blanks."""
    text = json.dumps(
        table, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()
    return hashlib.sha256(text).hexdigest()[:32]
