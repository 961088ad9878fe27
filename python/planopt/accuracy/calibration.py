"""Whether intervals hold as often as they say, and how wide they are for that.

Each figure is judged by the interval of its class, made of rows that no fit had seen
(`planopt.accuracy.residuals`).
"""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

from planopt.confidence import chance
from planopt.documents.evidence import Kind
from planopt.documents.parts import LEVEL
from planopt.documents.validation import Calibration

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["calibration", "interval_score"]

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
