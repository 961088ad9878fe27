"""`train` with numbers of several accelerators: all in one run, beside the plan."""

from __future__ import annotations

from typing import Any

import pytest

import planopt
from planopt.errors import InputError
from planopt.report.plan import render_plan

RUN: dict[str, Any] = {
    "model": "llama-3-8b",
    "tokens": "500B",
    "network": "infiniband-400g",
    "accelerators": "a100-sxm-80:16,h100-sxm:16",
}


def test_both_ways_of_sharing_a_run_stand_beside_the_plan() -> None:
    plan = planopt.train(**RUN, deadline="60d")

    assert plan.status == "optimal"
    assert plan.request.stock == {"a100-sxm-80": 16, "h100-sxm": 16}
    evenly, balanced = plan.heterogeneous
    assert "at the pace of the slowest" in evenly.summary
    assert "balanced" in balanced.summary
    assert balanced.days is not None
    assert evenly.days is not None
    # An H100 does more than twice of what an A100 does.
    assert balanced.days < evenly.days
    assert balanced.accelerators == 32
    assert balanced.price_usd == evenly.price_usd
    assert "All of them in one run" in str(render_plan(plan, details=True))


def test_what_no_kind_does_alone_all_of_them_may_do() -> None:
    plan = planopt.train(**RUN, deadline="26d")

    assert plan.status == "infeasible"
    assert [each.why_not for each in plan.heterogeneous] == ["too late", "in time"]


def test_no_layout_of_either_way_is_faster_than_the_one_that_is_offered() -> None:
    _, balanced = planopt.train(**RUN, deadline="60d").heterogeneous
    assert balanced.candidate is not None
    assert balanced.days is not None
    layout = balanced.candidate
    others = [(2, 2, 8), (1, 4, 8), (4, 2, 4), (2, 4, 4)]
    for tp, pp, dp in [(layout.tp, layout.pp, layout.dp), *others]:
        one = planopt.evaluate_training(
            **{**RUN, "global_batch": 1024},
            tp=tp,
            pp=pp,
            dp=dp,
            sequence_parallel=tp > 1,
            zero=layout.shard,
            micro_batch=layout.batch,
            recompute=layout.recompute,
        )
        assert one.mixed is not None
        if one.feasible and one.mixed.stages == "balanced":
            assert one.days is not None
            assert one.days >= balanced.days * (1 - 1e-12)


def test_small_cards_share_a_run_that_computes_its_activations_again() -> None:
    plan = planopt.train(
        model="llama-3-8b",
        tokens="1B",
        deadline="365d",
        seq_len=8192,
        accelerators="rtx-4090:16,rtx-3090:16",
    )

    evenly, balanced = plan.heterogeneous
    for each in (evenly, balanced):
        assert each.candidate is not None
        assert each.candidate.recompute == "full"


def test_accelerators_without_numbers_share_no_run() -> None:
    question = {**RUN, "accelerators": "a100-sxm-80,h100-sxm"}
    assert planopt.train(**question, deadline="60d").heterogeneous == ()


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"accelerators": "a100-sxm-80:16,h100-sxm"}, "E002"),
        ({"stock": "h100-sxm=8"}, "E004"),
        ({"accelerators": "a100-sxm-80:0,h100-sxm:16"}, "E003"),
        ({"accelerators": "a100-sxm-80:16,h100-sxn:16"}, "E001"),
    ],
)
def test_wrong_numbers_are_told(wrong: dict[str, str], code: str) -> None:
    with pytest.raises(InputError) as error:
        planopt.train(**{**RUN, **wrong}, deadline="60d")
    assert code in [problem.code for problem in error.value.diagnostics]
