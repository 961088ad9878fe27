"""Intervals of errors of rows that no fit had seen, by class, over groups of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import structs

from planopt.accuracy.statistics import calibration, interval_score
from planopt.documents.parts import LEVEL
from planopt_studies.documents import LEAST_GROUPS, LEAST_ROWS, Judgement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "EVERYTHING",
    "Unseen",
    "by_class",
    "groups_of",
    "judged_by_others",
    "quantiles",
    "widened",
]

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


def judged_by_others(errors: Iterable[Unseen]) -> dict[str, Judgement]:
    """Return by metric how figures lie in intervals made of the other folds alone.

    Beside them stand intervals of one width about the prediction: that of the class
    which held `LEVEL` of the other folds' rows.
    """
    inside: dict[str, list[tuple[float, float, float]]] = {}
    constant: dict[str, list[float]] = {}
    errors = list(errors)
    for fold in {each.fold for each in errors}:
        others = [each for each in errors if each.fold != fold]
        known, members = quantiles(others), by_class(others)
        for each in (each for each in errors if each.fold == fold):
            of = ((each.metric, name) for name in each.classes)
            key = next(key for key in of if key in known)
            sizes = [abs(math.log(one.ratio)) for one in members[key]]
            width = math.exp(float(np.quantile(sizes, LEVEL)))
            score = interval_score(each.ratio, 1 / width, width)
            inside.setdefault(each.metric, []).append((each.ratio, *known[key]))
            constant.setdefault(each.metric, []).append(score)
    return {
        metric: Judgement(
            **structs.asdict(calibration(metric, EVERYTHING, figures)),
            constant_score=fmean(constant[metric]),
        )
        for metric, figures in sorted(inside.items())
    }


def quantiles(
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
