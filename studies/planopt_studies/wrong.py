"""``python -m planopt_studies.wrong``: kinds with a known bias, as a table."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planopt.files import write
from planopt_studies.residuals import ANY_ENGINE, residuals

if TYPE_CHECKING:
    from planopt_studies.documents import Residual

PAGE: Final = Path("docs/explanation/wrong.md")
LEAST_ROWS: Final = 5
OFF_CENTRE: Final = 0.1
_BEGIN = "<!-- wrong: python -m planopt_studies.wrong -->"
_END = "<!-- end of wrong -->"


def centre(each: Residual) -> float:
    """Predicted over measured in the middle of the interval, less one."""
    return 1 / math.sqrt(each.low * each.high) - 1


def is_biased(each: Residual) -> bool:
    """Whether most rows err to one side, of a class with rows enough."""
    if each.rows < LEAST_ROWS or each.of.endswith(ANY_ENGINE) or each.of == "all":
        return False
    one_sided = each.low > 1 or each.high < 1
    return one_sided or abs(centre(each)) > OFF_CENTRE


def table() -> str:
    """Return the biased classes, the worst first, as Markdown."""
    biased = sorted(filter(is_biased, residuals()), key=lambda each: -abs(centre(each)))
    lines = [
        "| figure | hardware and model | rows | predicted over measured, middle | "
        "80 % of measured over predicted |",
        "|---|---|---:|---:|---|",
    ]
    lines += [
        f"| {each.metric.replace('_', ' ')} | {each.of} | {each.rows} | "
        f"{centre(each):+.0%} | {each.low - 1:+.0%} to {each.high - 1:+.0%} |"
        for each in biased
    ]
    return "\n".join(lines)


def with_table(text: str) -> str:
    """Put the table between its marks in a text."""
    before, after = text.split(_BEGIN)[0], text.split(_END)[1]
    return f"{before}{_BEGIN}\n{table()}\n{_END}{after}"


if __name__ == "__main__":
    write(PAGE, with_table(PAGE.read_text(encoding="utf-8")))
