"""``python -m planopt.calibration.accuracy``: the error table of README."""

from __future__ import annotations

from pathlib import Path

from planopt.intervals import ANY_ENGINE, Residual, residuals

__all__ = ["table", "with_table"]

_BEGIN = "<!-- accuracy: python -m planopt.calibration.accuracy -->"
_END = "<!-- end of accuracy -->"
_LEAST_ROWS = 5


def table() -> str:
    """Return the errors by class as Markdown."""
    lines = [
        "| figure | hardware and model | rows | median error | mean error "
        "| 80 % interval |",
        "|---|---|---|---|---|---|",
    ]
    lines += [_line(each) for each in residuals() if _is_shown(each)]
    return "\n".join(lines)


def _is_shown(each: Residual) -> bool:
    """Leave out what few rows tell, and all but the sum where no engine is named."""
    in_part = each.of.endswith(ANY_ENGINE) and each.of != f"all{ANY_ENGINE}"
    return each.rows >= _LEAST_ROWS and not in_part


def _line(each: Residual) -> str:
    figure = each.metric.replace("_", " ")
    return (
        f"| {figure} | {each.of} | {each.rows} | {each.median_ape:.1%} | "
        f"{each.mape:.1%} | {each.low - 1:+.0%} to {each.high - 1:+.0%} |"
    )


def with_table(text: str) -> str:
    """Put the table between its marks in a text."""
    start = text.index(_BEGIN) + len(_BEGIN)
    return f"{text[:start]}\n{table()}\n{text[text.index(_END) :]}"


def main() -> None:
    """Write the table into README."""
    readme = Path("README.md")
    text = with_table(readme.read_text(encoding="utf-8"))
    readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
