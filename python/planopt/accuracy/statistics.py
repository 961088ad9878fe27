"""How far predictions are off: figures of errors, and quantiles of those on file."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress
from statistics import StatisticsError, correlation, fmean, median
from typing import Final

import msgspec
from msgspec import Struct

from planopt.catalog.open import Catalog
from planopt.confidence import chance
from planopt.documents.explanations import Kind
from planopt.documents.parts import LEVEL
from planopt.documents.validation import Calibration, Comparison, Statistics

_HIGH = 0.9
_LEAST_RANKED = 3  # rows below which a rank correlation says nothing


def statistics_of(comparisons: Iterable[Comparison], *, missing: int = 0) -> Statistics:
    """Sum up the errors of some predictions, `missing` rows having none."""
    compared = list(comparisons)
    total = len(compared) + missing
    apart = spread((each.group_of_alike, each.measured) for each in compared)
    if not compared:
        return Statistics(n=0, n_total=total)
    errors = [each.error for each in compared]
    sizes = sorted(abs(error) for error in errors)
    return Statistics(
        n=len(compared),
        n_total=total,
        mape=fmean(sizes),
        median_ape=median(sizes),
        p90_ape=quantile(sizes, _HIGH),
        bias=fmean(errors),
        spearman=spearman_rho(
            [each.predicted for each in compared], [each.measured for each in compared]
        ),
        floor=median(apart) if apart else None,
    )


def spread(measured: Iterable[tuple[str, float]]) -> list[float]:
    """Return how far figures lie from the median of their group, as shares of them.

    Of a figure in no group, or alone in it, nothing is known.
    """
    groups: dict[str, list[float]] = {}
    for group, figure in measured:
        groups.setdefault(group, []).append(figure)
    return [
        abs(median(figures) / figure - 1)
        for group, figures in groups.items()
        if group and len(figures) > 1
        for figure in figures
    ]


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` of the values do not exceed."""
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


def spearman_rho(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Spearman's correlation: Pearson's, of ranks, equal values sharing theirs.

    ``None`` for fewer than three pairs, and where one side is the same throughout.
    """
    if len(first) < _LEAST_RANKED:
        return None
    with suppress(StatisticsError):
        return correlation(_ranks(first), _ranks(second))
    return None


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [
        (bisect_left(ordered, each) + bisect_right(ordered, each) - 1) / 2
        for each in values
    ]


_PARTS: Final = 10
"""Of a histogram."""


def interval_score(ratio: float, low: float, high: float) -> float:
    """Return the interval score of logarithms: smaller is better.

    The width, and what a figure lies outside by, over half of the chance that it does
    (Gneiting and Raftery 2007, eq. 43). `ratio` is measured over predicted, `low` and
    `high` are multiples of the prediction.
    """
    below, above = math.log(low / ratio), math.log(ratio / high)
    outside = max(below, 0.0) + max(above, 0.0)
    return math.log(high / low) + 2 / (1 - LEVEL) * outside


def calibration(
    metric: str, of: str, figures: Iterable[tuple[float, float, float]]
) -> Calibration:
    """Sum up how figures of a class lie in their intervals.

    Each figure is measured over predicted, and both ends of its interval at 80 %.
    """
    found = list(figures)
    parts = [0] * _PARTS
    for ratio, low, high in found:
        share = chance(Kind(accelerator=of, low=low, high=high), ratio)
        parts[min(int(share * _PARTS), _PARTS - 1)] += 1
    return Calibration(
        metric=metric,
        of=of,
        n=len(found),
        inside=fmean(low <= ratio <= high for ratio, low, high in found),
        width=median(math.sqrt(high / low) - 1 for _, low, high in found),
        score=fmean(interval_score(*each) for each in found),
        pit=tuple(parts),
    )


class Errors(Struct, frozen=True, kw_only=True):
    """Errors of a metric of the nearest class that is known, as the core finds them.

    They are quantiles of rows that no fit had seen: ``measurements/residuals.toml`` and
    ``serving-residuals.toml`` have, for a metric and a class of hardware and model, the
    tenth and the ninetieth percentile of measured over predicted.
    """

    of: str
    rows: int
    low: float
    high: float
    median_ape: float
    mape: float
    extrapolated: bool
    """No measurement is of this hardware and this kind of model."""


def errors(
    catalog: Catalog,
    accelerator: str,
    model: str,
    metrics: Sequence[str],
    *,
    any_engine: bool = False,
) -> dict[str, Errors]:
    """Return the errors that are known; ``any_engine`` is of serving without one."""
    request = {
        "model": model,
        "accelerator": accelerator,
        "any_engine": any_engine,
        "metrics": list(metrics),
    }
    response = catalog.native.errors(msgspec.json.encode(request))
    found = msgspec.json.decode(response, type=dict[str, Errors | None])
    return {metric: each for metric, each in found.items() if each is not None}
