"""Catalogs on the screen: entries by kind, an entry with the source of each figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt.report.numbers import UNKNOWN
from planopt.report.style import PLAIN, Style
from planopt.report.table import table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["render_catalog", "render_entry"]


def render_catalog(
    entries: Mapping[str, Sequence[Mapping[str, Any]]], *, style: Style = PLAIN
) -> str:
    """List entries by kind."""
    blocks = []
    for kind, of_kind in entries.items():
        rows = [(str(entry["id"]), str(entry["name"])) for entry in of_kind]
        listed = table(("id", "name"), rows, "<<", style=style) if rows else []
        blocks.append("\n".join([style.head(f"{kind} ({len(rows)})"), *listed]))
    return "\n\n".join(blocks)


def render_entry(entry: Mapping[str, Any], *, style: Style = PLAIN) -> str:
    """Show an entry: its figures, each with its source and how far to trust it."""
    rows = [
        (str(figure["field"]), str(figure["text"]), _source(figure))
        for figure in entry["figures"]
    ]
    header = ("field", "value", "source")
    return "\n".join(
        [
            f"{style.head(str(entry['name']))}   {entry['kind']} `{entry['id']}`",
            *table(header, rows, "<<<", style=style),
            f"  = file: {entry.get('file') or UNKNOWN}",
        ]
    )


def _source(figure: Mapping[str, Any]) -> str:
    parts = (figure.get(key) for key in ("status", "date", "cite"))
    return ", ".join(str(part) for part in parts if part)
