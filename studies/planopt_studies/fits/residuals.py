"""Errors of rows that no fit had seen, as a file: what intervals are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from planopt.files import write
from planopt_studies.documents import LEAST_GROUPS, LEAST_ROWS
from planopt_studies.intervals import by_class, groups_of, widened

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from planopt_studies.intervals import Unseen

__all__ = ["residual_table", "write_residuals"]


def write_residuals(
    path: Path, errors: Iterable[Unseen], covers: Mapping[str, float], arguments: Any
) -> None:
    """Write quantiles of measured over predicted by metric and class, and print them.

    Parameters
    ----------
    path : Path
        Where to.
    errors : iterable
        Figures that no fit had seen.
    covers : mapping
        Share of them within intervals, by metric.
    arguments : Namespace
        Of the fit: its seed is cited.
    """
    lines = [
        "# Measured over predicted, of serving figures that the fit had not seen (five "
        f"grouped folds, seed {arguments.seed}).",
        "# An interval at 0.8 is the prediction times `low` to `high`: quantiles so "
        "far out that a group lies as often within those of the others.",
        "# Classes of fewer rows, or groups of rows that err alike, say nothing of "
        "their own.",
        f"least_rows = {LEAST_ROWS}",
        f"least_groups = {LEAST_GROUPS}",
        "# Share of the figures of a fold within intervals of the other ones:",
        "[covered]",
        *(f"{metric} = {share:.4f}" for metric, share in covers.items()),
    ]
    print("within intervals of the other folds:", dict(covers), flush=True)
    for (metric, name), own in sorted(by_class(errors).items()):
        ratios = [each.ratio for each in own]
        lines += residual_table(metric, name, ratios, within=widened(own))
        lines.append(f"groups = {groups_of(own)}")
        off = np.abs(1 / np.asarray(ratios) - 1)
        print(
            f"{metric:10} {name:36} n {len(ratios):5} median {np.median(off):6.1%} "
            f"MAPE {np.mean(off):6.1%}",
            flush=True,
        )
    write(path, "\n".join((*lines, "")))


def residual_table(
    metric: str,
    name: str,
    ratios: Sequence[float],
    *,
    within: tuple[float, float],
) -> list[str]:
    """Return the lines of one class: quantiles of measured over predicted, and errors.

    Parameters
    ----------
    metric, name : str
        What was predicted, and of which class.
    ratios : sequence of float
        Measured over predicted.
    within : tuple of float
        The interval.
    """
    off = np.abs(1 / np.asarray(ratios) - 1)
    low, high = within
    return [
        "",
        "[[residual]]",
        f'metric = "{metric}"',
        f'of = "{name}"',
        f"rows = {len(ratios)}",
        f"low = {low:.4f}",
        f"high = {high:.4f}",
        f"median_ape = {np.median(off):.4f}",
        f"mape = {np.mean(off):.4f}",
    ]
