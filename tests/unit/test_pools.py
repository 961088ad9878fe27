"""Two pools beside one: what they promise is kept, what they cost adds up."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

import planopt
from planopt.planning.pools import beats

QUESTION: dict[str, Any] = {
    "model": "llama-3.1-70b",
    "weights": "fp8",
    "accelerators": "h100-sxm",
    "prompt": 3000,
    "output": 500,
    "ttft": "2s",
    "target": "33.3tok/s",
}
KV_BYTES_PER_TOKEN = 80 * 2 * 8 * 128 * 2
"""Layers, keys and values, KV heads, width, bytes of 16 bits."""
PAGED_PROMPT = 3008
"""3,000 tokens in pages of 16."""


@pytest.fixture(scope="module")
def plan() -> planopt.Plan:
    return planopt.solve(**QUESTION, max_accelerators=8, objective="throughput")


def test_two_pools_stand_beside_the_plan(plan: planopt.Plan) -> None:
    two = plan.disaggregated
    assert two is not None
    assert two.in_time
    assert two.accelerators <= 8
    assert two.ttft_seconds.p95 is not None
    assert two.ttft_seconds.p95 <= 2.02
    assert two.tpot_seconds.p95 is not None
    assert two.tpot_seconds.p95 <= 1.01 / 33.3
    used = sum(p.replicas * p.candidate.accelerators for p in (two.prefill, two.decode))
    assert used <= two.accelerators


def test_a_plan_that_two_pools_beat_is_not_called_proven(plan: planopt.Plan) -> None:
    two = plan.disaggregated
    assert two is not None
    faster = replace(two, tokens_per_second=1e9)
    assert beats(faster, plan, hourly=False)
    assert not beats(replace(faster, in_time=False), plan, hourly=False)
    assert not beats(replace(two, tokens_per_second=1.0), plan, hourly=False)
    warned = any(each.code == "W014" for each in plan.warnings)
    is_beaten = beats(two, plan, hourly=False)
    assert warned == is_beaten == (plan.why == "space")
    assert not is_beaten or (plan.status, plan.gap) == ("feasible", None)


def test_the_cheaper_is_better_by_the_money_that_is_asked_about(
    plan: planopt.Plan,
) -> None:
    two = plan.disaggregated
    assert two is not None
    ours = replace(plan, objective="cheapest", price_usd=100.0)
    theirs = replace(two, price_usd=99.0, cost=replace(two.cost, usd_per_hour=1e9))
    assert beats(theirs, ours, hourly=False)
    assert not beats(theirs, ours, hourly=True)


def test_what_they_cost_is_the_sum_of_their_parts(plan: planopt.Plan) -> None:
    two = plan.disaggregated
    assert two is not None
    total = sum(line.price_usd or 0.0 for line in two.bill_of_materials)
    assert two.price_usd == pytest.approx(total)


def test_the_pools_are_matched(plan: planopt.Plan) -> None:
    two = plan.disaggregated
    assert two is not None
    carried = [pool.requests_per_second or 0.0 for pool in (two.prefill, two.decode)]
    assert two.requests_per_second is not None
    # What is simulated is what the smaller of both pools carries, or somewhat more.
    assert two.requests_per_second == pytest.approx(min(carried), rel=0.25)


def test_the_cache_of_a_prompt_goes_across(plan: planopt.Plan) -> None:
    two = plan.disaggregated
    assert two is not None
    assert two.transfer.bytes == PAGED_PROMPT * KV_BYTES_PER_TOKEN
    assert two.transfer.seconds is not None
    assert 0 < two.transfer.seconds < 0.1


@pytest.mark.parametrize(
    "change",
    [
        {"ttft": None, "load": "steady"},
        {"batch": 4},
        {"redundancy": 1},
        {"acquire": "rent"},
    ],
)
def test_nothing_stands_beside_other_questions(change: dict[str, Any]) -> None:
    asked = {**QUESTION, "max_accelerators": 8, **change}
    assert planopt.solve(**asked).disaggregated is None


def test_a_given_pool_reads_the_prompts() -> None:
    layout: dict[str, Any] = {
        "accelerator": "h100-sxm",
        "host": "hgx-8",
        "tp": 4,
        "batch": 16,
    }
    served = {k: QUESTION[k] for k in ("model", "weights", "prompt", "output")}
    one = planopt.evaluate(**served, **layout)
    two = planopt.evaluate(**served, **layout, prefill_tp=2, prefill_replicas=2)

    assert two.prefill_pool is not None
    assert two.transfer is not None
    assert two.transfer.network is None
    # Nobody reads prompts between its tokens.
    assert two.tpot_seconds.p95 is not None
    assert one.tpot_seconds.p95 is not None
    assert two.tpot_seconds.p95 < one.tpot_seconds.p95


def test_a_slower_network_makes_the_first_token_later() -> None:
    layout: dict[str, Any] = {
        "accelerator": "h100-sxm",
        "host": "hgx-8",
        "tp": 8,
        "batch": 8,
    }
    served = {k: QUESTION[k] for k in ("model", "weights", "prompt", "output")}
    ttft = []
    for network in ("infiniband-400g", "ethernet-25g", "ethernet-1g"):
        two = planopt.evaluate(**served, **layout, prefill_tp=8, network=network)
        assert two.transfer is not None
        assert two.transfer.network == network
        ttft.append(two.ttft_seconds.p50 or 0.0)
    assert ttft == sorted(ttft)
    assert ttft[-1] > 5 * ttft[0]


def test_pools_that_nothing_joins_are_refused() -> None:
    with pytest.raises(planopt.InputError, match="nothing joins"):
        planopt.evaluate(
            model="llama-3.1-8b",
            accelerator="h100-sxm",
            host="hgx-8",
            tp=8,
            batch=8,
            prefill_tp=8,
        )
