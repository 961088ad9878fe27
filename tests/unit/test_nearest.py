"""No plan: the conflict, and the changes that would help, which keep their word."""

from __future__ import annotations

import re
from typing import Any

import pytest

import planopt
from planopt.options import taken_by
from planopt.planning.nearest import LESS, LIFTS, SAID
from planopt.serving.question_types import Problem
from planopt.training.problem import TrainingProblem

QUESTION: dict[str, Any] = {"model": "llama-3.1-405b", "target": "5tok/s"}


@pytest.fixture(scope="module")
def refused() -> planopt.Plan:
    # What lies beside an answer is asked while there is time.
    return planopt.solve(**QUESTION, budget=3000, time_limit="120s")


def test_money_and_the_model_are_the_conflict(refused: planopt.Plan) -> None:
    assert refused.status == "infeasible"
    assert refused.infeasibility is not None
    names = {limit.name for limit in refused.infeasibility.binding}
    assert names == {"budget", "model"}


def test_money_a_format_and_a_speed_are_offered(refused: planopt.Plan) -> None:
    assert refused.infeasibility is not None
    offered = {frozenset(change.options) for change in refused.infeasibility.nearest}

    assert frozenset({"budget"}) in offered
    assert frozenset({"weights", "budget"}) in offered
    assert any("target" in options for options in offered)


def test_every_change_has_a_plan_when_it_is_asked_for(refused: planopt.Plan) -> None:
    assert refused.infeasibility is not None
    for change in refused.infeasibility.nearest:
        plan = planopt.solve(**{**QUESTION, **change.options})

        assert plan.status == "optimal" or plan.why == "time", change
        # Who is asked for it alone has more time: what was told is there at least.
        assert plan.price_usd is not None
        assert change.price_usd is not None
        assert plan.price_usd <= change.price_usd
        assert plan.price_usd <= float(change.options["budget"])


@pytest.mark.parametrize("said", SAID.values(), ids=[*SAID])
def test_limits_are_said_of_what_problems_have(said: str) -> None:
    named = set(re.findall(r"\{0\.(\w+)", said))
    assert named

    def has(problem: type) -> bool:
        noted = (vars(each).get("__annotations__", {}) for each in problem.__mro__)
        return named <= {*dir(problem), *(name for names in noted for name in names)}

    assert has(Problem) or has(TrainingProblem)


PANELS = ("Promises", "Hardware", "Money")
LIFTED = {option for edit in LIFTS.values() for option in edit.options} | set(LESS)
OTHERWISE = {
    "target": "a slower one is found",
    "deadline": "a later one is found",
    "budget": "what is needed is found",
    "condition": "used parts are tried",
    "procurement": "renting is tried",
    "billing": "what is on demand is always there",
}
"""Limits that changes of their own move."""
NO_LIMITS = {
    *("percentile", "objective", "own", "sell", "discount", "prices", "vat", "years"),
    *(
        "duty",
        "currency",
        "regained",
        "electricity",
        "pue",
        "wacc",
        "staff",
        "cost_line",
        "carbon",
        "delivery",
        "price_drift",
    ),
    # Other kinds of questions.
    *("neighbours", "repeat", "lifetime", "away", "islands", "inner_steps", "marginal"),
}


@pytest.mark.parametrize("command", ["solve", "train"])
def test_every_option_that_limits_is_lifted(command: str) -> None:
    limits = {name for name, each in taken_by(command).items() if each.panel in PANELS}
    assert limits - NO_LIMITS <= LIFTED | OTHERWISE.keys()


SMALL: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "accelerators": "rtx-4090",
    "load": "steady",
    "target": "5tok/s",
    "time_limit": "60s",
}
LARGE: dict[str, Any] = {**SMALL, "model": "llama-2-70b"}
TIGHT: dict[str, Any] = {**SMALL, "budget": 6000}
UNMEASURED: dict[str, Any] = {**SMALL, "accelerators": "radeon-ai-pro-r9700"}


@pytest.mark.parametrize(
    ("asked", "change"),
    [
        ({**LARGE, "max_accelerators": 1}, {"max_accelerators": "8"}),
        ({**LARGE, "stock": "rtx-4090=1"}, {"stock": ""}),
        ({**TIGHT, "redundancy": 2}, {"redundancy": "0"}),
        ({**TIGHT, "throughput": "99999tok/s"}, {"throughput": "1560tok/s"}),
        ({**TIGHT, "request_rate": "50/s"}, {"request_rate": "3.12/s"}),
        ({**SMALL, "ttft": "1ms"}, {"ttft": ""}),
        ({**SMALL, "datacenter": True}, {"datacenter": ""}),
        ({**SMALL, "accelerators": "h100-sxm", "host": "desktop"}, {"host": ""}),
        (
            {**LARGE, "model": "llama-3.1-405b", "max_accelerators": 8},
            {"accelerators": ""},
        ),
        ({**UNMEASURED, "evidence": "measured"}, {"evidence": ""}),
        (
            {**UNMEASURED, "budget": 6000, "target": "40tok/s", "confidence": "95%"},
            {"confidence": ""},
        ),
        (
            {**SMALL, "procurement": "rent", "provider": "lambda"},
            {"provider": "", "provider_class": "any", "region": ""},
        ),
    ],
    ids=lambda value: next(iter(value)) if len(value) < 4 else "",
)
def test_a_limit_that_is_in_the_way_alone_is_lifted(
    asked: dict[str, Any], change: dict[str, str]
) -> None:
    plan = planopt.solve(**asked)
    assert plan.status == "infeasible"
    assert plan.infeasibility is not None
    assert change in [each.options for each in plan.infeasibility.nearest]
    lifted = {**asked, **change}
    other = planopt.solve(**{name: each for name, each in lifted.items() if each})
    assert other.price_usd is not None


def test_the_least_number_is_proposed_and_the_conflict_names_it() -> None:
    asked = {**LARGE, "max_accelerators": 1}
    plan = planopt.solve(**asked)
    assert plan.infeasibility is not None
    assert [each.name for each in plan.infeasibility.binding] == [
        "accelerators",
        "model",
    ]
    fewer = planopt.solve(**{**asked, "max_accelerators": 7})
    assert fewer.status == "infeasible"


def test_two_limits_are_lifted_together_where_none_alone_helps() -> None:
    asked: dict[str, Any] = {
        "model": "llama-3.1-405b",
        "accelerators": "l40s",
        "target": "1tok/s",
        "concurrency": 1,
        "load": "steady",
        "max_accelerators": 2,
        "max_power": "1kW",
        "time_limit": "60s",
    }
    none = planopt.solve(**asked)
    assert none.infeasibility is not None
    (change,) = none.infeasibility.nearest
    assert set(change.options) == {"max_power", "max_accelerators"}
    kept = {name: asked[name] for name in asked if name not in change.options}
    assert planopt.solve(**kept).status != "infeasible"
