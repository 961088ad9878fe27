"""Purchases against brute force: every count of every unit, written anew."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, get_args

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from units import Unit, buy, satisfiable, scan, undominated

from planopt.procurement.problem import Limits, Objective
from planopt.procurement.purchase import minimal_conflict
from planopt.procurement.solver import Solver

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planopt.procurement.problem import Purchase

TIME_LIMIT = 30.0
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)

# The solver is shared by all examples on purpose: it keeps nothing between them.
fast = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def solver() -> Iterator[Solver]:
    with Solver() as solver:
        yield solver


@st.composite
def catalogs(draw: st.DrawFn, most: int = 3) -> list[Unit]:
    """Few units with small figures, so that ties and exact fits are common."""
    units = []
    for index in range(draw(st.integers(1, most))):
        stock = draw(st.sampled_from(["x", "y"]))
        accelerators = draw(st.sampled_from([1, 2, 4]))
        replicas, size = draw(st.integers(1, 3)), draw(st.integers(1, 4))
        host = draw(st.sampled_from(["a", "b"]))
        # In one host, or each over two, with a switch where that takes more of them.
        hosts = draw(st.sampled_from([1, 2 * replicas]))
        switch = "s" if hosts > 2 else None
        units.append(
            Unit(
                index=index,
                host=host,
                hosts=hosts,
                switch=switch,
                stock=stock,
                accelerators=accelerators,
                # Thirds of a cent and whole dollars: parts of a switch, and the rest.
                price_micro_usd=draw(st.integers(1, 9))
                * draw(st.sampled_from([3_333, 10**6])),
                usd_per_hour=draw(st.integers(1, 9)) / 10,
                power_watts=draw(st.integers(1, 5)) * 0.7,
                rack_units=float(draw(st.integers(0, 2))),
                replicas=replicas,
                replica_users=size,
                # A whole number of tenths in each replica, so that sums are exact.
                tokens_per_second=draw(st.integers(1, 4)) * replicas * 1.1,
                tokens_per_second_per_user=draw(st.integers(1, 4)) * 2.5,
            )
        )
    return units


REDUNDANCY: tuple[Mapping[str, float], ...] = (
    *({}, {"device": 1}, {"device": 2}, {"host": 1}, {"host": 2}, {"switch": 1}),
    *({"rack": 1}, {"device": 2, "host": 1}, {"host": 1, "switch": 1}),
    *({"loss": 0.5}, {"device": 1, "loss": 0.3}, {"host": 1, "switch": 1, "loss": 0.4}),
)


@st.composite
def limits(draw: st.DrawFn, *, bounded: bool = False) -> Limits:
    maybe = st.booleans()
    budget = draw(st.integers(1, 20)) * 10**6 if bounded or draw(maybe) else None
    return Limits(
        users=draw(st.integers(1, 9)),
        tokens_per_second=draw(st.sampled_from([0.0, 0.0, 3.3, 12.1])),
        budget_micro_usd=budget,
        power_watts=draw(st.integers(1, 12)) * 0.7 if bounded or draw(maybe) else None,
        rack_units=float(draw(st.integers(0, 4))) if draw(maybe) else None,
        accelerators=draw(st.integers(1, 12)) if bounded or draw(maybe) else None,
        stock={"x": draw(st.integers(0, 6))} if draw(maybe) else {},
        redundancy=draw(st.sampled_from(REDUNDANCY)),
    )


Key = tuple[Fraction, ...]


def decimal(value: float) -> Fraction:
    return Fraction(round(value * 10), 10)


def possible(units: list[Unit], counts: tuple[int, ...], limits: Limits) -> bool:
    """Whether all limits hold, whatever is lost."""

    def total(name: str) -> Fraction:
        return sum(
            (decimal(getattr(u, name)) * n for u, n in zip(units, counts, strict=True)),
            Fraction(0),
        )

    failing = {part: int(n) for part, n in limits.redundancy.items() if part != "loss"}

    def left(name: str, demand: Fraction) -> Fraction:
        whole = total(name)
        lost = [
            sum(sorted(parts(units, counts, part, name))[::-1][:losses])
            for part, losses in failing.items()
        ]
        if demand and (share := limits.redundancy.get("loss")):
            # No part is given more than that to carry.
            most = decimal(share) * demand
            lost += [
                sum(max(each - most, 0) for each in parts(units, counts, part, name))
                for part in failing or ["host"]
            ]
        return whole - max(lost, default=Fraction(0))

    users = left("users", Fraction(limits.users))
    tokens = left("tokens_per_second", decimal(limits.tokens_per_second))
    upper = [
        (total("price_micro_usd"), limits.budget_micro_usd),
        (total("power_watts"), limits.power_watts),
        (total("rack_units"), limits.rack_units),
        (total("accelerators"), limits.accelerators),
    ]
    for name, stock in limits.stock.items():
        used = sum(
            u.accelerators * n
            for u, n in zip(units, counts, strict=True)
            if u.stock == name
        )
        upper.append((Fraction(used), stock))
    return (
        users >= limits.users
        and tokens >= decimal(limits.tokens_per_second)
        and all(limit is None or used <= decimal(limit) for used, limit in upper)
    )


def parts(
    units: list[Unit], counts: tuple[int, ...], part: str, name: str
) -> Iterator[Fraction]:
    """Give what each part that may fail alone takes with it."""
    for unit, count in zip(units, counts, strict=True):
        replica = decimal(getattr(unit, name)) / unit.replicas
        for _ in range(count):
            if part == "device" or (part == "host" and unit.hosts > 1):
                yield from [replica] * unit.replicas
            elif part != "switch" or unit.switch:
                yield replica * unit.replicas


def key(units: list[Unit], counts: tuple[int, ...], objective: Objective) -> Key:
    """Order of purchases: the objective, price, $/token, power, name."""
    bought = [(u, n) for u, n in zip(units, counts, strict=True) if n]

    def total(name: str) -> Fraction:
        return sum((decimal(getattr(u, name)) * n for u, n in bought), Fraction(0))

    order = sorted(units, key=lambda u: (u.name, u.index))
    ties = (
        total("price_micro_usd"),
        total("usd_per_hour") / total("tokens_per_second"),
        total("power_watts"),
        Fraction(sum((order.index(u) + 1) * n for u, n in bought)),
    )
    first = {
        "cheapest": ties[0],
        "cost-per-token": ties[1],
        "throughput": -total("tokens_per_second"),
        "latency": -min(decimal(u.tokens_per_second_per_user) for u, _ in bought),
    }[objective]
    return (first, *ties)


OWN_UNITS = {
    "cheapest": Fraction(1, 10**6),  # Dollars of micro-dollars
    "cost-per-token": Fraction(10**6, 3600),  # Dollars per million tokens
}


def value(units: list[Unit], counts: tuple[int, ...], objective: Objective) -> Fraction:
    """Value of a purchase in the objective's own unit, whether less or more is best."""
    return abs(key(units, counts, objective)[0]) * OWN_UNITS.get(objective, 1)


