"""A staircase of promises: which plans are dearer than one that holds as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.documents.plan import Plan
from planopt_studies import staircase
from planopt_studies.staircase import PAIRS, Step, climbed, too_dear

if TYPE_CHECKING:
    import pytest


def step(target: float, price: float | None) -> Step:
    plan = Plan(status="optimal", price_usd=price)
    if price is None:
        plan = Plan(status="infeasible")
    return Step(target, f"at {target}", plan)


def pairs(steps: list[Step]) -> list[tuple[float, float]]:
    return [(one.target, other.target) for one, other in too_dear(steps)]


def test_a_faster_plan_that_is_cheaper_makes_the_slower_one_too_dear(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(staircase, "late_share", lambda *_: 1.0)
    climb = [step(10, 5.0), step(10.5, 4.0), step(11, None)]
    assert pairs(climb) == [(10, 10.5)]
    assert pairs([step(10, None), step(10.5, 4.0)]) == [(10, 10.5)]


def test_a_slower_plan_counts_where_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    late = {"at 10.5": -0.01, "at 11": 0.01}
    monkeypatch.setattr(staircase, "late_share", lambda of, _: late.get(of))
    climb = [step(10, 4.0), step(10.5, 5.0), step(11, 6.0)]
    # The first holds at the second's speed, and not at the third's.
    assert pairs(climb) == [(10.5, 10)]


def test_twenty_pairs_are_asked_by_half_tokens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(staircase, "answered", lambda _, asked: asked)
    assert len({(each.accelerator, each.rate, each.model) for each in PAIRS}) == 20
    targets = [each.target for each in climbed(PAIRS[0], 3)]
    assert targets == [18.0, 18.5, 19.0]
