"""What a diagnostic means, on the screen."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from planopt.report.style import PLAIN, Style
from planopt.report.table import table, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.explain import Explanation

__all__ = ["render_explanation", "render_explanations"]


def render_explanation(one: Explanation, *, style: Style = PLAIN) -> str:
    """Show one diagnostic: meaning, an example, the fix."""
    return "\n".join(
        [
            style.head(f"{one.code}: {one.title}"),
            "",
            *wrapped(one.meaning, indent=""),
            "",
            style.head("Example"),
            textwrap.indent(one.example.strip(), "    "),
            "",
            style.head("Fix"),
            *wrapped(one.fix, indent=""),
        ]
    )


def render_explanations(every: Sequence[Explanation], *, style: Style = PLAIN) -> str:
    """List all diagnostics."""
    rows = [(one.code, one.title) for one in every]
    return "\n".join(table(("code", "title"), rows, "<<", style=style))
