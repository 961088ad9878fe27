"""What is there already costs nothing to buy, and nothing else changes."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.catalog.open import bundled_folder
from planopt.errors import InputError
from planopt.money import AROUND
from planopt_reference import verify_plan

if TYPE_CHECKING:
    from planopt.documents.plan import Plan

QUESTION: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "accelerators": "rtx-3090,rtx-4090",
    "host": "pcie-4gpu",
    "target": "20tok/s",
    "users": 64,
    "context": 2048,
    "load": "steady",
}


def told(plan: Plan) -> dict[str, Any]:
    """Take from a plan what does not say when and how long."""
    document: dict[str, Any] = json.loads(plan.to_json())
    del document["provenance"], document["search"]
    del document["request"]["typed"]
    return document


def price(**asked: object) -> float:
    """Price of the answer, once the reference agrees with all of it."""
    plan = planopt.solve(**{**QUESTION, **asked})
    assert plan.status == "optimal"
    assert plan.price_usd is not None
    assert verify_plan(json.loads(plan.to_json()), bundled_folder()) == []
    return plan.price_usd


def test_a_budget_of_1500_dollars_runs_on_ones_own_pc() -> None:
    plan = planopt.solve(
        model="gpt-oss-20b", own="1x3090,desktop", budget=1500, target="10tok/s"
    )
    assert plan.status == "optimal"
    assert (plan.price_usd, plan.capex_usd, plan.bound_usd) == (0, 0, 0)
    assert plan.request.own == {"rtx-3090": 1, "desktop": 1}
    assert [(line.id, line.owned) for line in plan.bill_of_materials] == [
        ("rtx-3090", True),
        ("desktop", True),
    ]
    assert plan.power_watts is not None
    assert plan.power_watts > 0
    assert verify_plan(json.loads(plan.to_json()), bundled_folder()) == []


def test_to_own_nothing_changes_nothing() -> None:
    assert told(planopt.solve(**QUESTION)) == told(planopt.solve(**QUESTION, own={}))


def test_what_is_owned_as_a_whole_costs_nothing() -> None:
    plan = planopt.solve(**QUESTION)
    bill = plan.bill_of_materials
    own = {line.id: line.quantity for line in bill if line.kind not in AROUND}
    again = planopt.solve(**QUESTION, own=own)
    assert plan.price_usd
    assert again.price_usd == 0
    assert again.bound_usd == 0
    assert verify_plan(json.loads(again.to_json()), bundled_folder()) == []


def test_the_price_falls_with_what_is_owned_and_by_no_more_than_that_is_worth() -> None:
    catalog = {line.id: line for line in planopt.solve(**QUESTION).bill_of_materials}
    each = catalog["rtx-4090"].unit_price_usd
    assert each is not None
    prices = [
        price(**({"own": {"rtx-4090": number}} if number else {}))
        for number in range(5)
    ]
    for more, fewer in zip(prices[1:], prices, strict=False):
        # Freight and spares are shares of it.
        assert fewer - 1.046 * each <= more + 0.01
        assert more <= fewer
    assert prices[1] < prices[0]


def test_one_host_takes_what_is_owned_and_what_is_bought() -> None:
    asked = {**QUESTION, "accelerators": "rtx-4090"}
    plan = planopt.solve(**asked, own="4090,pcie-4gpu")
    cards = [line for line in plan.bill_of_materials if line.kind == "accelerator"]
    assert [(line.quantity, line.owned) for line in cards] == [(1, True), (1, False)]
    (deployment,) = plan.deployments
    assert deployment.hardware.owned is not None
    assert deployment.hardware.owned.accelerators == 1
    of_card = 1.046 * (cards[1].unit_price_usd or 0.0)
    assert plan.price_usd == pytest.approx(of_card)
    assert verify_plan(json.loads(plan.to_json()), bundled_folder()) == []
    assert "1 × GeForce RTX 4090 (owned) + 1 × GeForce RTX 4090 in" in str(plan)


def test_what_is_owned_draws_power_and_is_one_of_the_accelerators() -> None:
    asked = {**QUESTION, "accelerators": "rtx-4090"}
    bought = planopt.solve(**asked)
    owned = planopt.solve(**asked, own="2x4090,pcie-4gpu", max_accelerators=2)
    assert owned.price_usd == 0
    assert owned.power_watts == bought.power_watts


def test_a_load_is_carried_by_what_is_owned_and_what_is_bought() -> None:
    asked = {**QUESTION, "load": "open", "request_rate": "2/s", "ttft": "5s"}
    del asked["users"], asked["context"]
    none, some = (planopt.solve(**asked, own=own) for own in ({}, {"rtx-4090": 1}))
    assert none.price_usd is not None
    assert some.price_usd is not None
    assert some.price_usd < none.price_usd
    assert verify_plan(json.loads(some.to_json()), bundled_folder()) == []


def test_a_run_of_training_takes_what_is_owned() -> None:
    asked: dict[str, Any] = {
        "model": "llama-3.1-8b",
        "tokens": "1B",
        "deadline": "90d",
        "accelerators": "rtx-4090",
    }
    bought = planopt.train(**asked)
    own = {
        line.id: line.quantity
        for line in bought.bill_of_materials
        if line.kind in ("accelerator", "host")
    }
    cards = {"rtx-4090": own["rtx-4090"]}
    part, whole = (planopt.train(**asked, own=there) for there in (cards, own))
    for plan in (part, whole):
        assert verify_plan(json.loads(plan.to_json()), bundled_folder()) == []
    assert bought.price_usd is not None
    assert part.price_usd is not None
    assert whole.price_usd is not None
    assert whole.price_usd <= part.price_usd < bought.price_usd


FORGED: dict[str, Any] = {
    "own more": lambda plan: plan["request"].update(own={}),
    "pay nothing": lambda plan: plan["bill_of_materials"][1].update(owned=True),
    "pay twice": lambda plan: plan["bill_of_materials"][0].update(owned=False),
    "all owned": lambda plan: plan["deployments"][0]["hardware"].update(
        owned={"accelerators": 2, "hosts": 1}
    ),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_a_plan_that_owns_more_than_there_is_does_not_hold(forgery: str) -> None:
    asked = {**QUESTION, "accelerators": "rtx-4090"}
    plan = json.loads(planopt.solve(**asked, own="4090,pcie-4gpu").to_json())
    copied = copy.deepcopy(plan)
    FORGED[forgery](copied)
    assert verify_plan(plan, bundled_folder()) == []
    assert verify_plan(copied, bundled_folder())


@pytest.mark.parametrize(
    ("own", "code", "said"),
    [
        ("2xrtx-309", "E001", "rtx-3090"),
        ("2x", "E002", "NxID"),
        ("0x3090", "E003", "whole number"),
        ("3090=some", "E003", "whole number"),
        ("gb10-dgx-spark-2", "E001", "gb10-dgx-spark"),
    ],
)
def test_what_cannot_be_owned_is_refused(own: str, code: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        planopt.solve(model="llama-3.1-8b", target="5tok/s", own=own)
    (problem,) = refused.value.diagnostics
    assert (problem.code, problem.field) == (code, "--own")
    assert said in f"{problem.message} {problem.accepted} {problem.help}"


def test_a_chip_that_comes_in_one_machine_is_that_machine() -> None:
    plan = planopt.solve(
        model="gpt-oss-20b", target="5tok/s", own="m3-ultra", load="steady"
    )
    assert plan.request.own == {"mac-studio-m3-ultra": 1}
    assert plan.price_usd == 0
