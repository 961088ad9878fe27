"""What a plan says besides cannot be forged: accuracy, intervals, warnings, answers."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

import pytest

import planopt
from planopt.catalog.open import bundled_folder
from planopt.documents.base import to_json
from planopt_reference import verify_plan


@cache
def plan_of(kind: str) -> dict[str, Any]:
    """A plan as it is saved; that of serving has a low margin and a budget."""
    if kind == "serving":
        told: Any = planopt.solve(
            target="5tok/s", budget=20_000, accelerators="ryzen-ai-max-395"
        )
    else:
        told = planopt.train(
            tokens="300B", deadline="30d", accelerators="h100-sxm,mi300x"
        )
    plan: dict[str, Any] = json.loads(to_json(told))
    return plan


def refused(plan: dict[str, Any]) -> set[str]:
    return {each.field for each in verify_plan(plan, bundled_folder())}


@pytest.mark.parametrize("kind", ["serving", "training"])
def test_a_sentence_of_smaller_errors_is_refused(kind: str) -> None:
    plan = copy.deepcopy(plan_of(kind))
    assert refused(plan) == set()
    plan["accuracy"]["statement"] = "TPOT: -1% to +1%, as others say"
    assert refused(plan) == {"accuracy.statement"}


def test_a_smaller_error_of_a_run_is_refused() -> None:
    plan = copy.deepcopy(plan_of("training"))
    plan["accuracy"]["median_error"] = 0.001
    assert refused(plan) == {"accuracy.median_error"}


@pytest.mark.parametrize(
    ("kind", "name"), [("serving", "tpot_seconds"), ("training", "days")]
)
@pytest.mark.parametrize("field", ["low", "high", "extrapolated"])
def test_a_narrower_interval_is_refused(kind: str, name: str, field: str) -> None:
    plan = copy.deepcopy(plan_of(kind))
    interval = plan["deployments"][0]["evaluation"]["intervals"][name]
    is_end = field != "extrapolated"
    interval[field] = (interval["low"] + interval["high"]) / 2 if is_end else False
    place = f"deployments[0].evaluation.intervals.{name}.{field}"
    assert place in refused(plan)


@pytest.mark.parametrize(
    "message", [None, "50.00 tok/s is 900% above the target: an ample margin"]
)
def test_a_low_margin_that_is_not_told_is_refused(message: str | None) -> None:
    plan = copy.deepcopy(plan_of("serving"))
    (low,) = [each for each in plan["warnings"] if each["code"] == "W001"]
    if message is None:
        plan["warnings"].remove(low)
    else:
        low["message"] = message
    assert refused(plan) == {"warnings"}


def test_answers_that_are_not_the_plans_are_refused() -> None:
    plan = copy.deepcopy(plan_of("serving"))
    plan["answers"]["cheapest"]["price_usd"] /= 2
    assert refused(plan) == {"answers.cheapest.price_usd"}
    plan = copy.deepcopy(plan_of("serving"))
    plan["answers"]["cheapest"]["bill_of_materials"][0]["quantity"] += 1
    bill = "answers.cheapest.bill_of_materials"
    assert refused(plan) == {bill, f"{bill}[0].price_usd"}
    plan = copy.deepcopy(plan_of("serving"))
    other = plan["answers"]["throughput"]
    for of in (other, other["bill_of_materials"][0]):
        of["price_usd"] += 10_000
    line = "answers.throughput.bill_of_materials[0].price_usd"
    assert refused(plan) == {line, "answers.throughput.price_usd"}
