"""Evaluations of serving have prediction intervals, where anything is known of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest

import planopt
from planopt.catalog.open import bundled_folder
from planopt.documents.base import to_json
from planopt.report.evaluation import render_evaluation
from planopt.serving.prediction_interval import statement
from planopt_reference import verify_plan

if TYPE_CHECKING:
    from planopt.documents.evaluation import EvaluationDocument


def test_an_evaluation_has_intervals_around_its_figures() -> None:
    found = planopt.evaluate(model="llama-3.1-8b", accelerator="h100-sxm", batch=16)
    token = found.intervals["tpot_seconds"]
    assert found.decode.tpot_seconds is not None
    assert token.low < token.high
    assert token.low / 2 < found.decode.tpot_seconds < token.high * 2
    assert not token.extrapolated
    speed = found.intervals["tokens_per_second_per_user"]
    assert (speed.low, speed.high) == (1 / token.high, 1 / token.low)
    assert statement([found]).endswith("on such hardware were measured")


def test_an_engine_has_its_own_speed_and_its_own_errors() -> None:
    def asked(engine: str | None) -> EvaluationDocument:
        return planopt.evaluate(
            model="llama-3.1-8b", accelerator="h100-sxm", batch=16, engine=engine
        )

    plain, found = asked(None), asked("vllm")
    assert (plain.engine, found.engine) == (None, "vllm")
    shown = str(render_evaluation(found))
    assert "1 of 4 × H100 SXM5 80GB" in shown
    assert "llama-3.1-8b under vllm" in shown
    assert found.decode.tpot_seconds != plain.decode.tpot_seconds
    assert found.intervals.keys() == plain.intervals.keys()
    assert found.ttft_seconds.mean is not None
    assert plain.ttft_seconds.mean is not None
    # What a request takes beside its steps is known of engines alone.
    assert found.ttft_seconds.mean > plain.ttft_seconds.mean


def test_a_plan_under_an_engine_has_the_errors_of_engines() -> None:
    def asked(engine: str | None) -> planopt.Plan:
        return planopt.solve(
            model="llama-3.1-8b",
            accelerators="l40s",
            target=20,
            engine=engine,
            confidence="95%",
        )

    plain, found = asked(None), asked("vllm")
    assert "any engine" in str(plain.evidence and plain.evidence.kinds[0].of)
    assert "any engine" not in str(found.evidence and found.evidence.kinds[0].of)
    assert found.request.engine_name == "vllm"
    assert verify_plan(json.loads(to_json(found)), bundled_folder()) == []
    another = msgspec.structs.replace(found.request, engine_name="sglang")
    document = json.loads(to_json(msgspec.structs.replace(found, request=another)))
    assert verify_plan(document, bundled_folder())


@pytest.mark.parametrize("accelerators", ["rtx-4090", "h100-sxm", "r9700"])
def test_an_interval_ends_where_the_chance_of_its_promises_does(
    accelerators: str,
) -> None:
    plan = planopt.solve(model="llama-3.1-8b", accelerators=accelerators, target=20)
    (deployment,) = plan.deployments
    interval = deployment.evaluation.intervals["tpot_seconds"]
    assert deployment.evaluation.decode.tpot_seconds is not None
    seconds = deployment.evaluation.decode.tpot_seconds
    assert plan.evidence is not None
    (kind,) = plan.evidence.kinds
    assert interval.low == pytest.approx(seconds * kind.low)
    assert interval.high == pytest.approx(seconds * kind.high)
    assert interval.extrapolated == (kind.grade == "none")


def test_engines_are_known_by_name() -> None:
    with pytest.raises(planopt.InputError) as unknown:
        planopt.evaluate(accelerator="h100-sxm", engine="steam")
    assert "vllm" in str(unknown.value.diagnostics[0].accepted)


def test_hardware_that_nobody_measured_is_extrapolated() -> None:
    found = planopt.evaluate(model="llama-2-7b", accelerator="rx-7900-xtx", batch=16)
    assert found.intervals["tpot_seconds"].extrapolated
    assert "not measured on such hardware" in statement([found])


def test_other_assumptions_have_no_intervals() -> None:
    found = planopt.evaluate(accelerator="rtx-4090", tp=8, assumptions="article")
    assert found.intervals == {}
