"""The fastest for each user: no share of the users has more speed for the money."""

from __future__ import annotations

from typing import Any

import pytest

import planopt

STEADY: dict[str, Any] = {
    "load": "steady",
    "isl": 512,
    "osl": 512,
    "time_limit": "120s",
}
# Two users beside 32: no even share of 33 among replicas is either.
UNEVEN: dict[str, Any] = {
    **STEADY,
    "model": "mixtral-8x7b",
    "concurrency": 33,
    "budget": 90_000,
    "accelerators": "rtx-3090,a100-pcie-80,h100-sxm",
}


def speed_of(plan: planopt.Plan) -> float:
    return min(
        each.evaluation.decode.tokens_per_second_per_user or 0.0
        for each in plan.deployments
    )


@pytest.mark.parametrize(
    "asked",
    [
        UNEVEN,
        {
            **STEADY,
            "model": "llama-3.1-8b",
            "concurrency": 12,
            "budget": 20_000,
            "accelerators": "rtx-4090,rtx-5090",
        },
        {
            **STEADY,
            "model": "llama-2-13b",
            "concurrency": 5,
            "budget": 12_000,
            "accelerators": "rtx-4090,rtx-a6000",
        },
    ],
    ids=["mixtral", "8b", "13b"],
)
def test_nobody_finds_more_speed_for_the_money(asked: dict[str, Any]) -> None:
    fastest = planopt.solve(**asked, objective="latency")
    assert fastest.status == "optimal"
    speed = speed_of(fastest)
    # Another search: of each layout the most users at a speed, and what is cheapest.
    faster = planopt.solve(**asked, target=1.001 * speed)
    assert faster.status == "infeasible"
    as_fast = planopt.solve(**asked, target=0.999 * speed)
    assert as_fast.price_usd is not None


def test_users_are_shared_unevenly_where_that_is_faster() -> None:
    plan = planopt.solve(**UNEVEN, objective="latency")
    assert sorted(each.users for each in plan.deployments) == [2, 32]
    assert planopt.verify(plan)
