"""``python -m planopt_studies.accuracy``: the error tables of README and docs.

Beside them it writes what rows left out are judged to be worth, into the page of docs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from planopt.catalog.open import DEFAULT_ASSUMPTIONS, bundled_folder
from planopt.files import write
from planopt.toml import tomllib
from planopt_studies.fits.engine_rows import SERVERS, TERMS, USUAL
from planopt_studies.judge import judge
from planopt_studies.judged import render_judged
from planopt_studies.residuals import ANY_ENGINE, residuals

if TYPE_CHECKING:
    from collections.abc import Callable

    from planopt_studies.documents import Residual
    from planopt_studies.fits.engine_rows import Term

__all__ = [
    "JUDGED_PAGE",
    "PAGES",
    "between",
    "table",
    "with_judged",
    "with_table",
    "with_terms",
]

_BEGIN = "<!-- accuracy: python -m planopt_studies.accuracy -->"
_END = "<!-- end of accuracy -->"
_BEGIN_JUDGED = "<!-- judged: python -m planopt_studies.accuracy -->"
_END_JUDGED = "<!-- end of judged -->"
_BEGIN_TERMS = "<!-- terms: python -m planopt_studies.accuracy -->"
_END_TERMS = "<!-- end of terms -->"
JUDGED_PAGE: Final = "docs/reference/accuracy.md"
"""The page that says what rows left out are worth."""

_LEAST_ROWS = 5


def is_shown(each: Residual) -> bool:
    """Leave out what few rows tell, and all but the sum where no engine is named."""
    in_part = each.of.endswith(ANY_ENGINE) and each.of != f"all{ANY_ENGINE}"
    return each.rows >= _LEAST_ROWS and not in_part


def is_of_all(each: Residual) -> bool:
    """Whether a class has every row of a figure."""
    return is_shown(each) and each.of.partition(",")[0] == "all"


PAGES: Final[dict[str, Callable[[Residual], bool]]] = {
    "README.md": is_of_all,
    "docs/reference/accuracy.md": is_shown,
}
"""Pages with a table, and the classes that it has."""


def table(belongs: Callable[[Residual], bool]) -> str:
    """Return the errors by class as Markdown."""
    lines = [
        "| figure | hardware and model | rows | median error | mean error "
        "| 80 % interval |",
        "|---|---|---|---|---|---|",
    ]
    lines += [_line(each) for each in residuals() if belongs(each)]
    return "\n".join(lines)


def _line(each: Residual) -> str:
    figure = each.metric.replace("_", " ")
    return (
        f"| {figure} | {each.of} | {each.rows} | {each.median_ape:.1%} | "
        f"{each.mape:.1%} | {each.low - 1:+.0%} to {each.high - 1:+.0%} |"
    )


def with_table(text: str, belongs: Callable[[Residual], bool]) -> str:
    """Put the table between its marks in a text."""
    return between(text, _BEGIN, _END, table(belongs))


def with_judged(text: str) -> str:
    """Put what rows left out are worth between its marks in a text."""
    judged = render_judged(judge())
    return between(text, _BEGIN_JUDGED, _END_JUDGED, f"```text\n{judged}\n```")


def with_terms(text: str) -> str:
    """Put what engines were fitted to between its marks in a text."""
    return between(text, _BEGIN_TERMS, _END_TERMS, terms())


def terms() -> str:
    """Return the host terms of servers within their physical ranges, as Markdown."""
    path = bundled_folder() / "assumptions" / f"{DEFAULT_ASSUMPTIONS}.toml"
    engines = tomllib.loads(path.read_text(encoding="utf-8"))["engines"]
    shown = [name for name in (*SERVERS, USUAL) if name in engines]
    lines = [
        f"| term | range | {' | '.join(shown)} |",
        "|---|---|" + "---:|" * len(shown),
    ]
    for term in TERMS:
        cells = [_lies(engines[name].get(term.key), term) for name in shown]
        span = f"{term.low:g} to {term.high:g} {term.unit}".rstrip()
        lines.append(f"| `{term.key}` | {span} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _lies(entry: dict[str, float | str] | None, term: Term) -> str:
    """Say a figure, and where in its range it lies."""
    if entry is None:
        return "-"
    value = float(str(entry["value"]).removesuffix(" us"))
    return f"{value:g} ({(value - term.low) / (term.high - term.low):.0%})"


def between(text: str, begin: str, end: str, new: str) -> str:
    """Put something between two marks in a text."""
    start = text.index(begin) + len(begin)
    return f"{text[:start]}\n{new}\n{text[text.index(end) :]}"


def main() -> None:
    """Write the tables into their pages."""
    for name, belongs in PAGES.items():
        path = Path(name)
        text = with_table(path.read_text(encoding="utf-8"), belongs)
        write(path, text)
    page = Path(JUDGED_PAGE)
    write(page, with_terms(with_judged(page.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
