"""Least squares of relative errors, robust against kernels that are chosen badly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.optimize import least_squares

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["OVERLAP", "Bounds", "Fit", "fit", "roofline"]

OVERLAP: Final = 0.95
"""`compute.roofline_overlap`: the middle of single fits, from 0.93 to 0.97."""

# Relative errors beyond this count linearly: one bad kernel must not bend the curve.
_OUTLIER: Final = 0.1


@dataclass(frozen=True)
class Bounds:
    """Where a parameter starts, and between what it may end."""

    start: float
    least: float
    most: float


@dataclass(frozen=True)
class Fit:
    """Parameters with the error that they leave, and the rows behind it."""

    values: dict[str, float]
    median_error: float
    mean_error: float
    rows: int


def fit(
    parameters: Mapping[str, Bounds],
    predict: Callable[[Mapping[str, float]], Array],
    measured: Array,
) -> Fit:
    """Find the parameters whose predictions are closest to what was measured.

    Parameters
    ----------
    parameters : mapping
        What is looked for, each more than 0.
    predict : callable
        Seconds of every row from values of the parameters.
    measured : array
        Seconds of every row.
    """
    names = list(parameters)
    logs = np.log([[b.start, b.least, b.most] for b in parameters.values()])

    def values(logarithms: Array) -> dict[str, float]:
        return dict(zip(names, np.exp(logarithms).tolist(), strict=True))

    def errors(logarithms: Array) -> Array:
        return np.log(predict(values(logarithms)) / measured)

    found = least_squares(
        errors,
        logs[:, 0],
        bounds=(logs[:, 1], logs[:, 2]),
        loss="soft_l1",
        f_scale=_OUTLIER,
    )
    off = np.abs(np.expm1(errors(found.x)))
    return Fit(
        values(found.x), float(np.median(off)), float(np.mean(off)), len(measured)
    )


# docs/reference/model.md, section 3.
def roofline(arithmetic: Array, traffic: Array) -> Array:
    """Return the seconds of arithmetic and traffic that partly hide each other."""
    apart = (arithmetic - traffic) ** 2
    root = np.sqrt(apart + 4 * (1 - OVERLAP) * arithmetic * traffic)
    return np.asarray((arithmetic + traffic + root) / 2)
