"""The floor: how far rows lie apart that agree in all that a prediction knows.

Rows of a group differ in what no column decides: repetition, and releases of software.
No prediction of a group can be nearer to its rows than their median is.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from planopt.accuracy import serving_rows, training
from planopt.accuracy.statistics import quantile, spread

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planopt.accuracy.validate import Measured

__all__ = ["floors"]

FIGURES: Final = (*training.FIGURES, *serving_rows.FIGURES, "measured_us")
"""Columns of what is measured, of every kind of row."""
_MOST: Final = 0.9


def floors(rows: Iterable[Measured]) -> list[str]:
    """Return lines of a table: by source and figure, all releases and one alone."""
    lines = [
        "| source | figure | rows | groups | median | nine of ten | one release |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    of: dict[tuple[str, str], list[tuple[str, str, float]]] = {}
    for row in rows:
        release = getattr(row, "release", "") or getattr(row, "engine_version", "")
        for figure in FIGURES:
            measured = getattr(row, figure, None)
            if row.group and measured is not None:
                one = (row.group, f"{row.group} {release}", measured)
                of.setdefault((row.source, figure), []).append(one)
    for (source, figure), found in sorted(of.items()):
        apart = sorted(spread((group, value) for group, _, value in found))
        alone = sorted(spread((group, value) for _, group, value in found))
        if apart:
            names = [group for group, _, _ in found]
            groups = len({name for name in names if names.count(name) > 1})
            same = f"{median(alone):.1%} of {len(alone)}" if alone else "-"
            lines.append(
                f"| {source} | {figure} | {len(apart)} | {groups} | "
                f"{median(apart):.1%} | {quantile(apart, _MOST):.1%} | {same} |"
            )
    return lines
