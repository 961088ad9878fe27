"""Factors fitted to figures: as few as explain them, within their ranges.

Figures and factors count by their logarithms: a figure that is twice as long is as far
off as one that is half as long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from planopt.errors import needing

with needing("scipy", "exchange"):
    import numpy as np
    from scipy import optimize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float64]

Chosen = dict[str, float]

NOISE = 0.05
"""Share that a figure varies by from one run of a benchmark to the next."""
TELLS = 0.2
"""Uncertainty of a factor from which on nobody would say that it was measured."""
_STEP = math.log(1.1)
_LITTLE = math.log(1.02)
_CLOSE = 1e-6


class Fitting:
    """Factors by their names, and how figures move with each."""

    def __init__(
        self,
        predicted: Callable[[Chosen], Sequence[float]],
        measured: Sequence[float],
        ranges: Mapping[str, tuple[float, float]],
    ) -> None:
        self._predicted = predicted
        self._measured = np.log(measured)
        self._limits = {name: np.log(both) for name, both in ranges.items()}
        self._gap = self._measured - self._logs({})
        self.slopes = {name: self._slope(name, {name: 0.0}) for name in ranges}
        self.chosen: list[str] = []

    def _logs(self, at: Chosen) -> Vector:
        factors = {name: math.exp(by) for name, by in at.items()}
        logs: Vector = np.log(self._predicted(factors))
        return logs

    def _slope(self, name: str, at: Chosen) -> Vector:
        # Less is always possible: a share may be at its peak.
        least, _ = self._limits[name]
        step = max(-_STEP, float(least) - at[name])
        if not step:
            return np.zeros(len(self._measured))
        moved = self._logs({**at, name: at[name] + step}) - self._logs(at)
        return moved / step

    def uncertainty(self, name: str) -> float:
        """Share that a factor may be off by, beside the others that are chosen."""
        own = np.linalg.norm(self._alone(name))
        return float(NOISE / own) if own > _CLOSE else math.inf

    def moves(self, name: str) -> bool:
        """Whether a factor moves what was measured by more than noise does."""
        return bool(np.linalg.norm(self.slopes[name]) * TELLS >= NOISE)

    def is_at_limit(self, name: str, at: Chosen) -> bool:
        """Whether more of a factor would fit better, and cannot be."""
        logs, slope = np.log(self._predicted(at)), self.slopes[name]
        wanted = (self._measured - logs) @ slope / (slope @ slope)
        if abs(wanted) < NOISE:
            return False
        more = at[name] * math.exp(math.copysign(_LITTLE, wanted))
        moved = np.log(self._predicted({**at, name: more}))
        return bool(np.linalg.norm(moved - logs) < _CLOSE)

    def run(self) -> Chosen:
        """Choose factor by factor what explains the most, until noise is left."""
        at = Chosen()
        while True:
            gains = {
                name: self._gain(name)
                for name in self.slopes
                if name not in at and self.uncertainty(name) <= TELLS
            }
            name = max(gains, key=lambda each: gains[each], default=None)
            if name is None or gains[name] < NOISE**2:
                break
            self.chosen.append(name)
            at = self._met({**at, name: 0.0})
        return {name: math.exp(by) for name, by in at.items()}

    def _alone(self, name: str) -> Vector:
        """Return what a factor moves and no chosen one does."""
        slope = self.slopes[name]
        others = [self.slopes[other] for other in self.chosen if other != name]
        if not others:
            return slope
        beside = np.column_stack(others)
        return slope - beside @ np.linalg.lstsq(beside, slope)[0]

    def _gain(self, name: str) -> float:
        """Tell how much of the squares a factor can take away within its range."""
        own = self._alone(name)
        square, along = own @ own, own @ self._gap
        by = np.clip(along / square, *self._limits[name])
        return float(by * (2 * along - by * square))

    def _met(self, at: Chosen) -> Chosen:
        """Move factors to where figures are met best, and keep what is left of them."""

        def named(logs: Iterable[float]) -> Chosen:
            return dict(zip(at, map(float, logs), strict=True))

        found = optimize.least_squares(
            lambda logs: self._logs(named(logs)) - self._measured,
            [*at.values()],
            jac=lambda logs: np.column_stack(
                [self._slope(name, named(logs)) for name in at]
            ),
            bounds=np.transpose([self._limits[name] for name in at]),
            xtol=_CLOSE,
            ftol=_CLOSE,
        )
        self._gap = -found.fun
        return named(found.x)
