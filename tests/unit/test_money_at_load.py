"""A token costs what it costs under the load and at the duty that were asked for."""

from __future__ import annotations

from typing import Any

import pytest

import planopt
from planopt.report.plan import render_plan

LOADED: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "accelerators": "h100-sxm",
    "acquire": "rent",
    "ttft": "2s",
    "target": "20tok/s",
    "users": 8,
}


def test_a_plan_tells_one_price_of_a_token_and_verifies_it() -> None:
    plan = planopt.solve(**LOADED)
    (deployment,) = plan.deployments
    load = deployment.evaluation.under_load
    assert load is not None
    tokens = (load.tokens_per_second or 0.0) * 3600
    assert plan.cost.usd_per_hour is not None
    per_million = plan.cost.usd_per_hour / tokens * 1e6
    assert plan.cost.usd_per_million_tokens == pytest.approx(per_million)
    assert f"${per_million:#.3g}/Mtok" in str(render_plan(plan, details=True))
    assert not planopt.verify(plan).mismatches


def test_tokens_are_dearer_while_machines_idle() -> None:
    asked: dict[str, Any] = {
        "model": "llama-3.1-8b",
        "accelerator": "rtx-4090",
        "users": 8,
        "prompt": 512,
        "output": 64,
    }
    busy = planopt.evaluate(**asked)
    load = busy.under_load
    assert load is not None
    expected = (
        (busy.cost.usd_per_hour or 0.0) / (load.tokens_per_second or 1.0) / 3.6e-3
    )
    assert busy.cost.usd_per_million_tokens == pytest.approx(expected)
    plans = [
        planopt.solve(
            model="llama-3.1-8b",
            accelerators="rtx-4090",
            target="20tok/s",
            ttft="2s",
            duty=duty,
        )
        for duty in ("100%", "25%")
    ]
    assert not any(planopt.verify(plan).mismatches for plan in plans)
    full, idle = [plan.cost.usd_per_million_tokens or 0.0 for plan in plans]
    assert idle > 2 * full
