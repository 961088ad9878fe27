"""Finding a best purchase: one goal after the other, each with its proof."""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from planopt.procurement.model import Model, Row, Scaled, scaled
from planopt.procurement.solver import Outcome, SolveInterrupted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.procurement.programme import Programme
    from planopt.procurement.solver import Solver

Vector = tuple[int, ...]
"""Counts of all units, in the order of the programme."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What is known once a goal has been pursued."""

    # Nothing is better than the incumbent, or nothing is possible at all.
    complete: bool
    # No purchase is below it; none where no bound is known.
    bound: Fraction | None = None


class Search:
    """A programme, the best purchase so far, and the goals already settled."""

    def __init__(self, programme: Programme, solver: Solver, deadline: float) -> None:
        self.best: Vector | None = None
        self.deadline = deadline
        self._uppers = programme.uppers
        self._row_sets = list(programme.row_sets)
        self._solver = solver

    def any(self) -> Outcome:
        """Find any purchase; ``infeasible`` is proven, ``unknown`` is not."""
        outcome = Outcome("infeasible")
        indifferent = (0,) * len(self._uppers)
        unknown = False
        for rows in self._row_sets:
            outcome = self._solve(Model(self._uppers, rows, indifferent))
            if outcome.values:
                return outcome
            unknown |= outcome.status == "unknown"
        return Outcome("unknown" if unknown else "infeasible")

    def minimise(self, values: Sequence[Fraction]) -> Proof:
        """Make a sum as small as possible, and keep it so from now on."""
        goal = scaled(values, self._uppers)
        proof = self._improve(goal)
        self._settle(goal)
        return proof

    def minimise_ratio(
        self, costs: Sequence[Fraction], yields: Sequence[Fraction]
    ) -> Proof:
        """Make costs per yield as small as possible, and keep it so from now on.

        Dinkelbach's method: with q the ratio of the best purchase x so far, minimise
        ``costs - q yields``. It is 0 at x. A purchase below 0 has a smaller ratio and
        is the next x; if the solver proves that there is none, q is the minimum. Ends
        after finitely many steps, as q falls in each and purchases are finitely many.
        """
        if self.best is None:
            proof = self._improve(scaled(costs, self._uppers))
            if self.best is None:
                return proof
        while True:
            ratio = dot(costs, self.best) / dot(yields, self.best)
            excess = [c - ratio * y for c, y in zip(costs, yields, strict=True)]
            goal = scaled(excess, self._uppers)
            proof = self._improve(goal)
            if dot(excess, self.best) >= 0 or not proof.complete:
                break
        self._settle(goal)
        return Proof(proof.complete, _ratio_bound(ratio, proof, goal, yields))

    def highest_threshold(self, levels: Sequence[Fraction]) -> Proof:
        """Make the least level among units bought as high as possible, and keep it so.

        Whatever is possible with the faster units only stays possible with slower ones
        as well, so bisection finds the highest level; it is proven by the failure of
        the next higher one.
        """
        reached = self._reached(levels)
        higher = sorted(
            {
                level
                for level, upper in zip(levels, self._uppers, strict=True)
                if upper and (reached is None or level > reached)
            }
        )
        uppers = self._uppers
        complete, low, high = True, 0, len(higher)
        # All below `low` are possible, none from `high` on.
        while low < high:
            middle = (low + high) // 2
            self._uppers = _from(higher[middle], levels, uppers)
            outcome = self.any()
            complete &= outcome.status != "unknown"
            if outcome.values:
                self.best = outcome.values
                low = middle + 1
            else:
                high = middle
        reached = self._reached(levels)
        self._uppers = uppers if reached is None else _from(reached, levels, uppers)
        if complete:
            return Proof(complete=True, bound=None if reached is None else -reached)
        return Proof(complete=False, bound=-higher[-1])

    def _reached(self, levels: Sequence[Fraction]) -> Fraction | None:
        """Least level of the best so far."""
        return None if self.best is None else lowest(levels, self.best)

    def _improve(self, goal: Scaled) -> Proof:
        """Solve for a goal over all row sets; drop those that cannot reach the best."""
        least = None if self.best is None else goal.dot(self.best)
        open_sets: list[tuple[int | None, tuple[Row, ...]]] = []
        bounds: list[int | None] = []
        complete = True
        for rows in self._row_sets:
            if least is not None and _out_of_reach(rows, goal, least, self._uppers):
                continue
            limit = () if least is None else (Row("best", goal.values, upper=least),)
            outcome = self._solve(Model(self._uppers, rows + limit, goal.values))
            complete &= outcome.status in ("optimal", "infeasible")
            if outcome.status == "infeasible":
                continue
            bounds.append(outcome.bound)
            open_sets.append((outcome.objective, rows))
            if outcome.objective is not None and (
                least is None or outcome.objective < least
            ):
                least, self.best = outcome.objective, outcome.values
        self._row_sets = [
            rows for value, rows in open_sets if value is None or value == least
        ]
        if least is not None:
            bounds.append(least)
        return Proof(complete, _true_bound(bounds, goal))

    def _settle(self, goal: Scaled) -> None:
        """From now on, nothing worse than the best in this goal."""
        if self.best is not None:
            row = Row("settled", goal.values, upper=goal.dot(self.best))
            self._row_sets = [(*rows, row) for rows in self._row_sets]

    def _solve(self, model: Model) -> Outcome:
        left = self.deadline - time.monotonic()
        if left <= 0:
            return Outcome("unknown")
        try:
            outcome = self._solver.solve(model, left, self.best)
        except SolveInterrupted as interruption:
            # Rows keep it no worse than the best so far, so it is the new best.
            self.best = interruption.outcome.values or self.best
            raise
        return outcome


