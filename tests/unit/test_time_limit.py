"""A time limit is one clock for the whole answer, and what it cuts is not proven."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import replace as change
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

import planopt
from planopt.catalog.open import open_catalog
from planopt.errors import InputError
from planopt.options import Asked, Edit
from planopt.planning import pools, risk, settle
from planopt.planning.pipeline import Serving
from planopt.planning.question import ServingQuestion, TrainingQuestion
from planopt.procurement.problem import Purchase
from planopt.procurement.purchase import buy
from planopt.procurement.solver import Solver
from planopt.report.plan import render_plan
from planopt.serving.search import Aim, UnitsSought, find_together

if TYPE_CHECKING:
    from collections.abc import Iterator

LATENCIES: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "request_rate": "2/s",
    "ttft": "2s",
    "target": "8tok/s",
}
OVER = property(lambda question: question.started)
"""When an answer is due for which there is no time, however fast the machine."""
WHOLE_SPACE = 10_000_000
"""Configurations, of the tens of millions that are worth less than $200M."""


@pytest.fixture(scope="module")
def solver() -> Iterator[Solver]:
    with Solver() as one:
        yield one


def _question(solver: Solver, **asked: Any) -> ServingQuestion:
    read = Asked.by_user("solve", {**asked, "time_limit": "60s"})
    return Serving().read(read, open_catalog(), solver)


def test_a_search_without_time_stops_and_says_so(solver: Solver) -> None:
    problem = _question(solver).problem
    each = [UnitsSought(problem, Aim(), seconds) for seconds in (0.0, 60.0)]
    cut, whole = find_together(open_catalog(), each)
    assert cut.summary.is_cut_by_time
    assert not whole.summary.is_cut_by_time


def test_what_is_cheapest_is_found_without_looking_at_all_that_money_buys(
    solver: Solver,
) -> None:
    question = _question(solver, budget="200M")
    assert question.buy().status == "optimal"
    assert question.found.summary.covered < WHOLE_SPACE


def test_a_purchase_that_was_cut_is_bounded_by_the_money_looked_up_to(
    solver: Solver,
) -> None:
    question = _question(solver)
    whole = question.buy()
    assert whole.status == "optimal"
    price = whole.price_micro_usd or 0
    question.looked_up_to = 0.5 * price / 1e6
    cut = question.buy()
    assert (cut.status, cut.why) == ("feasible", "time")
    assert cut.bound_micro_usd == price // 2
    assert cut.gap == pytest.approx(0.5)
    question.looked_up_to = 0.0
    cut = question.buy()
    assert (cut.status, cut.bound_micro_usd, cut.gap) == ("feasible", None, None)
    # What was not looked at is dearer than what is bought.
    question.looked_up_to = 2 * price / 1e6
    assert question.buy().status == "optimal"


@pytest.mark.parametrize("model", ["llama-3.1-8b", "llama-3.1-70b"])
def test_nothing_is_proven_in_no_time(
    monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setattr(ServingQuestion, "ends", OVER)
    # Less is known whole before the clock is first looked at.
    hurried = planopt.solve(**{**LATENCIES, "model": model, "request_rate": "200/s"})
    assert hurried.status != "optimal"
    assert hurried.why == "time"
    if hurried.status == "infeasible":
        assert "proven" not in str(render_plan(hurried)).splitlines()[0]
        assert not (hurried.infeasibility and hurried.infeasibility.binding)


def test_nothing_more_is_asked_once_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Aim] = []
    find = ServingQuestion.find

    def counted(question: ServingQuestion, aim: Aim) -> Any:
        asked.append(aim)
        time.sleep(0.002)  # a search of little may take less than the limit
        return find(question, aim)

    monkeypatch.setattr(ServingQuestion, "find", counted)
    planopt.solve(throughput="1e12tok/s", time_limit="1ms")
    assert len(asked) == 1


def test_a_run_is_searched_for_in_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """`train --model deepseek-v3 --procurement both --time-limit 5s` took 44 s."""
    monkeypatch.setattr(TrainingQuestion, "ends", OVER)
    hurried = planopt.train("deepseek-v3", tokens="1T", deadline="30d")
    assert hurried.status != "optimal"
    assert hurried.why == "time"


def test_what_is_asked_for_an_answer_is_due_with_it(solver: Solver) -> None:
    question = _question(solver, **LATENCIES)
    question.started -= 100.0
    asked = question.edited(Edit({"target": ""})), question.about(objective="latency")
    assert {each.ends for each in asked} == {question.ends}


def test_a_search_ends_where_it_takes_more_memory_than_it_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("planopt.steps.held_bytes", lambda: 700_000_000)
    assert planopt.solve(**LATENCIES, memory_limit="800MB").price_usd
    with pytest.raises(InputError, match=r"E003.*more than 600 MB"):
        planopt.solve(**LATENCIES, memory_limit="600MB")


def test_a_purchase_that_nothing_is_known_beside_is_not_proven(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a solver had found when the clock ended was its own bound, and optimal."""

    def cut(*asked: Any, **how: Any) -> Purchase:
        return change(buy(*asked, **how), status="feasible", objective_bound=None)

    monkeypatch.setattr(settle, "buy", cut)
    plan = planopt.solve(**LATENCIES, max_power="3kW", time_limit="8s")
    assert (plan.status, plan.why, plan.gap) == ("feasible", "time", None)


