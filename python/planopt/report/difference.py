"""Two plans held against each other, on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt.report.numbers import UNKNOWN
from planopt.report.parts import section
from planopt.report.style import PLAIN, Style
from planopt.report.table import table, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.documents.difference import Changed, Difference

__all__ = ["render_difference"]


def render_difference(found: Difference, *, style: Style = PLAIN) -> str:
    """Show what changed, and what is behind it."""
    blocks = (
        ("The question", found.request),
        ("Assumed", found.assumptions),
        ("Prices", found.prices),
        ("Parts", found.parts),
        ("Layout", found.layout),
        ("What comes of it", found.figures),
    )
    why = [line for each in found.why for line in wrapped(each, hanging="    ")]
    lines = [
        style.head("The same plan" if found.same else "Two plans"),
        *section("Why", why, style),
    ]
    for title, changed in blocks:
        lines += section(title, _rows(changed, style), style)
    return "\n".join(lines)


def _rows(changed: Sequence[Changed], style: Style) -> list[str]:
    if not changed:
        return []
    rows = [
        (each.name, _shown(each.before), _shown(each.after), _by(each))
        for each in changed
    ]
    header = ("", "before", "after", "by")
    if not any(by for *_, by in rows):
        return table(header[:-1], [row[:-1] for row in rows], "<>>", style=style)
    return table(header, rows, "<>>>", style=style)


def _shown(value: Any) -> str:
    if value is None or value in ([], {}):
        return UNKNOWN
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)


def _by(each: Changed) -> str:
    """Return the change as a share of what was before."""
    before, after = each.before, each.after
    numbers = all(
        isinstance(value, int | float) and not isinstance(value, bool)
        for value in (before, after)
    )
    return f"{after / before - 1:+.1%}" if numbers and before else ""
