"""Errors of rows that no fit had seen, as quantiles by class: what intervals are of."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planopt.intervals import LEAST_ROWS, LEVEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = ["EVERYTHING", "Unseen", "covered", "write_residuals"]

EVERYTHING: Final = "all"
"""The class of everything."""
_LOW, _HIGH = (1 - LEVEL) / 2, (1 + LEVEL) / 2


@dataclass(frozen=True, kw_only=True)
class Unseen:
    """The error of a figure that a fit had not seen."""

    metric: str
    classes: tuple[str, ...]
    """That it counts in, from the narrowest to the widest."""
    ratio: float
    """Measured over predicted."""
    fold: int = 0


def covered(errors: Iterable[Unseen]) -> dict[str, float]:
    """Return by metric the share of figures within intervals of the other folds."""
    inside: dict[str, list[bool]] = {}
    errors = list(errors)
    for fold in {each.fold for each in errors}:
        quantiles = _quantiles(each for each in errors if each.fold != fold)
        for each in (each for each in errors if each.fold == fold):
            of = ((each.metric, name) for name in each.classes)
            low, high = next(quantiles[key] for key in of if key in quantiles)
            inside.setdefault(each.metric, []).append(low <= each.ratio <= high)
    return {metric: fmean(within) for metric, within in sorted(inside.items())}


def _quantiles(
    errors: Iterable[Unseen],
) -> dict[tuple[str, str], tuple[float, float]]:
    """Return the interval of each class that has rows enough."""
    ratios: dict[tuple[str, str], list[float]] = {}
    for each in errors:
        for name in each.classes:
            ratios.setdefault((each.metric, name), []).append(each.ratio)
    return {
        key: (float(np.quantile(own, _LOW)), float(np.quantile(own, _HIGH)))
        for key, own in ratios.items()
        if len(own) >= LEAST_ROWS or key[1] == EVERYTHING
    }


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
    classes: dict[tuple[str, str], list[float]] = {}
    for each in errors:
        for name in each.classes:
            classes.setdefault((each.metric, name), []).append(each.ratio)
    lines = [
        "# Measured over predicted, of serving figures that the fit had not seen (five "
        f"grouped folds, seed {arguments.seed}).",
        "# An interval at 0.8 is the prediction times `low` to `high`: the tenth and "
        "the ninetieth percentile.",
        "# Share of the figures of a fold within intervals of the other ones:",
        "[covered]",
        *(f"{metric} = {share:.4f}" for metric, share in covers.items()),
    ]
    print("within intervals of the other folds:", dict(covers), flush=True)
    for (metric, name), ratios in sorted(classes.items()):
        lines += residual_table(metric, name, ratios)
        off = np.abs(1 / np.asarray(ratios) - 1)
        print(
            f"{metric:10} {name:36} n {len(ratios):5} median {np.median(off):6.1%} "
            f"MAPE {np.mean(off):6.1%}",
            flush=True,
        )
    path.write_text("\n".join((*lines, "")), encoding="utf-8")


def residual_table(
    metric: str, name: str, ratios: Sequence[float], method: Any = "linear"
) -> list[str]:
    """Return the lines of one class: quantiles of measured over predicted, and errors.

    Parameters
    ----------
    metric, name : str
        What was predicted, and of which class.
    ratios : sequence of float
        Measured over predicted.
    method : str
        How quantiles are estimated, a method of `numpy.quantile`.
    """
    off = np.abs(1 / np.asarray(ratios) - 1)
    low, high = np.quantile(ratios, (_LOW, _HIGH), method=method)
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
