"""The seed article's figures, ours beside its."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt.report.numbers import UNKNOWN
from planopt.report.style import PLAIN, Style
from planopt.report.table import table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["render_reproduction"]

_HEADER = ("figure", "kind", "article", "exact", "ours", "chained", "unit", "note")


def render_reproduction(
    rows: Sequence[Mapping[str, Any]], *, style: Style = PLAIN
) -> str:
    """Lay the figures out by topic."""
    topics = {row["topic"]: None for row in rows}
    blocks = [
        "\n".join(
            [
                style.head(topic),
                *table(
                    _HEADER,
                    [_cells(row) for row in rows if row["topic"] == topic],
                    "<<>>>><<",
                    style=style,
                ),
            ]
        )
        for topic in topics
    ]
    return "\n\n".join(blocks)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        str(row["id"]),
        str(row["kind"]),
        *(_figure(row.get(key)) for key in ("article", "exact", "ours", "chained")),
        str(row.get("unit") or ""),
        str(row.get("note") or ""),
    )


def _figure(value: Any) -> str:
    if value is None or value == "":
        return UNKNOWN
    return f"{value:.6g}" if isinstance(value, float) else str(value)
