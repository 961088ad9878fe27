"""Near-duplicates: rows that agree in everything that a prediction knows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from planopt_studies.floor import FIGURES

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["grouped"]

Row = TypeVar("Row", bound=msgspec.Struct)

# What rows are told apart by, and what was measured of them.
_NOT_DECISIVE = frozenset(
    {"id", "source", "date", "release", "engine_version", "group", "not_judged"}
    | {"flops_counted", "memory_statistic", *FIGURES}
)


def grouped(rows: Sequence[Row]) -> list[Row]:
    """Name the groups of rows that agree, by the first of each."""
    keys = [_key(row) for row in rows]
    many = Counter(keys)
    first: dict[Any, str] = {}
    named = []
    for row, key in zip(rows, keys, strict=True):
        name = first.setdefault(key, str(getattr(row, "id")))  # noqa: B009
        alike = many[key] > 1
        named.append(msgspec.structs.replace(row, group=name) if alike else row)
    return named


def _key(row: msgspec.Struct) -> tuple[Any, ...]:
    return tuple(
        value
        for name, value in msgspec.structs.asdict(row).items()
        if name not in _NOT_DECISIVE
    )