def enumerated(units: list[Unit], limits: Limits, objective: Objective) -> Key | None:
    """Least key over all purchases of at most `most` of each unit."""
    # Nine users with two more replicas, or 12.1 tokens per second of at least 1.1
    # each: 11 copies. Throughput has at most 12 accelerators to spend.
    most = 12
    return min(
        (
            key(units, counts, objective)
            for counts in itertools.product(range(most + 1), repeat=len(units))
            if any(counts) and possible(units, counts, limits)
        ),
        default=None,
    )


def vector(units: list[Unit], purchase: Purchase) -> tuple[int, ...]:
    return tuple(purchase.counts.get(unit.index, 0) for unit in units)


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(data=st.data())
@fast
def test_a_purchase_is_the_best_of_all(
    solver: Solver, objective: Objective, data: st.DataObject
) -> None:
    # Two units: 169 purchases each; three would be 2197.
    units = data.draw(catalogs(most=2))
    asked = data.draw(limits(bounded=objective == "throughput"))
    expected = enumerated(units, asked, objective)
    purchase = buy(units, asked, objective, solver, TIME_LIMIT)
    if expected is None:
        assert purchase.status == "infeasible"
        assert scan(units, asked, objective) is None
        return
    assert purchase.status == "optimal"
    assert possible(units, vector(units, purchase), asked)
    assert key(units, vector(units, purchase), objective) == expected
    assert purchase.gap == pytest.approx(0, abs=1e-9)


