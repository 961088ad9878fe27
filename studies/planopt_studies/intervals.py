"""Intervals of errors of rows that no fit had seen, by class, over groups of rows."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Final

import numpy as np

from planopt.documents.parts import LEVEL
from planopt_studies.documents import LEAST_GROUPS, LEAST_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["EVERYTHING", "Unseen", "by_class", "covered", "groups_of", "widened"]

EVERYTHING: Final = "all"
"""The class of everything."""
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
    row: str = ""
    """Of the measurement, where it is one row's."""


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
        for key, own in by_class(errors).items()
        if key[1] == EVERYTHING
        or (len(own) >= LEAST_ROWS and groups_of(own) >= LEAST_GROUPS)
    }


def by_class(errors: Iterable[Unseen]) -> dict[tuple[str, str], list[Unseen]]:
    """Return figures by metric and class."""
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
