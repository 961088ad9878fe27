"""Buying: the best purchase of units under the limits, and how sure that is."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from planopt.procurement.dominance import undominated
from planopt.procurement.model import exact
from planopt.procurement.problem import (
    MICRO_USD,
    TOKENS_PER_HOUR,
    Purchase,
    Totals,
    by_name,
    copies_enough,
    copies_possible,
    figure,
    shortfalls,
)
from planopt.procurement.programme import Programme
from planopt.procurement.scan import scan
from planopt.procurement.search import Proof, Search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.procurement.problem import Limits, Objective, Unit
    from planopt.procurement.solver import Solver

__all__ = ["PurchaseInterrupted", "buy", "satisfiable"]

Goal = Literal["cheapest", "throughput", "cost-per-token", "latency", "power", "name"]

TIES: tuple[Goal, ...] = ("cheapest", "cost-per-token", "power", "name")
"""What decides between purchases that are equally good, in this order."""

TIES_SECONDS = 1.0
"""Time for breaking ties, which comes after the proof and must not be long."""


class PurchaseInterrupted(KeyboardInterrupt):
    """The user stopped a purchase.

    Parameters
    ----------
    purchase : Purchase
        The best until then; its status is ``unknown`` where there was none.
    """

    def __init__(self, purchase: Purchase) -> None:
        self.purchase = purchase
        super().__init__(purchase)


def buy(
    units: Sequence[Unit],
    limits: Limits,
    objective: Objective,
    solver: Solver,
    time_limit: float,
) -> Purchase:
    """Find the best purchase."""
    started = time.monotonic()
    question = _Question(units, limits, objective, solver, started + time_limit)
    proof = Proof(complete=False)
    try:
        proof = question.pursue(objective)
        if proof.complete:
            question.break_ties(time.monotonic() + TIES_SECONDS)
    except KeyboardInterrupt:
        best = question.answer(proof, time.monotonic() - started)
        raise PurchaseInterrupted(best) from None
    return question.answer(proof, time.monotonic() - started)


def satisfiable(
    units: Sequence[Unit], limits: Limits, solver: Solver, time_limit: float
) -> bool:
    """Whether a purchase is possible, as far as could be told in time."""
    if any(_does_alone(unit, limits) for unit in units):
        return True
    deadline = time.monotonic() + time_limit
    question = _Question(units, limits, "cheapest", solver, deadline)
    return question.search.any().status != "infeasible"


def _does_alone(unit: Unit, limits: Limits) -> bool:
    """Whether copies of one unit are a purchase, which no solver has to tell."""
    return not shortfalls([unit], {unit.index: copies_enough(unit, limits)}, limits)


class _Question:
    """One purchase that is sought: its units, goals and search."""

    def __init__(
        self,
        units: Sequence[Unit],
        limits: Limits,
        objective: Objective,
        solver: Solver,
        deadline: float,
    ) -> None:
        self._limits = limits
        self._objective = objective
        # Positions among all units: that some are dominated does not change a name.
        self._places = {u.index: i for i, u in enumerate(sorted(units, key=by_name), 1)}
        most = copies_possible(units, limits)
        within = [unit for unit, n in zip(units, most, strict=True) if n != 0]
        programme = Programme.of(undominated(within), limits, objective)
        self._units = programme.units
        self.search = Search(programme, solver, deadline, self._allows)
        single = scan(self._units, limits, objective)
        if single is not None:
            self.search.best = tuple(
                single.counts.get(unit.index, 0) for unit in self._units
            )

    def pursue(self, goal: Goal) -> Proof:
        """Reach one goal, without giving up those reached before."""
        if goal == "cheapest":
            return self.search.minimise(self._each("price_micro_usd"))
        if goal == "throughput":
            rates = self._each("tokens_per_second")
            return self.search.minimise([-rate for rate in rates])
        if goal == "cost-per-token":
            costs, rates = self._each("usd_per_hour"), self._each("tokens_per_second")
            return self.search.minimise_ratio(costs, rates)
        if goal == "latency":
            speeds = self._each("tokens_per_second_per_user")
            return self.search.highest_threshold(speeds)
        if goal == "power":
            return self.search.minimise(self._each("power_watts"))
        return self.search.minimise(
            [Fraction(self._places[unit.index]) for unit in self._units]
        )

    def break_ties(self, deadline: float) -> None:
        """Pursue the other goals in their order, for as long as each is proven."""
        self.search.deadline = min(self.search.deadline, deadline)
        for goal in TIES:
            if self.search.best is None:
                return
            if goal != self._objective and not self.pursue(goal).complete:
                return

    def answer(self, proof: Proof, seconds: float) -> Purchase:
        """Word the best purchase so far; figures are computed from it anew."""
        if self.search.best is None:
            return Purchase(
                "infeasible" if proof.complete else "unknown", seconds=seconds
            )
        counts = self._counts(self.search.best)
        totals = Totals.of(self._units, counts)
        value = figure(totals, self._objective)
        bound = self._bound(proof, value)
        price_bound = bound if self._objective == "cheapest" else None
        return Purchase(
            status="optimal" if proof.complete else "feasible",
            counts=counts,
            price_micro_usd=totals.price_micro_usd,
            bound_micro_usd=None
            if price_bound is None
            else math.ceil(price_bound * MICRO_USD),
            objective_value=float(value),
            objective_bound=None if bound is None else float(bound),
            gap=None if bound is None else _gap(value, bound),
            seconds=seconds,
        )

    def _bound(self, proof: Proof, value: Fraction) -> Fraction | None:
        """Bound of the goal, in the unit and direction of the objective."""
        if proof.bound is None:
            return None
        if self._objective == "cheapest":
            return min(value, proof.bound / MICRO_USD)
        if self._objective == "cost-per-token":
            return min(value, proof.bound / TOKENS_PER_HOUR)
        return max(value, -proof.bound)

    def _each(self, name: str) -> list[Fraction]:
        return [exact(getattr(unit, name)) for unit in self._units]

    def _counts(self, vector: Sequence[int]) -> dict[int, int]:
        pairs = zip(self._units, vector, strict=True)
        return {unit.index: count for unit, count in pairs if count}

    def _allows(self, vector: Sequence[int]) -> bool:
        return not shortfalls(self._units, self._counts(vector), self._limits)


def _gap(value: Fraction, bound: Fraction) -> float:
    """Distance of value and bound, as a share of the value."""
    return float(abs(value - bound) / abs(value)) if value else 0.0
