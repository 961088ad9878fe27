"""Bills of materials, added up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from planopt.units import MICRO_USD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.documents.parts import BomLine


def _micro(usd: float | None) -> int:
    return round((usd or 0.0) * MICRO_USD)


def _times(unit_usd: float | None, quantity: int) -> float | None:
    return None if unit_usd is None else _micro(unit_usd) * quantity / MICRO_USD


def merged(lines: Sequence[BomLine]) -> tuple[BomLine, ...]:
    """Bill of materials with alike lines together, in the order they first appear."""
    by_part: dict[tuple[str, str, str, bool], BomLine] = {}
    for line in lines:
        # Of an instance, the name tells the terms.
        key = line.kind, line.id, line.name, line.owned
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
