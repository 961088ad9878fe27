"""Bills of materials, added up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from planopt.units import MICRO_USD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.documents.parts import BomLine


AROUND = {
    "front_end": "front-end network",
    "management": "management ports",
    "storage": "storage of a run",
    "racks": "racks",
    "memory": "memory for KV caches",
    "disks": "disks for KV caches",
    "freight": "freight and integration",
    "spares": "spare parts",
}
"""Lines that what stands in racks is bought with, by kind: no parts of a catalog."""
SUMS = frozenset(("racks", "freight", "spares"))
"""Kinds of lines that are paid in one sum, however many units they are for."""


def times(line: BomLine, count: int) -> BomLine:
    """Return what so many of a line come to."""
    if line.kind in SUMS:
        paid = _times(line.unit_price_usd, count)
        return msgspec.structs.replace(line, unit_price_usd=paid, price_usd=paid)
    quantity = line.quantity * count
    return msgspec.structs.replace(
        line,
        quantity=quantity,
        price_usd=_times(line.unit_price_usd, quantity),
        usd_per_hour=_times(line.unit_usd_per_hour, quantity),
    )


def merged(lines: Sequence[BomLine]) -> tuple[BomLine, ...]:
    """Bill of materials with alike lines together, in the order they first appear."""
    by_part: dict[tuple[str, str, str, bool], BomLine] = {}
    for line in lines:
        # Of an instance, the name tells the terms.
        key = line.kind, line.id, line.name, line.owned
        by_part[key] = _both(by_part[key], line) if key in by_part else line
    return tuple(by_part.values())


def _both(one: BomLine, other: BomLine) -> BomLine:
    if one.kind in SUMS:
        micro = _micro(one.price_usd) + _micro(other.price_usd)
        paid = micro / MICRO_USD
        return msgspec.structs.replace(other, unit_price_usd=paid, price_usd=paid)
    single = msgspec.structs.replace(other, quantity=1)
    return times(single, one.quantity + other.quantity)


def _micro(usd: float | None) -> int:
    return round((usd or 0.0) * MICRO_USD)


def _times(unit_usd: float | None, quantity: int) -> float | None:
    return None if unit_usd is None else _micro(unit_usd) * quantity / MICRO_USD
