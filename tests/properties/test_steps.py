"""What one step of a limit is worth: exactly what asking again saves."""

from __future__ import annotations

from typing import Any

import pytest

import planopt

QUESTION: dict[str, Any] = {
    "model": "llama-2-70b",
    "accelerators": "rtx-4090,rtx-5090",
    "target": 5.0,
    "users": 8,
    "stock": "rtx-5090=4",
    "load": "steady",
    "max_power": "4500W",
    "top": 1,
}
AGAIN: dict[str, dict[str, Any]] = {
    "stock:rtx-5090": {"stock": "rtx-5090=5"},
    "power": {"max_power": "4950W"},
    "concurrency": {"users": 7},
    "target": {"target": 4.5},
}


def test_a_step_is_worth_what_asking_again_saves() -> None:
    plan = planopt.solve(**QUESTION, steps=True)
    assert plan.price_usd is not None
    worth = {each.limit: each for each in plan.steps}
    assert set(worth) == set(AGAIN)
    for limit, changed in AGAIN.items():
        other = planopt.solve(**{**QUESTION, **changed})
        assert other.price_usd is not None
        assert worth[limit].saves_usd == pytest.approx(plan.price_usd - other.price_usd)
        same = other.bill_of_materials == plan.bill_of_materials
        assert worth[limit].binding != same
    assert any(each.binding for each in plan.steps), "nothing binds: no test at all"
    assert all((each.saves_usd or 0.0) >= 0 for each in plan.steps)


def test_steps_are_told_only_where_they_are_asked_for() -> None:
    assert planopt.solve(**QUESTION).steps == ()