@given(units=catalogs(), asked=limits())
@settings(fast, max_examples=15)
def test_three_kinds_of_units_mix_as_brute_force_says(
    solver: Solver, units: list[Unit], asked: Limits
) -> None:
    asked = replace(asked, users=min(asked.users, 5), tokens_per_second=3.3)
    expected = enumerated(units, asked, "cheapest")
    purchase = buy(units, asked, "cheapest", solver, TIME_LIMIT)
    if expected is None:
        assert purchase.status == "infeasible"
    else:
        assert key(units, vector(units, purchase), "cheapest") == expected
        assert purchase.bound_micro_usd == purchase.price_micro_usd == expected[0]


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(data=st.data())
@fast
def test_leaving_out_dominated_units_changes_no_optimum(
    objective: Objective, data: st.DataObject
) -> None:
    units = data.draw(catalogs(most=2))
    asked = data.draw(limits(bounded=True))
    kept = undominated(units, asked.redundancy)
    best = enumerated(units, asked, objective)
    if best is None:
        return
    without = min(
        key(units, counts, objective)
        for counts in itertools.product(range(13), repeat=len(units))
        if any(counts)
        and all(n == 0 or u in kept for u, n in zip(units, counts, strict=True))
        and possible(units, counts, asked)
    )
    assert without == best


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(units=catalogs(most=1), asked=limits(bounded=True))
@fast
def test_with_one_kind_of_unit_the_scan_gives_the_solver_s_answer(
    solver: Solver, objective: Objective, units: list[Unit], asked: Limits
) -> None:
    purchase = buy(units, asked, objective, solver, TIME_LIMIT)
    scanned = scan(units, asked, objective)
    if scanned is None:
        assert purchase.status == "infeasible"
    else:
        assert purchase.counts == scanned
        best = value(units, vector(units, purchase), objective)
        assert purchase.objective_value == float(best)


@given(units=catalogs(), asked=limits(), factor=st.integers(2, 1000))
@fast
def test_prices_times_k_cost_k_times_as_much_and_change_no_choice(
    solver: Solver, units: list[Unit], asked: Limits, factor: int
) -> None:
    dear = [
        replace(
            unit,
            price_micro_usd=unit.price_micro_usd * factor,
            usd_per_hour=unit.usd_per_hour * factor,
        )
        for unit in units
    ]
    budget = asked.budget_micro_usd
    richer = replace(asked, budget_micro_usd=budget and budget * factor)
    before = buy(units, asked, "cheapest", solver, TIME_LIMIT)
    after = buy(dear, richer, "cheapest", solver, TIME_LIMIT)
    assert after.counts == before.counts
    assert after.status == before.status
    assert after.price_micro_usd == (
        before.price_micro_usd and before.price_micro_usd * factor
    )


def bought(units: list[Unit], purchase: Purchase) -> Counter[Unit]:
    """Count what is bought, whatever its place."""
    counts: Counter[Unit] = Counter()
    for row, count in purchase.counts.items():
        counts[replace(units[row], index=0)] += count
    return counts


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(data=st.data())
@settings(fast, max_examples=20)
def test_the_order_of_units_does_not_matter(
    solver: Solver, objective: Objective, data: st.DataObject
) -> None:
    units = data.draw(catalogs(most=4))
    asked = data.draw(limits(bounded=True))
    shuffled = data.draw(st.permutations(units))
    first = buy(units, asked, objective, solver, TIME_LIMIT)
    second = buy(shuffled, asked, objective, solver, TIME_LIMIT)
    assert first.objective_bound == second.objective_bound
    # Which of two that are the same in everything is bought is nobody's concern.
    assert bought(units, first) == bought(shuffled, second)


@given(units=catalogs(), asked=limits(bounded=True))
@fast
def test_dropping_any_limit_of_a_conflict_resolves_it(
    solver: Solver, units: list[Unit], asked: Limits
) -> None:
    def feasible(groups: tuple[str, ...]) -> bool:
        return satisfiable(units, asked.only(groups), solver, TIME_LIMIT)

    assume(not feasible(asked.groups))
    conflict = minimal_conflict(asked.groups, feasible)
    assert not feasible(conflict)
    for group in conflict:
        assert feasible(tuple(other for other in conflict if other != group))
