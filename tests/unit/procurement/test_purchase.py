from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from units import Unit, buy, offered, rows, satisfiable, undominated

from planopt.errors import InputError
from planopt.procurement.problem import Limits, broken
from planopt.procurement.purchase import PurchaseInterrupted
from planopt.procurement.solver import Outcome, SolveInterrupted, Solver

if TYPE_CHECKING:
    from collections.abc import Callable

    from planopt.procurement.problem import Objective

    MakeUnit = Callable[..., Unit]

USD = 10**6


def test_a_budget_of_exactly_the_price_suffices(solver: Solver, unit: MakeUnit) -> None:
    # A third of a switch: no whole number of cents.
    host = unit(price_micro_usd=1_333_333_333)
    enough = Limits(users=12, budget_micro_usd=3_999_999_999)
    bought = buy([host], enough, "cheapest", solver, 10)
    assert (bought.status, bought.counts) == ("optimal", {0: 3})
    assert bought.price_micro_usd == bought.bound_micro_usd == 3_999_999_999
    short = Limits(users=12, budget_micro_usd=3_999_999_998)
    assert buy([host], short, "cheapest", solver, 10).status == "infeasible"


@pytest.mark.parametrize("supply", [1e-305, 1e-100, 1e-14])
@pytest.mark.parametrize("objective", ["cheapest", "cost-per-token", "latency"])
def test_a_unit_that_supplies_next_to_nothing_is_no_unit(
    solver: Solver, unit: MakeUnit, objective: Objective, supply: float
) -> None:
    host = unit(0)
    idle = unit(1, tokens_per_second=supply, price_micro_usd=1 * USD, stock="y")
    asked = Limits(users=1, tokens_per_second=100.0)
    bought = buy([host, idle], asked, objective, solver, 10)
    assert (bought.status, bought.counts) == ("optimal", {0: 3})
    assert buy([idle], asked, objective, solver, 10).status == "infeasible"


def test_a_unit_of_which_a_billion_are_needed_is_one(
    solver: Solver, unit: MakeUnit
) -> None:
    host = unit(0)
    idle = unit(1, tokens_per_second=1e-7, price_micro_usd=1 * USD, stock="y")
    asked = Limits(users=1, tokens_per_second=100.0)
    bought = buy([host, idle], asked, "cheapest", solver, 10)
    assert (bought.status, bought.counts) == ("optimal", {0: 3})


def test_decimal_figures_add_up_as_written(solver: Solver, unit: MakeUnit) -> None:
    # In binary 3 * 0.1 is more than 0.3.
    host = unit(power_watts=0.1, tokens_per_second=0.7)
    asked = Limits(users=12, tokens_per_second=2.1, power_watts=0.3)
    assert buy([host], asked, "cheapest", solver, 10).counts == {0: 3}


def test_units_of_two_kinds_are_mixed_where_that_is_cheaper(
    solver: Solver, unit: MakeUnit
) -> None:
    large = unit(0, replica_users=10, price_micro_usd=2000 * USD)
    small = unit(1, replica_users=3, price_micro_usd=900 * USD, stock="y")
    bought = buy([large, small], Limits(users=13), "cheapest", solver, 10)
    assert bought.counts == {0: 1, 1: 1}


def test_cost_per_token_iterates_where_no_single_unit_will_do(
    solver: Solver, unit: MakeUnit
) -> None:
    # Only a mix fits the power and the stock; least cost and least $/token differ.
    units = [
        unit(0, stock="a", replica_users=6, power_watts=500.0, usd_per_hour=0.9),
        unit(1, stock="b", replica_users=2, power_watts=100.0, usd_per_hour=0.2),
        unit(
            2,
            stock="c",
            replica_users=5,
            power_watts=300.0,
            usd_per_hour=1.0,
            tokens_per_second=150.0,
        ),
    ]
    asked = Limits(users=13, power_watts=1000.0, stock={"a": 1, "b": 4, "c": 2})
    possible = [
        counts
        for counts in itertools.product(range(2), range(5), range(3))
        if sum(n * u.users for n, u in zip(counts, units, strict=True)) >= 13
        and sum(n * u.power_watts for n, u in zip(counts, units, strict=True)) <= 1000
    ]

    def ratio(counts: tuple[int, ...]) -> float:
        cost = sum(n * u.usd_per_hour for n, u in zip(counts, units, strict=True))
        rate = sum(n * u.tokens_per_second for n, u in zip(counts, units, strict=True))
        return cost / (rate * 3600 / 1e6)

    def cost(counts: tuple[int, ...]) -> float:
        return sum(n * u.usd_per_hour for n, u in zip(counts, units, strict=True))

    best = min(possible, key=ratio)
    assert best != min(possible, key=cost)
    bought = buy(units, asked, "cost-per-token", solver, 10)
    assert tuple(bought.counts.get(i, 0) for i in range(3)) == best
    assert bought.objective_value == pytest.approx(ratio(best), rel=1e-12)
    assert bought.objective_bound == pytest.approx(ratio(best), rel=1e-9)


