"""A plan as Markdown, and as rows of section, item, property, value and unit."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from planopt.report.page.tables import sections

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planopt.documents.plan import PlanDocument
    from planopt.report.page.tables import Section

_MARKED = re.compile(r"([\\`*\[\]<>|])")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a text begins with that a spreadsheet would compute."""


def markdown(plan: PlanDocument, appendix: str = "") -> str:
    """Write a plan as tables between headings, and a text at its end."""
    model = getattr(plan.request, "model", None)
    title = f"# planopt: {_escaped(model or 'fleet')}\n"
    text = "\n".join([title, *map(_table, sections(plan)), *_remarks(plan)])
    return f"{text}\n```text\n{appendix}\n```\n" if appendix else text


def _table(of: Section) -> str:
    rule = ["---:" if column.is_number else "---" for column in of.columns]
    head = [column.title for column in of.columns]
    rows = [
        [_escaped(figure.told(figure.value)) for _, figure in cells]
        for cells in of.cells()
    ]
    lines = [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]
    return f"## {of.title}\n\n" + "\n".join(lines) + "\n"


def _remarks(plan: PlanDocument) -> Iterable[str]:
    """List limits in conflict, what was assumed, left out and is to be looked after."""
    why = plan.infeasibility
    said = {
        "Limits in conflict": [
            f"{each.name} {each.value}" for each in (why.binding if why else ())
        ],
        "Assumed": [f"{each.name}: {each.value}" for each in plan.assumed],
        "Not considered": [
            f"{each.count} {each.what}, {each.why} ({each.help})"
            for each in plan.not_considered
        ],
        "Warnings": [f"{each.code}: {each.message}" for each in plan.warnings],
    }
    for title, lines in said.items():
        if lines:
            yield f"## {title}\n"
            yield "\n".join(f"- {_escaped(line)}" for line in lines) + "\n"


def _escaped(text: str) -> str:
    """Let nothing in a text be markup."""
    return _MARKED.sub(r"\\\1", text)


def rows(plan: PlanDocument) -> str:
    """Write a plan as CSV: a line for each figure, exact, with its unit."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["section", "item", "property", "value", "unit"])
    for of in sections(plan):
        for (_, item), *cells in of.cells():
            for title, figure in cells:
                if figure.value not in (None, ""):
                    line = (of.title, item.value, title, figure.value, figure.unit)
                    writer.writerow(map(_harmless, line))
    return text.getvalue()


def _harmless(cell: object) -> object:
    """Let no spreadsheet take a text for a formula."""
    is_formula = isinstance(cell, str) and cell.startswith(_FORMULA)
    return f"'{cell}" if is_formula else cell
