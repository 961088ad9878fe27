"""What a diagnostic means, on the screen."""

import textwrap
from collections.abc import Sequence

from planopt.explain import Explanation
from planopt.report.style import head
from planopt.report.table import Report, Sentence, Table


def render_explanation(one: Explanation) -> Report:
    """Show one diagnostic: meaning, an example, the fix."""
    return Report(
        head(f"{one.code}: {one.title}"),
        "",
        Sentence(one.meaning, ""),
        "",
        head("Example"),
        textwrap.indent(one.example.strip(), "    "),
        "",
        head("Fix"),
        Sentence(one.fix, ""),
    )


def render_explanations(every: Sequence[Explanation]) -> Report:
    """List all diagnostics."""
    rows = [(one.code, one.title) for one in every]
    return Report(Table(("code", "title"), rows))
