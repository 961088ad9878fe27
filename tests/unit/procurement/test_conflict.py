from __future__ import annotations

from planopt.procurement.problem import Limits
from planopt.procurement.purchase import minimal_conflict

GROUPS = ("concurrency", "throughput", "budget", "power", "stock:x")


def test_a_conflict_keeps_what_clashes_and_nothing_else() -> None:
    def feasible(groups: tuple[str, ...]) -> bool:
        return not {"concurrency", "power"} <= set(groups)

    assert minimal_conflict(GROUPS, feasible) == ("concurrency", "power")


def test_of_two_conflicts_the_one_named_last_is_kept() -> None:
    def feasible(groups: tuple[str, ...]) -> bool:
        return not ({"concurrency", "budget"} <= set(groups) or "stock:x" in groups)

    assert minimal_conflict(GROUPS, feasible) == ("stock:x",)


def test_nothing_possible_at_all_is_an_empty_conflict() -> None:
    assert minimal_conflict(GROUPS, lambda _: False) == ()


def test_what_is_known_to_be_infeasible_is_not_asked_again() -> None:
    asked: list[tuple[str, ...]] = []

    def unknown(groups: tuple[str, ...]) -> bool:
        asked.append(groups)
        return True

    assert minimal_conflict(GROUPS, unknown) == GROUPS
    assert GROUPS not in asked


def test_limits_name_their_groups_and_leave_out_others() -> None:
    limits = Limits(
        users=3,
        tokens_per_second=5.0,
        budget_micro_usd=1,
        power_watts=1.0,
        stock={"x": 1},
    )
    assert limits.groups == GROUPS
    assert limits.only(limits.groups) == limits
    assert limits.only(("budget",)) == Limits(users=0, budget_micro_usd=1)
    assert limits.only(("concurrency", "stock:x")) == Limits(users=3, stock={"x": 1})
