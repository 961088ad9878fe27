"""Errors of rows that no fit had seen, as quantiles by class: what intervals are of."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planopt.documents.parts import LEVEL
from planopt.files import write
from planopt_studies.documents import LEAST_GROUPS, LEAST_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = ["EVERYTHING", "Unseen", "covered", "write_residuals"]

EVERYTHING: Final = "all"
"""The class of everything."""
_LOW, _HIGH = (1 - LEVEL) / 2, (1 + LEVEL) / 2
_LEVELS: Final = tuple(np.arange(LEVEL, 1.0, 0.01))
"""Shares of rows between two quantiles: the narrowest that will do is taken."""


@dataclass(frozen=True, kw_only=True)
class Unseen:
    """The error of a figure that a fit had not seen."""

    metric: str
    classes: tuple[str, ...]
    """That it counts in, from the narrowest to the widest."""
    ratio: float
    """Measured over predicted."""
    fold: int = 0
    group: tuple[str, ...] = ()
    """What is left out as a whole: rows of one are alike."""


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
    """Return the interval of each class that has rows and groups enough."""
    return {
        key: widened(own)
        for key, own in _by_class(errors).items()
        if key[1] == EVERYTHING
        or (len(own) >= LEAST_ROWS and groups_of(own) >= LEAST_GROUPS)
    }


def _by_class(errors: Iterable[Unseen]) -> dict[tuple[str, str], list[Unseen]]:
    found: dict[tuple[str, str], list[Unseen]] = {}
    for each in errors:
        for name in each.classes:
            found.setdefault((each.metric, name), []).append(each)
    return found


def groups_of(errors: Iterable[Unseen]) -> int:
    """Return how many groups figures are of: those of one are alike."""
    return len({each.group for each in errors})


def widened(errors: Sequence[Unseen]) -> tuple[float, float]:
    """Return quantiles between which figures of another group are to be expected.

    Rows of a group err alike, so that quantiles of rows cover too little of a group
    that is not among them. They are taken so far out that groups lie as often as
    `LEVEL` says within those of the others: a conformal interval over groups.
    """
    ratios = np.array([each.ratio for each in errors])
    names = [each.group for each in errors]
    groups = np.array([sorted(set(names)).index(name) for name in names])

    def covers(level: float) -> bool:
        inside = 0
        for group in range(groups.max() + 1):
            own = groups == group
            if own.all():
                return True
            low, high = np.quantile(ratios[~own], ((1 - level) / 2, (1 + level) / 2))
            inside += int(((low <= ratios[own]) & (ratios[own] <= high)).sum())
        return inside >= LEVEL * len(ratios)

    level = next((level for level in _LEVELS if covers(level)), _LEVELS[-1])
    low, high = np.quantile(ratios, ((1 - level) / 2, (1 + level) / 2))
    return float(low), float(high)


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
    for (metric, name), own in sorted(_by_class(errors).items()):
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
    method: Any = "linear",
    *,
    within: tuple[float, float] | None = None,
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
    within : tuple of float, optional
        The interval in place of quantiles at its level.
    """
    off = np.abs(1 / np.asarray(ratios) - 1)
    low, high = within or np.quantile(ratios, (_LOW, _HIGH), method=method)
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
