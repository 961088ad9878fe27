"""Laws of confidence: more of it costs no less, and nobody forges it."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import planopt
from planopt import confidence
from planopt.catalog.open import bundled_folder, open_catalog
from planopt.documents.base import to_json
from planopt.documents.explanations import Kind
from planopt.options import Asked
from planopt.planning.pipeline import Serving
from planopt.planning.risk import HALVINGS, MOST_CERTAIN, served_to
from planopt.planning.settle import settled, simulated_build
from planopt.procurement.solver import Solver
from planopt_reference import certainty, verify_plan

CONFIDENCES = ("50%", "80%", "95%")
SERVED: list[dict[str, Any]] = [
    {"model": "llama-2-70b", "target": 8, "top": 1},
    {
        "model": "llama-3.1-8b",
        "target": 25,
        "throughput": 400,
        "accelerators": "rtx-4090,l40s",
        "load": "steady",
    },
    {
        "model": "llama-3.1-8b",
        "target": "30tok/s",
        "ttft": "1s",
        "requests": "2/s",
        "accelerators": "h100-sxm",
        "time_limit": "120s",
    },
]
TRAINED: dict[str, Any] = {
    "model": "llama-2-7b",
    "tokens": "20B",
    "deadline": "10d",
    "accelerators": "h100-sxm,mi300x",
}


@cache
def asked(which: int, share: str) -> dict[str, Any]:
    """Plan of a question at a confidence, as it is saved."""
    question = SERVED[which] if which < len(SERVED) else TRAINED
    ask = planopt.solve if which < len(SERVED) else planopt.train
    plan: dict[str, Any] = json.loads(to_json(ask(**question, confidence=share)))
    return plan


@pytest.mark.parametrize("which", range(len(SERVED) + 1))
def test_more_confidence_costs_no_less(which: int) -> None:
    plans = [asked(which, share) for share in CONFIDENCES]
    prices = [plan["price_usd"] for plan in plans]
    assert prices == sorted(prices)
    for plan, share in zip(plans, CONFIDENCES, strict=True):
        assert plan["confidence"] == float(share[:-1]) / 100
        assert len(plan["evidence"]["kinds"]) == 1
        assert plan["probability"] >= plan["confidence"] - 1e-9
        told = [plan[f"price_usd_at_confidence_{at}"] for at in (50, 95)]
        for found, known in zip(told, (prices[0], prices[-1]), strict=True):
            assert found is None or found == pytest.approx(known)
        assert verify_plan(plan, bundled_folder()) == []


def test_a_kind_without_error_has_one_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    def exact(_: object, __: object, names: list[str]) -> dict[str, Kind]:
        return {name: Kind(accelerator=name, low=1.0, high=1.0) for name in names}

    monkeypatch.setattr(confidence, "kinds", exact)
    plain, *others = (
        planopt.solve(**SERVED[0], confidence=share) for share in (None, *CONFIDENCES)
    )
    for other in others:
        assert other.bill_of_materials == plain.bill_of_materials
        assert other.price_usd == plain.price_usd


def test_steps_so_much_longer_are_judged_as_a_promise_so_much_higher() -> None:
    only: dict[str, Any] = {**SERVED[0], "accelerators": "h100-sxm", "budget": "1M"}
    judged = planopt.solve(**only, confidence="95%")
    assert judged.evidence is not None
    (kind,) = judged.evidence.kinds
    higher = planopt.solve(**{**only, "target": 8 * kind.slower})
    assert judged.bill_of_materials == higher.bill_of_materials


def test_nothing_that_nobody_measured_is_called_measured() -> None:
    for which in (0, 3):
        for share in CONFIDENCES:
            for kind in asked(which, share)["evidence"]["kinds"]:
                is_own = str(kind["of"]).startswith(kind["accelerator"])
                assert (kind["grade"] == "measured") == is_own
    train = planopt.train(**{**TRAINED, "accelerators": "mi300x"})
    assert train.evidence is not None
    assert (train.evidence.grade, train.evidence.rows) == ("none", 0)
    # It may be as slow as the slowest that was.
    measured = planopt.train(**{**TRAINED, "accelerators": "h100-sxm"}).evidence
    assert measured is not None
    assert measured.grade == "measured"
    assert train.evidence.kinds[0].high >= measured.kinds[0].high


def test_what_is_not_measured_is_left_out_and_said() -> None:
    plan = planopt.train(**TRAINED, evidence="measured")
    assert {each.candidate.accelerator for each in plan.deployments} == {"h100-sxm"}
    (left,) = [each for each in plan.not_considered if "measured" in each.why]
    assert left.names == ("mi300x",)
    none = planopt.train(**{**TRAINED, "accelerators": "mi300x"}, evidence="family")
    assert none.status == "infeasible"


def test_a_fleet_is_judged_as_slow_as_its_kinds_may_be() -> None:
    file = Path(__file__).parents[1] / "cli" / "fleet_small.toml"
    plans = [
        planopt.fleet(file, compare=False, confidence=share) for share in CONFIDENCES
    ]
    costs = [plan.total_usd for plan in plans if plan.total_usd is not None]
    assert costs == sorted(costs)
    assert costs[0] < costs[1]
    for plan, share in zip(plans, CONFIDENCES, strict=True):
        assert plan.confidence == float(share[:-1]) / 100
        assert verify_plan(json.loads(to_json(plan)), bundled_folder()) == []
    surer = json.loads(to_json(plans[0]))
    surer["request"]["confidence"], surer["confidence"] = "80%", 0.8
    wrong = {each.field for each in verify_plan(surer, bundled_folder())}
    assert "deployments[0].requests_per_second" in wrong


def test_robust_is_a_word_for_much_confidence() -> None:
    words: Any = {**SERVED[0], "robust": True}
    plan = planopt.solve(**words)
    assert (plan.confidence, plan.request.confidence) == (0.95, "95%")
    assert planopt.solve(**{**words, "robust": False}).confidence is None


def test_without_known_errors_a_fifth_of_the_speed_is_not_counted_on() -> None:
    question: dict[str, Any] = {
        "model": "article-70b",
        "accelerators": "rtx-4090",
        "context": 400,
        "assumptions": "article",
        "top": 1,
    }
    judged = planopt.solve(**question, target=4.0, confidence="80%")
    assert judged.evidence is not None
    (kind,) = judged.evidence.kinds
    assert (kind.grade, kind.high) == ("none", confidence.WHERE_UNKNOWN)
    higher = planopt.solve(**question, target=4.0 * kind.slower)
    assert judged.bill_of_materials == higher.bill_of_materials
    assert verify_plan(json.loads(to_json(judged)), bundled_folder()) == []


FORGED: dict[str, Any] = {
    "probability": 0.99,
    "confidence": 0.95,
    "price_usd_at_confidence_50": 1e9,
    "price_usd_at_confidence_95": 1.0,
    "evidence.grade": "measured",
    "evidence.rows": 1_000,
    "evidence.kinds.0.grade": "measured",
    "evidence.kinds.0.high": 1.01,
    "evidence.kinds.0.slower": 1.0,
    "evidence.kinds.0.held_to": 9.0,
    "evidence.kinds.0.accelerator": "h100-pcie",
}


@pytest.mark.parametrize("which", range(len(SERVED) + 1))
@pytest.mark.parametrize("field", FORGED)
def test_no_plan_is_surer_than_it_is(which: int, field: str) -> None:
    plan = copy.deepcopy(asked(which, "80%"))
    *path, last = field.split(".")
    place: Any = plan
    for step in path:
        place = place[int(step)] if step.isdigit() else place[step]
    is_so = place[last] == FORGED[field]
    place[last] = "none" if is_so else FORGED[field]
    assert verify_plan(plan, bundled_folder())


@pytest.mark.parametrize("which", range(len(SERVED) + 1))
@pytest.mark.parametrize(("at_50", "at_95"), [(1.01, 9.0), (0.5, 0.9)])
def test_prices_lie_about_the_plans_own(which: int, at_50: float, at_95: float) -> None:
    plan = copy.deepcopy(asked(which, "80%"))
    plan["price_usd_at_confidence_50"] = at_50 * plan["price_usd"]
    plan["price_usd_at_confidence_95"] = at_95 * plan["price_usd"]
    assert verify_plan(plan, bundled_folder())


def test_a_load_has_no_more_time_than_its_promises_leave() -> None:
    plan = copy.deepcopy(asked(2, "80%"))
    (kind,) = plan["evidence"]["kinds"]
    same = certainty.Kind(kind["grade"], kind["low"], kind["high"])
    for held_to in (30.0, 1.0):
        kind["held_to"], plan["probability"] = held_to, same.chance(held_to)
        wrong = [each.field for each in verify_plan(plan, bundled_folder())]
        assert "evidence.kinds[h100-sxm].held_to" in wrong


def test_a_kind_may_be_as_slow_as_a_run_shows_to_hold_and_hardly_more() -> None:
    with Solver() as solver:
        read = Asked.by_user("solve", {"target": "5tok/s", "budget": 20_000})
        question = Serving().read(read, open_catalog(), solver)
        (choice,) = settled([(question, question.buy())])
        assert choice is not None
        chosen = choice.build
        (card,) = chosen.deployments[0].cards
        kind = confidence.kinds(question.catalog, question.problem, [card])[card]
        held = served_to(question, chosen, kind)
        assert held is not None

        def late(longer: float) -> dict[str, float]:
            slower = question.about(slower={card: longer})
            return simulated_build(slower, chosen).missed

        least = confidence.chance(kind, 1.0)
        step = (MOST_CERTAIN - least) / 2**HALVINGS
        reached = confidence.chance(kind, held)
        assert least < reached < MOST_CERTAIN - step
        assert not late(held)
        assert late(confidence.slower(kind, reached + step))


ENDS = st.tuples(st.floats(0.05, 3.0), st.floats(0.0, 2.0)).map(
    lambda ends: (ends[0], ends[0] * (1 + ends[1]))
)


@given(ENDS, st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_chance_and_multiple_are_each_other_turned_round(
    ends: tuple[float, float], share: float, other: float
) -> None:
    low, high = ends
    kind = Kind(accelerator="any", low=low, high=high)
    same = certainty.Kind("none", low, high)
    longer = confidence.slower(kind, share)
    assert same.slower(share) == pytest.approx(longer, rel=1e-9)
    assert (other < share) <= (confidence.slower(kind, other) <= longer)
    if low * 1.001 < high:
        assert confidence.slower(kind, 0.1) == pytest.approx(low)
        assert confidence.slower(kind, 0.9) == pytest.approx(high)
    if low * 1.001 < high and not (low <= 1 <= high and min(1 - low, high - 1) < 1e-3):
        assert confidence.chance(kind, longer) == pytest.approx(share, abs=1e-6)
        assert same.chance(longer) == pytest.approx(share, abs=1e-6)