def test_latency_takes_the_fastest_mix_and_the_cheapest_of_those(
    solver: Solver, unit: MakeUnit
) -> None:
    # Stock keeps every single kind from serving ten users alone.
    units = [
        unit(i, stock=name, tokens_per_second_per_user=speed, replica_users=users)
        for i, (name, speed, users) in enumerate(
            [("a", 70.0, 4), ("b", 60.0, 4), ("c", 50.0, 5), ("d", 50.0, 6)]
        )
    ]
    units += [
        unit(9 + i, stock=f"slow{i}", tokens_per_second_per_user=10.0 * (i + 1))
        for i in range(4)
    ]
    asked = Limits(users=10, stock={u.accelerator: 1 for u in units})
    bought = buy(units, asked, "latency", solver, 10)
    assert bought.objective_value == bought.objective_bound == 50.0
    assert bought.counts == {0: 1, 3: 1}


def test_the_fastest_two_of_twelve_are_found(solver: Solver, unit: MakeUnit) -> None:
    units = [
        unit(
            i,
            stock=f"a{i:02}",
            tokens_per_second_per_user=10.0 + i,
            price_micro_usd=(1000 + i) * USD,
        )
        for i in range(12)
    ]
    asked = Limits(users=8, stock={u.accelerator: 1 for u in units})
    bought = buy(units, asked, "latency", solver, 10)
    assert bought.counts == {10: 1, 11: 1}


def test_throughput_fills_the_budget(solver: Solver, unit: MakeUnit) -> None:
    large = unit(0, price_micro_usd=3000 * USD, tokens_per_second=130.0)
    small = unit(1, price_micro_usd=1000 * USD, tokens_per_second=40.0, host="other")
    asked = Limits(users=1, budget_micro_usd=8000 * USD)
    bought = buy([large, small], asked, "throughput", solver, 10)
    assert bought.counts == {0: 2, 1: 2}
    assert bought.objective_value == 340.0


def test_throughput_without_a_limit_is_an_input_error(
    solver: Solver, unit: MakeUnit
) -> None:
    with pytest.raises(InputError) as caught:
        buy([unit()], Limits(users=1), "throughput", solver, 10)
    (problem,) = caught.value.diagnostics
    assert (problem.code, problem.field) == ("E320", "--objective")


def test_two_losses_cost_the_two_largest_hosts_and_not_twice_the_largest(
    solver: Solver, unit: MakeUnit
) -> None:
    # With one replica of 8 and three of 1 in stock, two losses leave 2 users.
    large = unit(0, stock="a", replica_users=8)
    small = unit(1, stock="b", replica_users=1)
    asked = Limits(users=2, redundancy={"host": 2}, stock={"a": 1, "b": 3})
    assert buy([large, small], asked, "cheapest", solver, 10).counts == {0: 1, 1: 3}
    more = Limits(users=3, redundancy={"host": 2}, stock={"a": 1, "b": 3})
    assert buy([large, small], more, "cheapest", solver, 10).status == "infeasible"


@pytest.mark.parametrize("frugal", [0, 1])
def test_ties_are_broken_among_replicas_of_the_size_that_won(
    solver: Solver, unit: MakeUnit, frugal: int
) -> None:
    # Nine small ones, or three large ones: two of the frugal kind and one other.
    units = [unit(i, stock=f"large{i}", replica_users=4) for i in range(2)]
    units[frugal] = replace(units[frugal], power_watts=200.0)
    units += [unit(i, stock=f"small{i}", replica_users=1) for i in (2, 3)]
    stock = {"large0": 2, "large1": 2, "small2": 5, "small3": 5}
    asked = Limits(users=8, redundancy={"host": 1}, stock=stock)
    bought = buy(units, asked, "cheapest", solver, 10)
    assert bought.counts == {frugal: 2, 1 - frugal: 1}


@pytest.mark.parametrize(
    ("redundancy", "left"),
    [
        ({}, 22),
        ({"device": 2}, 10),
        ({"device": 9}, 0),
        # A host holds both of its replicas, a pair of hosts one.
        ({"host": 1}, 14),
        ({"host": 2}, 8),
        # What hangs on no switch is left.
        ({"switch": 1}, 14),
        ({"switch": 2}, 14),
        ({"rack": 1}, 14),
        ({"rack": 2}, 6),
        # What a host takes is more than what two devices take, or less.
        ({"device": 2, "host": 1}, 10),
        ({"device": 1, "host": 1}, 14),
        ({"host": 1, "switch": 1}, 14),
    ],
)
def test_what_stands_together_is_lost_together(
    unit: MakeUnit, redundancy: dict[str, int], left: int
) -> None:
    units = [
        unit(0, replica_users=8),
        unit(1, replica_users=3, replicas=2),
        unit(2, replica_users=4, replicas=2, hosts=4, switch="sn5600"),
    ]
    for users, missing in [(left, ()), (left + 5, (5,))]:
        asked = Limits(users=users, redundancy=redundancy)
        found = broken(rows(units), asked, {0: 1, 1: 1, 2: 1})
        assert tuple(each.amount for each in found) == missing


