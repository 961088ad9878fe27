"""Factors fitted to figures: as few as explain them, within their ranges.

Figures and factors count by their logarithms: a figure that is twice as long is as far
off as one that is half as long.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Vector = list[float]
Chosen = dict[str, float]

NOISE = 0.05
"""Share that a figure varies by from one run of a benchmark to the next."""
TELLS = 0.2
"""Uncertainty of a factor from which on nobody would say that it was measured."""
_STEP = math.log(1.1)
_LITTLE = math.log(1.02)
_ROUNDS, _CLOSE = 12, 1e-6


class Fitting:
    """Factors by their names, and how figures move with each."""

    def __init__(
        self,
        predicted: Callable[[Chosen], Vector],
        measured: Vector,
        ranges: Mapping[str, tuple[float, float]],
    ) -> None:
        self._predicted = predicted
        self._measured = measured
        self._limits = {
            name: (math.log(least), math.log(most))
            for name, (least, most) in ranges.items()
        }
        self._first = self._logs({})
        self.slopes = {name: self._slope(name) for name in ranges}
        self.chosen: list[str] = []

    def _of(self, factors: Chosen) -> Vector:
        return [math.log(each) for each in self._predicted(factors)]

    def _logs(self, at: Chosen) -> Vector:
        return self._of({name: math.exp(by) for name, by in at.items()})

    def _slope(self, name: str) -> Vector:
        # Less is always possible: a share may be at its peak.
        least, _ = self._limits[name]
        step = max(-_STEP, least)
        if not step:
            return [0.0] * len(self._first)
        moved = self._logs({name: step})
        return [(new - old) / step for new, old in zip(moved, self._first, strict=True)]

    def uncertainty(self, name: str) -> float:
        """Share that a factor may be off by, beside the others that are chosen."""
        own = _length(self._alone(name))
        return NOISE / own if own else math.inf

    def moves(self, name: str) -> bool:
        """Whether a factor moves what was measured by more than noise does."""
        return _length(self.slopes[name]) * TELLS >= NOISE

    def is_at_limit(self, name: str, at: Chosen) -> bool:
        """Whether more of a factor would fit better, and cannot be."""
        logs, slope = self._of(at), self.slopes[name]
        wanted = _dot(self._gap(logs), slope) / _dot(slope, slope)
        if abs(wanted) < NOISE:
            return False
        more = at[name] * math.exp(math.copysign(_LITTLE, wanted))
        moved = self._of({**at, name: more})
        return _length(_less(moved, logs, 1.0)) < _CLOSE

    def run(self) -> Chosen:
        """Choose factor by factor what explains the most, until noise is left."""
        at, logs = Chosen(), self._first
        while True:
            gains = {
                name: self._gain(name, self._gap(logs))
                for name in self.slopes
                if name not in at and self.uncertainty(name) <= TELLS
            }
            name = max(gains, key=lambda each: gains[each], default=None)
            if name is None or gains[name] < NOISE**2:
                break
            self.chosen.append(name)
            at, logs = self._met({**at, name: 0.0}, logs)
        return {name: math.exp(by) for name, by in at.items()}

    def _alone(self, name: str) -> Vector:
        """Return what a factor moves and no chosen one does."""
        others = [self.slopes[other] for other in self.chosen if other != name]
        return _beside(self.slopes[name], others)

    def _gain(self, name: str, gap: Vector) -> float:
        """Tell how much of the squares a factor can take away within its range."""
        own, (least, most) = self._alone(name), self._limits[name]
        square, along = _dot(own, own), _dot(own, gap)
        by = min(max(along / square, least), most)
        return by * (2 * along - by * square)

    def _met(self, at: Chosen, logs: Vector) -> tuple[Chosen, Vector]:
        """Move factors to where figures are met best."""
        slopes = {name: self.slopes[name] for name in at}
        best, best_logs = at, logs
        for _ in range(_ROUNDS):
            by = self._step(slopes, at, self._gap(logs))
            square = _dot([*by.values()], [*by.values()])
            if square < _CLOSE**2:
                break
            at = {name: at[name] + by[name] for name in at}
            moved = self._logs(at)
            # Slopes are corrected by what this step showed of them (Broyden 1965).
            for place, (new, old) in enumerate(zip(moved, logs, strict=True)):
                foreseen = sum(slopes[name][place] * by[name] for name in at)
                for name in at:
                    slopes[name] = slopes[name].copy()
                    slopes[name][place] += (new - old - foreseen) * by[name] / square
            logs = moved
            if self._off(logs) < self._off(best_logs):
                best, best_logs = at, logs
        return best, best_logs

    def _gap(self, logs: Vector) -> Vector:
        both = zip(self._measured, logs, strict=True)
        return [math.log(measured) - own for measured, own in both]

    def _off(self, logs: Vector) -> float:
        return _length(self._gap(logs))

    def _step(
        self, slopes: Mapping[str, Vector], at: Chosen, gap: Vector
    ) -> dict[str, float]:
        """Solve for a step; who would leave his range stays at its end."""
        fixed: dict[str, float] = {}
        while True:
            free = [name for name in slopes if name not in fixed]
            left = gap
            for name, by in fixed.items():
                left = _less(left, slopes[name], by)
            step = dict(
                zip(free, solved([slopes[name] for name in free], left), strict=True)
            )
            ends = {name: self._limits[name] for name in free}
            beyond = {
                name: min(max(at[name] + step[name], least), most) - at[name]
                for name, (least, most) in ends.items()
                if not least <= at[name] + step[name] <= most
            }
            if not beyond:
                return {**fixed, **step}
            fixed |= beyond


def solved(columns: Sequence[Vector], target: Vector) -> Vector:
    """Coefficients of columns whose sum is the nearest to a target."""
    if not columns:
        return []
    *others, last = columns
    own = _beside(last, others)
    square = _dot(own, own)
    share = _dot(own, target) / square if square else 0.0
    return [*solved(others, _less(target, last, share)), share]


def _beside(vector: Vector, others: Sequence[Vector]) -> Vector:
    """Return the part of a vector that is no sum of others (Gram and Schmidt)."""
    basis: list[Vector] = []
    for other in (*others, vector):
        own = other
        for each in basis:
            own = _less(own, each, _dot(own, each))
        length = _length(own)
        if other is not vector and length > _CLOSE:
            basis.append([each / length for each in own])
    return own


def _dot(one: Vector, other: Vector) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def _length(vector: Vector) -> float:
    return math.hypot(*vector)


def _less(one: Vector, other: Vector, by: float) -> Vector:
    return [a - by * b for a, b in zip(one, other, strict=True)]
