"""Buying: the best purchase within limits, with its proof, and why others are not."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from planopt._native import Rows
from planopt.price_sources import dollars
from planopt.procurement.model import Model, Row, Scaled, exact, row_sets, scaled
from planopt.procurement.problem import (
    TOKENS_PER_HOUR,
    Broken,
    Limits,
    Objective,
    Offer,
    Purchase,
    broken,
    check,
    offer,
)
from planopt.procurement.solver import Outcome, SolveInterrupted, Solver
from planopt.units import MICRO_USD


def why_not(
    broken: Iterable[Broken], limits: Limits, *, rough: bool, hourly: bool = False
) -> Iterator[str]:
    """Say it of each limit, such as ``over budget by $800``; rough sums with ``~``."""
    for each in broken:
        yield _said(each, limits, rough=rough, hourly=hourly)


_MONEY: Final = {"budget": "budget", "purchase": "the purchase money"}
_MEASURES: Final = {"power": ("power limit", "W"), "racks": ("rack limit", "U")}


def _said(broken: Broken, limits: Limits, *, rough: bool, hourly: bool) -> str:
    group, by = broken.group, broken.amount
    usd = float(by / MICRO_USD)
    if group == "budget" and hourly:
        return f"over budget by ${usd:,.3g}/h"
    if group in _MONEY:
        whole = group == "purchase" or usd >= 1
        return f"over {_MONEY[group]} by {dollars(usd, rough=rough, whole=whole)}"
    if group in _MEASURES:
        limit, unit = _MEASURES[group]
        return f"over the {limit} by {float(by):,.6g} {unit}"
    _, _, name = group.partition(":")
    most = limits.stock[name] if name else limits.accelerators or 0
    limit = "stock" if name else "limit"
    return f"needs {int(by) + most} {name or group} where the {limit} is {most}"


def minimal_conflict(
    groups: Sequence[str], feasible: Callable[[tuple[str, ...]], bool]
) -> tuple[str, ...]:
    """Reduce an infeasible set of limits to a minimal one (deletion filter).

    Each group in turn is left out; if the rest is still infeasible it is not needed.
    What remains is infeasible, since each deletion was made only where it left an
    infeasible set, and minimal: a group was kept because the rest of a larger set was
    feasible without it, and a smaller set of limits is feasible all the more.
    """
    needed = tuple(groups)
    for group in groups:
        rest = tuple(other for other in needed if other != group)
        if not feasible(rest):
            needed = rest
    return needed


Vector = tuple[int, ...]  # Counts of all units, in the order of the programme


# --- One goal after the other ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Proof:
    """What is known once a goal has been pursued."""

    # Nothing is better than the incumbent, or nothing is possible at all.
    complete: bool
    # No purchase is below it; none where no bound is known.
    bound: Fraction | None = None


class Search:
    """What is offered, the best purchase so far, and the goals already settled."""

    def __init__(self, offer: Offer, solver: Solver, deadline: float) -> None:
        self.best: Vector | None = None
        self.deadline = deadline
        self._uppers = offer.uppers
        self._row_sets = [*row_sets(offer)]
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


# --- The purchase ---------------------------------------------------------------------


Goal = Literal["cheapest", "throughput", "cost-per-token", "latency", "power", "name"]

TIES: tuple[Goal, ...] = ("cheapest", "cost-per-token", "power", "name")
"""What decides between purchases that are equally good, in this order."""

UNITS: Final[dict[Objective, Fraction]] = {
    "cheapest": Fraction(MICRO_USD),
    "throughput": Fraction(-1),
    "cost-per-token": TOKENS_PER_HOUR,
    "latency": Fraction(-1),
}
"""What is made as small as possible, over the objective in its own unit."""

TIES_SECONDS = 1.0
"""Time for breaking ties, which comes after the proof and must not be long."""


@dataclass(eq=False)
class PurchaseInterrupted(KeyboardInterrupt):
    """The user stopped a purchase."""

    purchase: Purchase


def buy(
    offer: Offer, solver: Solver, time_limit: float, *, ties: bool = True
) -> Purchase:
    """Find the best purchase.

    Unless any will do, ties go to the lower price, $/Mtok and power, and then to what
    comes first by name (least sum of positions in the order of names). Status and bound
    are OR-Tools'; price and objective are computed from the purchase, exactly. The core
    checks it when it lays it out.
    """
    started = time.monotonic()
    question = _Question(offer, solver, started + time_limit)
    proof = Proof(complete=False)
    try:
        proof = question.pursue(offer.objective)
        if proof.complete and ties:
            last = started + time_limit
            question.break_ties(min(time.monotonic() + TIES_SECONDS, last))
    except KeyboardInterrupt:
        best = question.answer(proof, time.monotonic() - started)
        raise PurchaseInterrupted(best) from None
    return question.answer(proof, time.monotonic() - started)


def satisfiable(rows: Rows, limits: Limits, solver: Solver, time_limit: float) -> bool:
    """Whether a purchase is possible, as far as could be told in time."""
    offered = offer(rows, limits, "cheapest")
    if offered.alone is not None:
        # Copies of one row are a purchase, which no solver has to tell.
        return True
    question = _Question(offered, solver, time.monotonic() + time_limit)
    outcome = question.search.any()
    if outcome.values:
        check(broken(rows, limits, question.counts(outcome.values)))
    return outcome.status != "infeasible"


class _Question:
    """One purchase that is sought: what is offered, goals and search."""

    def __init__(self, offer: Offer, solver: Solver, deadline: float) -> None:
        self._offer = offer
        self.search = Search(offer, solver, deadline)
        if offer.alone is not None:
            alone = {offer.alone.row: offer.alone.count}
            self.search.best = tuple(alone.get(row, 0) for row in offer.rows)

    def pursue(self, goal: Goal) -> Proof:
        """Reach one goal, without giving up those reached before."""
        if goal == "cost-per-token":
            return self.search.minimise_ratio(
                self._exact("usd_per_hour"), self._exact("tokens_per_second")
            )
        if goal == "latency":
            return self.search.highest_threshold(
                self._exact("tokens_per_second_per_user")
            )
        return self.search.minimise(self._column(goal))

    def _column(self, goal: Goal) -> list[Fraction]:
        """Return the column whose sum a goal makes as small as possible."""
        offer = self._offer
        if goal == "throughput":
            return [-rate for rate in self._exact("tokens_per_second")]
        if goal == "power":
            return self._exact("power_watts")
        whole = offer.price_micro_usd if goal == "cheapest" else offer.places
        return [*map(Fraction, whole)]

    def break_ties(self, deadline: float) -> None:
        """Pursue the other goals in their order, for as long as each is proven."""
        self.search.deadline = min(self.search.deadline, deadline)
        for goal in TIES:
            if self.search.best is None or time.monotonic() > deadline:
                return
            if goal != self._offer.objective and not self.pursue(goal).complete:
                return

    def answer(self, proof: Proof, seconds: float) -> Purchase:
        """Word the best purchase so far; figures are computed from it anew."""
        best, offer = self.search.best, self._offer
        if best is None:
            return Purchase(
                "infeasible" if proof.complete else "unknown", seconds=seconds
            )
        least, unit = self._least(best), UNITS[offer.objective]
        value, bound = least / unit, None
        if proof.bound is not None:
            bound = min(least, proof.bound) / unit
        price_bound = bound if offer.objective == "cheapest" else None
        return Purchase(
            status="optimal" if proof.complete else "feasible",
            counts=self.counts(best),
            price_micro_usd=sum(map(int.__mul__, offer.price_micro_usd, best)),
            bound_micro_usd=None
            if price_bound is None
            else math.ceil(price_bound * unit),
            objective_value=float(value),
            objective_bound=None if bound is None else float(bound),
            gap=None if bound is None else _gap(value, bound),
            seconds=seconds,
        )

    def _least(self, vector: Sequence[int]) -> Fraction:
        """Return what the objective makes as small as possible."""
        objective = self._offer.objective
        if objective == "cost-per-token":
            return dot(self._exact("usd_per_hour"), vector) / dot(
                self._exact("tokens_per_second"), vector
            )
        if objective == "latency":
            return -lowest(self._exact("tokens_per_second_per_user"), vector)
        return dot(self._column(objective), vector)

    def _exact(self, column: str) -> list[Fraction]:
        return [*map(exact, getattr(self._offer, column))]

    def counts(self, vector: Sequence[int]) -> dict[int, int]:
        """Return how many of each row a vector of the programme is."""
        pairs = zip(self._offer.rows, vector, strict=True)
        return {row: count for row, count in pairs if count}


def _gap(value: Fraction, bound: Fraction) -> float:
    """Distance of value and bound, as a share of the value."""
    return float(abs(value - bound) / abs(value)) if value else 0.0
