"""Catalogs on the screen: entries by kind, an entry with the source of each figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planopt.report.style import PLAIN, Style
from planopt.report.table import table

__all__ = ["render_catalog", "render_entry"]


def render_catalog(
    entries: Mapping[str, Sequence[Mapping[str, Any]]], *, style: Style = PLAIN
) -> str:
    """List entries by kind, with the columns that the first one has."""
    blocks = []
    for kind, of_kind in entries.items():
        lines = [style.head(f"{kind} ({len(of_kind)})")]
        if of_kind:
            columns = ["id", *(key for key in of_kind[0] if key not in ("id", "kind"))]
            rows = [[_said(entry.get(key)) for key in columns] for entry in of_kind]
            lines += table(columns, rows, "<" * len(columns), style=style)
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def render_entry(entry: Mapping[str, Any], *, style: Style = PLAIN) -> str:
    """Show an entry: field, value, where the value comes from."""
    sources = entry.get("sources", {})
    rows = list(_rows(entry, "", sources))
    title = f"{entry.get('name', entry.get('id', ''))}"
    header = ("field", "value", "source")
    return "\n".join([style.head(title), *table(header, rows, "<<<", style=style)])


def _rows(
    fields: Mapping[str, Any], prefix: str, sources: Mapping[str, Any]
) -> list[tuple[str, str, str]]:
    rows = []
    for key, value in fields.items():
        if key == "sources":
            continue
        name = prefix + key
        if isinstance(value, Mapping) and "value" in value:
            source = str(value.get("source") or "")
            rows.append((name, _said(value["value"]), _cited(source, sources)))
        elif isinstance(value, Mapping):
            rows += _rows(value, f"{name}.", sources)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            for place, each in enumerate(value):
                rows += _rows(each, f"{name}[{place}].", sources)
        else:
            rows.append((name, _said(value), ""))
    return rows


def _cited(source: str, sources: Mapping[str, Any]) -> str:
    """Spell a source out: citation, date, how far it is to be trusted."""
    known = sources.get(source)
    if not isinstance(known, Mapping):
        return source
    parts = (known.get("cite"), known.get("date"), known.get("status"))
    return ", ".join(str(part) for part in parts if part)


def _said(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_said, value))
    if isinstance(value, Mapping):
        return _said(value.get("value")) if "value" in value else str(dict(value))
    return str(value)
