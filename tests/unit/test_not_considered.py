"""What could not be part of an answer is said, with what would bring it in."""

from __future__ import annotations

from typing import Any

import pytest

import planopt
from planopt.planning.compare import compare
from planopt.report.comparison import render_comparison
from planopt.report.plan import render_plan

SMALL: dict[str, Any] = {"model": "llama-3.1-8b", "target": "5tok/s"}


def _left_out(**said: Any) -> dict[str, set[str]]:
    asked = {**SMALL, "accelerators": "rtx-4090", "load": "steady", **said}
    plan = planopt.solve(**asked)
    left = [each for each in plan.not_considered if each.what == "accelerators"]
    assert all(each.count == len(each.names) for each in left)
    return {each.why: set(each.names) for each in left}


def test_less_power_is_considered_where_power_is_short() -> None:
    asked: dict[str, Any] = {**SMALL, "accelerators": "rtx-4090", "load": "steady"}
    ways: list[set[str]] = []
    for limit in (None, "2kW"):
        plan = planopt.solve(**asked, max_power=limit)
        ways.append({name for each in plan.not_considered for name in each.names})
    assert "cards below their power" in ways[0] - ways[1]


@pytest.mark.parametrize(
    ("there", "told"),
    [
        ({"stock": {"rtx-5090": 3, "rtx-4090": 3}}, False),
        ({"stock": {"rtx-5090": 3, "rtx-4090": 3}, "redundancy": 1}, True),
        ({"own": "2xrtx-5090,2xrtx-4090"}, True),
        ({"own": "2xrtx-5090"}, False),
    ],
)
def test_unlike_cards_share_no_replica(there: dict[str, Any], *, told: bool) -> None:
    cards = "rtx-4090,rtx-5090"
    plan = planopt.solve(**SMALL, accelerators=cards, load="steady", **there)
    names = {name for each in plan.not_considered for name in each.names}
    assert ("cards of different kinds in one replica" in names) is told


def test_an_accelerator_without_a_price_is_named() -> None:
    assert _left_out() == {}
    assert _left_out(accelerators="rtx-4090,b300") == {"no price new": {"b300"}}
    priced = _left_out(accelerators="rtx-4090,b300", prices="b300=50000")
    assert "b300" not in priced.get("no price new", set())


def test_a_licence_is_no_price() -> None:
    left = _left_out(accelerators="rtx-4090,l40s", datacenter=True)
    assert left == {"licence forbids data centers": {"rtx-4090"}}


def test_who_rents_has_more_to_choose_from() -> None:
    assert _left_out(accelerators="rtx-4090,b300", acquire="both") == {}


def test_a_machine_brings_its_accelerator() -> None:
    assert _left_out(accelerators="gb10-dgx-spark,rtx-4090") == {}


def test_nothing_to_choose_from_proves_nothing() -> None:
    plan = planopt.solve(**SMALL, accelerators="b300")
    shown = str(render_plan(plan, details=True))
    assert plan.status == "infeasible"
    assert "proven" not in shown
    assert "1 accelerator, no price new: b300" in shown


def test_a_comparison_tells_what_has_no_price() -> None:
    plans = compare(**SMALL, accelerators="rtx-4090,b300")
    shown = " ".join(str(render_comparison(plans, details=True)).split())
    assert "b300 has no price" in shown


@pytest.mark.parametrize("of_training", [{"tokens": "1B", "deadline": "30d"}])
def test_training_says_so_too(of_training: dict[str, Any]) -> None:
    asked = {"model": "llama-3.1-8b", "accelerators": "rtx-4090,b300", **of_training}
    left, uneven = planopt.train(**asked).not_considered
    assert left.names == ("b300",)
    assert uneven.help == "--allow-odd"
    even, odd = planopt.train(**asked), planopt.train(**asked, allow_odd=True)
    assert len(odd.not_considered) == 1
    assert odd.search.candidates_covered > even.search.candidates_covered