def test_two_replicas_of_one_host_are_no_spare(solver: Solver, unit: MakeUnit) -> None:
    both = unit(0, replicas=2, price_micro_usd=1500 * USD)
    one = unit(1, replicas=1, host="server")
    for part, counts in (
        ("device", {0: 1}),
        ("host", {1: 2}),
        ("rack", {1: 2}),
        ("switch", {1: 1}),
    ):
        asked = Limits(users=4, redundancy={part: 1})
        assert buy([both, one], asked, "cheapest", solver, 10).counts == counts


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"usd_per_hour": 0.4}, {}),
        ({"power_watts": 200.0}, {}),
        ({"host": "a"}, {"host": "b"}),
    ],
    ids=["cost", "power", "name"],
)
def test_ties_of_price_go_to_cost_then_power_then_name(
    solver: Solver, unit: MakeUnit, first: dict[str, Any], second: dict[str, Any]
) -> None:
    # The worse one is of another accelerator, so that dominance does not decide,
    # and, but for the last case, comes first by name.
    name = {"stock": "z"} if "host" not in first else {"stock": "c"}
    better, worse = unit(0, **first, **name), unit(1, **second, stock="d")
    asked = Limits(users=4)
    assert buy([better, worse], asked, "cheapest", solver, 10).counts == {0: 1}
    assert buy([worse, better], asked, "cheapest", solver, 10).counts == {1: 1}


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({}, [0]),
        ({"price_micro_usd": 1001 * USD}, [0]),
        ({"price_micro_usd": 999 * USD}, [1]),
        ({"stock": "y", "price_micro_usd": 1001 * USD}, [0, 1]),
        ({"rack_units": 1.0}, [0, 1]),
        ({"price_micro_usd": 1001 * USD, "tokens_per_second_per_user": 11.0}, [0, 1]),
        ({"price_micro_usd": 1001 * USD, "replicas": 2, "replica_users": 2}, [0, 1]),
        ({"price_micro_usd": 1001 * USD, "replica_users": 5}, [0, 1]),
    ],
    ids=["same", "dear", "cheap", "other", "low", "fast", "split", "full"],
)
def test_undominated(unit: MakeUnit, change: dict[str, Any], kept: list[int]) -> None:
    units = [unit(0, host="a"), unit(1, host="b", **change)]
    for same in (units, units[::-1]):
        assert sorted(u.index for u in undominated(same, {"device": 1})) == kept


def test_a_dear_accelerator_is_bought_where_the_cheap_one_is_out_of_stock(
    solver: Solver, unit: MakeUnit
) -> None:
    dear = unit(1, stock="y", price_micro_usd=5000 * USD)
    asked = Limits(users=12, stock={"x": 2})
    assert buy([unit(0), dear], asked, "cheapest", solver, 10).counts == {0: 2, 1: 1}


def test_nothing_to_buy_is_infeasible(solver: Solver) -> None:
    bought = buy([], Limits(users=1), "cheapest", solver, 10)
    assert (bought.status, bought.price_micro_usd) == ("infeasible", None)
    assert not satisfiable([], Limits(users=1), solver, 10)


def test_what_exceeds_a_limit_alone_is_not_offered(
    solver: Solver, unit: MakeUnit
) -> None:
    asked = Limits(users=1, power_watts=unit(0).power_watts)
    hungry = unit(1, power_watts=2 * unit(0).power_watts, price_micro_usd=1)
    assert buy([unit(0), hungry], asked, "cheapest", solver, 10).counts == {0: 1}
    assert offered([unit(0), hungry], asked, "cheapest").rows == (0,)


def test_that_one_kind_does_is_told_without_the_solver(unit: MakeUnit) -> None:
    assert satisfiable([unit(0)], Limits(users=1), Interrupting(()), 10)


def test_without_time_a_single_kind_is_offered_unproven(
    solver: Solver, unit: MakeUnit
) -> None:
    bought = buy([unit()], Limits(users=5), "cheapest", solver, 0)
    assert (bought.status, bought.counts) == ("feasible", {0: 2})
    assert (bought.bound_micro_usd, bought.gap) == (None, None)


class Interrupting(Solver):
    """A solver during whose work the user presses Ctrl-C."""

    def __init__(self, values: tuple[int, ...]) -> None:
        self.values = values

    def solve(self, *_: object) -> Outcome:
        raise SolveInterrupted(Outcome("feasible", self.values, 0, 0))


def test_an_interruption_hands_over_the_best_so_far(unit: MakeUnit) -> None:
    units = [
        unit(0, replica_users=10, price_micro_usd=2000 * USD),
        unit(1, replica_users=3, price_micro_usd=900 * USD, stock="y"),
    ]
    mix = (1, 1)
    with pytest.raises(PurchaseInterrupted) as caught:
        buy(units, Limits(users=13), "cheapest", Interrupting(mix), 10)
    purchase = caught.value.purchase
    assert (purchase.status, purchase.counts) == ("feasible", {0: 1, 1: 1})
    assert purchase.price_micro_usd == 2900 * USD
    with pytest.raises(PurchaseInterrupted) as caught:
        buy(units, Limits(users=13), "cheapest", Interrupting(()), 10)
    assert caught.value.purchase.counts == {0: 2}