def test_what_nobody_had_the_time_to_settle_is_not_proven(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The price looked up to was the bound where no other was known, and met."""
    ask = settle._asked

    def cut(asks: Any) -> list[Any]:
        none: Any = {"counts": {}, "build": None, "value": None, "bound": None}
        return [replace(answer, ended="time", **none) for answer in ask(asks)]

    monkeypatch.setattr(settle, "_asked", cut)
    plan = planopt.solve(**LATENCIES, max_power="3kW", time_limit="60s")
    assert (plan.status, plan.why, plan.gap) == ("feasible", "time", None)


def test_pools_are_not_run_without_time(solver: Solver) -> None:
    question = _question(solver, **LATENCIES)
    question.problem = replace(question.problem, time_limit_seconds=0.0)
    two = pools.two_pools(question)
    assert two.told is None
    assert two.build is None


def test_a_run_asks_for_no_more_changes_once_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`train --max-power 350W --time-limit 30s` took 43 s: each change is a search."""
    asked: list[TrainingQuestion] = []
    search = TrainingQuestion.search

    def counted(question: TrainingQuestion) -> Any:
        asked.append(question)
        return search(question)

    monkeypatch.setattr(TrainingQuestion, "search", counted)
    monkeypatch.setattr(TrainingQuestion, "ends", OVER)
    hurried = planopt.train(
        "llama-2-7b",
        tokens="50B",
        deadline="30d",
        max_power="350W",
        accelerators="rtx-4090",
    )
    # The question itself, the fastest of all, and one change.
    assert len(asked) <= 4
    assert hurried.infeasibility is not None
    assert "the time limit was reached" in (hurried.infeasibility.note or "")
    names = {each.name for each in hurried.infeasibility.binding}
    assert names >= {"deadline", "power", "accelerators"}


class Run(Exception):
    """Raised where something would be simulated."""


def run(*_: object) -> None:
    raise Run


@pytest.mark.parametrize(
    ("replicas", "seconds", "is_run"),
    [(64, 0.0, True), (65, 0.0, False), (128, 1.0, True), (129, 1.0, False)],
)
def test_hundreds_of_replicas_are_not_simulated_once_the_clock_has_ended(
    monkeypatch: pytest.MonkeyPatch, *, replicas: int, seconds: float, is_run: bool
) -> None:
    """A thousand of them took 84 seconds of a limit of ten."""
    monkeypatch.setattr(settle, "judged", run)
    bought = SimpleNamespace(deployments=[SimpleNamespace(replicas=replicas)])
    question: Any = SimpleNamespace(seconds_left=seconds, bought=lambda _: bought)
    purchase = Purchase("feasible", counts={0: 1})
    with pytest.raises(Run) if is_run else nullcontext():
        assert settle._unproven(question, purchase) is None


@pytest.mark.parametrize(("left", "most"), [(30.0, 30.0), (0.0, risk.BESIDE_SECONDS)])
def test_how_slow_steps_may_be_is_asked_no_longer_than_there_is_time(
    monkeypatch: pytest.MonkeyPatch, *, left: float, most: float
) -> None:
    """A thousand replicas took 55 seconds beside a plan that the clock had cut."""

    def held_to(*asked: object) -> None:
        assert asked[-1] == most

    monkeypatch.setattr(risk, "held_to", held_to)
    monkeypatch.setattr(risk, "runs_on", lambda *_: [])
    monkeypatch.setattr(risk, "chance", lambda *_: 0.5)
    monkeypatch.setattr(risk, "slower", lambda *_: 1.1)
    problem = SimpleNamespace(percentile="p95", target=8.0, slower={})
    question: Any = SimpleNamespace(seconds_left=left, problem=problem, catalog=None)
    kind: Any = SimpleNamespace(accelerator="h100-sxm")
    chosen: Any = SimpleNamespace()
    assert risk.served_to(question, chosen, kind) is None
