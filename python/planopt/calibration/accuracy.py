"""``python -m planopt.calibration.accuracy``: the error tables of README and docs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from planopt.catalog import bundled_folder
from planopt.files import write
from planopt.intervals import ANY_ENGINE, residuals

if TYPE_CHECKING:
    from collections.abc import Callable

    from planopt.documents.validation import Residual

__all__ = ["PAGES", "table", "with_table"]

_BEGIN = "<!-- accuracy: python -m planopt.calibration.accuracy -->"
_END = "<!-- end of accuracy -->"
_LEAST_ROWS = 5


def is_shown(each: Residual) -> bool:
    """Leave out what few rows tell, and all but the sum where no engine is named."""
    in_part = each.of.endswith(ANY_ENGINE) and each.of != f"all{ANY_ENGINE}"
    return each.rows >= _LEAST_ROWS and not in_part


def is_of_a_family(each: Residual) -> bool:
    """Whether a class is wider than one accelerator."""
    hardware, _, _ = each.of.partition(" ")
    accelerator = bundled_folder() / "accelerators" / f"{hardware}.toml"
    return is_shown(each) and not accelerator.exists()


PAGES: Final[dict[str, Callable[[Residual], bool]]] = {
    "README.md": is_of_a_family,
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
    start = text.index(_BEGIN) + len(_BEGIN)
    return f"{text[:start]}\n{table(belongs)}\n{text[text.index(_END) :]}"


def main() -> None:
    """Write the tables into their pages."""
    for page, belongs in PAGES.items():
        path = Path(page)
        text = with_table(path.read_text(encoding="utf-8"), belongs)
        write(path, text)


if __name__ == "__main__":
    main()
