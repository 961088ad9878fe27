"""Buying: the best purchase of units under the limits, and whether that is proven."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from planopt.procurement.model import exact
from planopt.procurement.problem import TOKENS_PER_HOUR, Purchase, broken, check, offer
from planopt.procurement.programme import Programme
from planopt.procurement.search import Proof, Search, dot, lowest
from planopt.units import MICRO_USD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt._native import Rows
    from planopt.procurement.problem import Limits, Offer
    from planopt.procurement.solver import Solver

Goal = Literal["cheapest", "throughput", "cost-per-token", "latency", "power", "name"]

TIES: tuple[Goal, ...] = ("cheapest", "cost-per-token", "power", "name")
"""What decides between purchases that are equally good, in this order."""

TIES_SECONDS = 1.0
"""Time for breaking ties, which comes after the proof and must not be long."""


class PurchaseInterrupted(KeyboardInterrupt):
    """The user stopped a purchase."""

    def __init__(self, purchase: Purchase) -> None:
        self.purchase = purchase
        super().__init__(purchase)


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
        self.search = Search(Programme.of(offer), solver, deadline)
        if offer.alone is not None:
            alone = {offer.alone.row: offer.alone.count}
            self.search.best = tuple(alone.get(row, 0) for row in offer.rows)

    def pursue(self, goal: Goal) -> Proof:
        """Reach one goal, without giving up those reached before."""
        offer = self._offer
        rates = [*map(exact, offer.tokens_per_second)]
        if goal == "cheapest":
            return self.search.minimise([*map(Fraction, offer.price_micro_usd)])
        if goal == "throughput":
            return self.search.minimise([-rate for rate in rates])
        if goal == "cost-per-token":
            return self.search.minimise_ratio([*map(exact, offer.usd_per_hour)], rates)
        if goal == "latency":
            return self.search.highest_threshold(self._speeds)
        if goal == "power":
            return self.search.minimise([*map(exact, offer.power_watts)])
        return self.search.minimise([*map(Fraction, offer.places)])

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
        value = self._value(best)
        bound = self._bound(proof, value)
        price_bound = bound if offer.objective == "cheapest" else None
        return Purchase(
            status="optimal" if proof.complete else "feasible",
            counts=self.counts(best),
            price_micro_usd=sum(map(int.__mul__, offer.price_micro_usd, best)),
            bound_micro_usd=None
            if price_bound is None
            else math.ceil(price_bound * MICRO_USD),
            objective_value=float(value),
            objective_bound=None if bound is None else float(bound),
            gap=None if bound is None else _gap(value, bound),
            seconds=seconds,
        )

    def _value(self, vector: Sequence[int]) -> Fraction:
        """Value of a purchase in the objective's own unit."""
        offer = self._offer
        if offer.objective == "cheapest":
            return dot([*map(Fraction, offer.price_micro_usd)], vector) / MICRO_USD
        if offer.objective == "latency":
            return lowest(self._speeds, vector)
        tokens = dot([*map(exact, offer.tokens_per_second)], vector)
        if offer.objective == "throughput":
            return tokens
        cost = dot([*map(exact, offer.usd_per_hour)], vector)
        return cost / (tokens * TOKENS_PER_HOUR)

    def _bound(self, proof: Proof, value: Fraction) -> Fraction | None:
        """Bound of the goal, in the unit and direction of the objective."""
        if proof.bound is None:
            return None
        if self._offer.objective == "cheapest":
            return min(value, proof.bound / MICRO_USD)
        if self._offer.objective == "cost-per-token":
            return min(value, proof.bound / TOKENS_PER_HOUR)
        return max(value, -proof.bound)

    @property
    def _speeds(self) -> list[Fraction]:
        return [*map(exact, self._offer.tokens_per_second_per_user)]

    def counts(self, vector: Sequence[int]) -> dict[int, int]:
        """Return how many of each row a vector of the programme is."""
        pairs = zip(self._offer.rows, vector, strict=True)
        return {row: count for row, count in pairs if count}


def _gap(value: Fraction, bound: Fraction) -> float:
    """Distance of value and bound, as a share of the value."""
    return float(abs(value - bound) / abs(value)) if value else 0.0
