"""No plan: the conflict, and the changes that would help, which keep their word."""

from __future__ import annotations

import re
from typing import Any

import pytest

import planopt
from planopt.planning.nearest import SAID
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
