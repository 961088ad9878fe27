"""Two plans held against each other, on the screen."""

from planopt.difference import Changed, Difference
from planopt.report.style import UNKNOWN, head
from planopt.report.table import Report, Section, Table, listed


def render_difference(found: Difference) -> Report:
    """Show what changed, and what is behind it."""
    said = ("", "before", "after", "?>by")
    counted = ("", ">before", ">after", "?>by")
    changed = (
        ("The question", said, found.request),
        ("Assumed", said, found.assumptions),
        ("Prices", counted, found.prices),
        ("Parts", counted, found.parts),
        ("Layout", said, found.layout),
        ("What comes of it", counted, found.figures),
    )
    return Report(
        head("The same plan" if found.same else "Two plans"),
        Section("Why", *listed(found.why)),
        *(
            Section(title, Table(titles, [_cells(each) for each in rows]))
            for title, titles, rows in changed
        ),
    )


def _cells(each: Changed) -> tuple[str, ...]:
    return each.name, _shown(each.before), _shown(each.after), _by(each)


def _shown(value: object) -> str:
    if value is None or value in ([], (), {}):
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