def _out_of_reach(
    rows: Sequence[Row], goal: Scaled, least: int, uppers: Vector
) -> bool:
    """Whether a demand alone costs more than the best so far; spares a solve.

    Each copy adds to the demand at no less than the smallest cost per supply.
    """
    for row in rows:
        supplies = zip(goal.values, row.coefficients, uppers, strict=True)
        rates = [Fraction(g, a) for g, a, upper in supplies if a > 0 and upper]
        if row.lower and rates and row.lower * min(rates) > least:
            return min(goal.values) >= 0
    return False


def dot(values: Sequence[Fraction], counts: Sequence[int]) -> Fraction:
    """Add up what is bought."""
    pairs = zip(values, counts, strict=True)
    return sum((value * count for value, count in pairs if count), Fraction(0))


def lowest(levels: Sequence[Fraction], counts: Sequence[int]) -> Fraction:
    """Least level among what is bought."""
    return min(level for level, n in zip(levels, counts, strict=True) if n)


def _from(
    threshold: Fraction, levels: Sequence[Fraction], uppers: Sequence[int]
) -> Vector:
    """Upper bounds without the units below a level."""
    pairs = zip(levels, uppers, strict=True)
    return tuple(upper if level >= threshold else 0 for level, upper in pairs)


def _true_bound(bounds: Sequence[int | None], goal: Scaled) -> Fraction | None:
    """Bound in the goal's own unit, less what rounding may have added to it."""
    if not bounds or None in bounds:
        return None
    bound = min(bound for bound in bounds if bound is not None) / goal.scale
    return bound - 2 * goal.relative_error * abs(bound)


def _ratio_bound(
    ratio: Fraction, proof: Proof, goal: Scaled, yields: Sequence[Fraction]
) -> Fraction | None:
    """Bound of a ratio from that of ``costs - ratio * yields``.

    If that is at least -d for every purchase y, costs(y) / yields(y) is at least
    ``ratio - d / yields(y)``. Rounding adds less than one scaled unit per copy, so
    less than ``1 / (scale * least yield)`` to the ratio.
    """
    if proof.bound is None:
        return None
    least = min(yields)
    rounding = 0 if goal.relative_error == 0 else 1 / (goal.scale * least)
    return ratio + min(Fraction(0), proof.bound) / least - rounding
