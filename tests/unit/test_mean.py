"""Promises of the mean: held by the mean of a run, and no dearer than those of most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec import structs

import planopt

if TYPE_CHECKING:
    from planopt.documents.plan import Plan

ASKED = {
    "model": "llama-3.1-8b",
    "accelerators": ["rtx-4090"],
    "request_rate": "6/s",
    "isl": 1000,
    "osl": 200,
    "time_limit": "20s",
}


def plan_at(percentile: str, **promises: str) -> Plan:
    return planopt.solve(percentile=percentile, **ASKED, **promises)  # type: ignore[arg-type]


@pytest.mark.parametrize("promises", [{"ttft": "400ms"}, {"target": "40tok/s"}])
def test_a_mean_is_kept_and_is_no_dearer_than_most(promises: dict[str, str]) -> None:
    mean, most = plan_at("mean", **promises), plan_at("p95", **promises)
    assert mean.status in ("optimal", "feasible")
    assert mean.price_usd is not None
    assert most.price_usd is None or mean.price_usd <= most.price_usd
    for each in mean.promises:
        assert each.held, each
    for deployment in mean.deployments:
        evaluation = deployment.evaluation
        if "ttft" in promises:
            assert evaluation.ttft_seconds.mean is not None
            assert evaluation.ttft_seconds.mean <= 0.4
        else:
            assert evaluation.tpot_seconds.mean is not None
            assert evaluation.tpot_seconds.mean <= 1 / 40
    assert planopt.verify(mean)


def test_a_mean_that_is_late_is_no_plan() -> None:
    late = plan_at("mean", ttft="5ms")
    assert late.status == "infeasible"


def test_a_forged_mean_is_refused() -> None:
    plan = plan_at("mean", ttft="400ms")
    (promise, *others) = (each for each in plan.promises)
    forged = structs.replace(
        plan, promises=(structs.replace(promise, predicted=1e-9), *others)
    )
    assert not planopt.verify(forged)
