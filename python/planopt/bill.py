"""Lines of a bill of materials from the core's answer, and bills added up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from planopt.documents.parts import BomLine, Hardware

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


MICRO_USD = 10**6


def hardware_of(evaluation: Mapping[str, Any]) -> Hardware:
    """Where a replica runs, from the core's answer."""
    return msgspec.convert(evaluation["hardware"], Hardware)


def bom_line(line: Mapping[str, Any], count: int = 1) -> BomLine:
    """Line of a bill of materials, `count` times."""
    quantity = line["quantity"] * count
    if line["kind"] == "instance":
        return BomLine(
            kind=line["kind"],
            id=line["id"],
            name=line["name"],
            quantity=quantity,
            unit_usd_per_hour=line["unit_price_micro_usd"] / MICRO_USD,
            usd_per_hour=line["unit_price_micro_usd"] * quantity / MICRO_USD,
        )
    return BomLine(
        kind=line["kind"],
        id=line["id"],
        name=line["name"],
        quantity=quantity,
        unit_price_usd=line["unit_price_micro_usd"] / MICRO_USD,
        price_usd=line["unit_price_micro_usd"] * quantity / MICRO_USD,
    )


def _micro(usd: float | None) -> int:
    return round((usd or 0.0) * MICRO_USD)


def _times(unit_usd: float | None, quantity: int) -> float | None:
    return None if unit_usd is None else _micro(unit_usd) * quantity / MICRO_USD


def merged(lines: Sequence[BomLine]) -> tuple[BomLine, ...]:
    """Bill of materials with alike lines together, in the order they first appear."""
    by_part: dict[tuple[str, str, str], BomLine] = {}
    for line in lines:
        # Of an instance, the name tells the terms.
        key = line.kind, line.id, line.name
        if key in by_part:
            quantity = by_part[key].quantity + line.quantity
            by_part[key] = msgspec.structs.replace(
                line,
                quantity=quantity,
                price_usd=_times(line.unit_price_usd, quantity),
                usd_per_hour=_times(line.unit_usd_per_hour, quantity),
            )
        else:
            by_part[key] = line
    return tuple(by_part.values())
