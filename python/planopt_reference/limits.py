"""Whether a plan keeps what its request asks for, and its own bound and status."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from planopt_reference.cost import rent_usd_per_hour, usd_per_hour
from planopt_reference.memory import resident_sequences
from planopt_reference.mismatch import (
    RELATIVE_TOLERANCE,
    Mismatch,
    compared,
    is_number,
    micro_usd,
)
from planopt_reference.redundancy import Standing, left_of
from planopt_reference.units import MICRO_USD_PER_USD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from planopt_reference.assumptions import Cost
    from planopt_reference.purchase import Unit

# A plan is proven cheapest when its bound is this close to its price, relatively.
OPTIMALITY_TOLERANCE: Final = 1e-6


@dataclass(frozen=True)
class Deployment:
    """A deployment as it was recomputed."""

    evaluation: Mapping[str, Any]
    role: str
    """What its replicas do: all of a request, or prefill or decode alone."""
    unit: Unit
    units: int
    replicas: int
    in_flight: int
    batch: int
    overlap: str
    slower: float
    """How many times longer than predicted its steps are judged to be."""
    sessions: int
    """Sessions that its replicas had in the run; none where others ask."""
    supplied: float
    """Tokens per second of all replicas in the run, or of their steps without one."""

    @property
    def price(self) -> int:
        """Return the micro-dollars of all units."""
        return self.units * self.unit.price

    @property
    def power_watts(self) -> float:
        """Return the watts of all units."""
        return self.units * self.unit.power_watts

    @property
    def rack_units(self) -> float:
        """Return the rack units of all units."""
        return self.units * self.unit.rack_units

    @property
    def rent_per_hour(self) -> int:
        """Return the rent of an hour of all units, in micro-dollars."""
        return self.units * self.unit.rent_per_hour

    def usd_per_hour(self, cost: Cost) -> float:
        """Return what an hour of all units costs, bought or rented."""
        if self.unit.rent is not None:
            return rent_usd_per_hour([(self.rent_per_hour, self.unit.rent)], cost)
        return usd_per_hour(self.price, self.power_watts, self.rack_units, cost)

    @property
    def accelerators(self) -> int:
        """Return the accelerators that come with all units, at work or not."""
        return self.units * self.unit.accelerators

    @property
    def users_per_replica(self) -> float:
        """Return the sequences that one replica serves at once, or its sessions."""
        if self.role == "prefill":
            return 0.0
        if self.sessions:
            return self.sessions / self.replicas
        return resident_sequences(self.batch, self.in_flight, self.overlap)

    @property
    def tokens_per_second_per_replica(self) -> float:
        """Return the output of one replica, on average over the time it is away."""
        if self.role == "prefill":
            return 0.0
        at_work = float(self.evaluation["decode"]["tokens_per_second"])
        return at_work * self.unit.goodput

    @property
    def tokens_per_second(self) -> float:
        """Return the output of all replicas."""
        return self.replicas * self.tokens_per_second_per_replica


def limit_mismatches(
    request: Mapping[str, Any], deployments: Sequence[Deployment], cost: Cost
) -> Iterator[Mismatch]:
    """Check every limit that the request sets.

    Parameters
    ----------
    request : mapping
        The question of the plan; limits that are absent or none are not set.
    deployments : sequence of Deployment
        Recomputed deployments.
    cost : Cost
        Assumptions, for the height of a rack.

    Yields
    ------
    Mismatch
        One for each limit that is broken.
    """
    yield from _speed_mismatches(request, deployments)
    yield from _demand_mismatches(request, deployments)
    price = sum(one.price for one in deployments)
    budget = request.get("budget_usd")
    if budget is not None and price > (micro_usd(budget) or 0):
        yield _above("budget_usd", price / MICRO_USD_PER_USD, budget)
    hourly = sum(one.usd_per_hour(cost) for one in deployments)
    per_hour = request.get("budget_usd_per_hour")
    if per_hour is not None and hourly > per_hour * (1 + RELATIVE_TOLERANCE):
        yield _above("budget_usd_per_hour", hourly, per_hour)
    totals = {
        "max_power_watts": sum(one.power_watts for one in deployments),
        "max_racks": sum(one.rack_units for one in deployments) / cost.rack_units,
        "max_accelerators": sum(one.accelerators for one in deployments),
    }
    for key, total in totals.items():
        limit = request.get(key)
        if limit is not None and total > limit * (1 + RELATIVE_TOLERANCE):
            yield _above(key, total, limit)
    yield from _stock_mismatches(request, deployments)


def _above(key: str, value: float, limit: float) -> Mismatch:
    return Mismatch(f"request.{key}", value, limit, "the plan needs more than allowed")


def _below(key: str, value: float, limit: float) -> Mismatch:
    return Mismatch(f"request.{key}", value, limit, "the plan gives less than asked")


def _reaches(value: float, wanted: float) -> bool:
    return value >= wanted * (1 - RELATIVE_TOLERANCE)


def _speed_mismatches(
    request: Mapping[str, Any], deployments: Sequence[Deployment]
) -> Iterator[Mismatch]:
    key = "target_tokens_per_second"
    target = request.get(key)
    slowest = min(
        float(one.evaluation["decode"]["tokens_per_second_per_user"]) / one.slower
        for one in deployments
        if one.role != "prefill"
    )
    if target is not None and not _reaches(slowest, target):
        yield _below(key, slowest, target)
    latency = request.get("ttft_seconds")
    first = max(
        float(one.evaluation["prefill"]["seconds"]) * one.slower
        for one in deployments
        if one.role != "decode"
    )
    if latency is not None and first > latency * (1 + RELATIVE_TOLERANCE):
        yield _above("ttft_seconds", first, latency)


def left(
    request: Mapping[str, Any],
    deployments: Sequence[Deployment],
    each: Callable[[Deployment], float],
    demand: float | None,
) -> float:
    """Return what all replicas give after the worst that may fail."""
    standing = [
        Standing(
            each(one),
            one.units,
            one.unit.replicas,
            one.unit.hosts,
            one.unit.switch is not None,
        )
        for one in deployments
    ]
    return left_of(standing, request, demand)


def _demand_mismatches(
    request: Mapping[str, Any], deployments: Sequence[Deployment]
) -> Iterator[Mismatch]:
    supplies: dict[str, Callable[[Deployment], float]] = {
        "concurrency": lambda one: one.users_per_replica,
    }
    # Of requests that come, a run says whether they are answered (rate_mismatches).
    if not (request.get("requests_per_second") and request.get("percentile")):
        key = "throughput_tokens_per_second"
        supplies[key] = lambda one: one.supplied / one.replicas
    for key, each in supplies.items():
        wanted = request.get(key)
        supply = left(request, deployments, each, wanted)
        if wanted is not None and not _reaches(supply, wanted):
            yield _below(key, supply, wanted)


def _stock_mismatches(
    request: Mapping[str, Any], deployments: Sequence[Deployment]
) -> Iterator[Mismatch]:
    bought: Counter[str | None] = Counter()
    owned: Counter[str | None] = Counter()
    for one in deployments:
        card = one.unit.accelerator
        bought[card] += one.accelerators
        for line in one.unit.lines:
            # Of cards that are not alike each is told by its line.
            part = card if card and line.kind == "accelerator" else line.id
            if line.owned:
                owned[part] += one.units * line.quantity
                bought[part] -= one.units * line.quantity * (part == card)
            elif part != card:
                bought[part] += one.units * line.quantity
    for part, limit in (request.get("stock") or {}).items():
        if bought[part] > limit:
            yield _above(f"stock.{part}", bought[part], limit)
    yield from owned_mismatches(request, owned)


def owned_mismatches(
    request: Mapping[str, Any], owned: Mapping[str | None, int]
) -> Iterator[Mismatch]:
    """Check that no more is owned than the question says is there."""
    there = request.get("own") or {}
    for part, number in owned.items():
        if number > there.get(part, 0):
            yield _above(f"own.{part}", number, there.get(part, 0))


def outcome_mismatches(
    plan: Mapping[str, Any], dollars: float, bound_field: str = "bound_usd"
) -> Iterator[Mismatch]:
    """Check that bound, gap and status of a plan agree with its price.

    Parameters
    ----------
    plan : mapping
        A plan document that is not infeasible.
    dollars : float
        Its recomputed price, or what an hour of it costs where it may be rented.
    bound_field : str
        The field that holds a bound of it.

    Yields
    ------
    Mismatch
        One for each of the three that cannot be.
    """
    status, bound, gap = (plan.get(key) for key in ("status", bound_field, "gap"))
    if status not in {"optimal", "feasible"}:
        accepted = "optimal, feasible or infeasible"
        yield Mismatch("status", status, accepted, "not a status")
    if plan.get("objective") != "cheapest" and bound is None:
        yield from _other_gap_mismatches(status, gap)
        return
    if bound is None and gap is None:
        if status == "optimal":
            yield Mismatch(bound_field, None, "a bound", "optimality needs a proof")
        return
    if not isinstance(bound, int | float) or not is_number(bound):
        yield Mismatch(bound_field, bound, "a number", "a gap needs a bound")
        return
    if bound > dollars * (1 + RELATIVE_TOLERANCE) or bound < 0:
        yield Mismatch(bound_field, bound, dollars, "a bound is not above the price")
    expected_gap = (dollars - bound) / dollars if dollars else 0.0
    # Bounds are told to the millionth of a dollar.
    told = 1 / MICRO_USD_PER_USD / dollars if dollars else 0.0
    if (
        not isinstance(gap, int | float)
        or abs(gap - expected_gap) > RELATIVE_TOLERANCE + told
    ):
        yield from compared("gap", gap, expected_gap, "(price - bound) / price")
    if status == "optimal" and expected_gap > OPTIMALITY_TOLERANCE:
        yield Mismatch("status", status, "feasible", "the bound is below the price")


def _other_gap_mismatches(status: object, gap: object) -> Iterator[Mismatch]:
    """Check a gap that is not about the price: it is a share, and none if optimal."""
    most = OPTIMALITY_TOLERANCE if status == "optimal" else math.inf
    if gap is not None and not (
        isinstance(gap, int | float) and is_number(gap) and 0 <= gap <= most
    ):
        yield Mismatch("gap", gap, f"0 to {most}", "the status says how wide it is")
