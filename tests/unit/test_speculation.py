"""Speculative decoding: drafts make steps longer, and bring more than one token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.errors import InputError
from planopt.report.plan import render_plan

if TYPE_CHECKING:
    from planopt.documents.evaluation import EvaluationDocument

LAYOUT: dict[str, Any] = {
    "model": "llama-3.1-70b",
    "weights": "fp8",
    "accelerator": "h100-sxm",
    "tp": 8,
    "batch": 4,
    "context": 2048,
}
DRAFT: dict[str, Any] = {"draft": "llama-3.2-1b", "draft_tokens": 3}


def evaluated(**options: Any) -> EvaluationDocument:
    return planopt.evaluate(**{**LAYOUT, **options})


@pytest.mark.parametrize(
    ("acceptance", "tokens"),
    # 1 + a + a^2 + a^3 (Leviathan et al., arXiv 2211.17192, equation 1).
    [("10%", 1.111), ("50%", 1.875), ("80%", 2.952), ("100%", 4.0)],
)
def test_a_check_brings_so_many_tokens(acceptance: str, tokens: float) -> None:
    decode = evaluated(**DRAFT, acceptance=acceptance).decode
    assert decode.step_seconds is not None
    assert decode.tokens_per_second is not None
    gained = decode.tokens_per_second * decode.step_seconds / LAYOUT["batch"]
    assert gained == pytest.approx(tokens)


def test_drafting_takes_time_and_memory() -> None:
    alone, drafting = evaluated(), evaluated(**DRAFT, acceptance="10%")
    assert alone.decode.step_seconds is not None
    assert drafting.decode.step_seconds is not None
    assert drafting.decode.step_seconds > alone.decode.step_seconds
    assert alone.memory is not None
    assert drafting.memory is not None
    assert drafting.memory.weights_bytes > alone.memory.weights_bytes
    assert drafting.memory.kv_cache_bytes > alone.memory.kv_cache_bytes
    assert drafting.prefill == alone.prefill


def test_few_users_gain_and_many_do_not() -> None:
    """With many, the check is arithmetic, and refused drafts are a waste of it."""

    def gain(batch: int) -> float:
        speeds = [
            evaluated(batch=batch, **options).decode.tokens_per_second_per_user
            for options in ({**DRAFT, "acceptance": "60%"}, {})
        ]
        return (speeds[0] or 0.0) / (speeds[1] or 1.0)

    assert gain(1) > 1.2
    assert gain(512) < gain(1)


def test_a_module_of_the_models_own_drafts() -> None:
    layout: dict[str, Any] = {
        "model": "deepseek-r1",
        "accelerator": "h200-sxm",
        "tp": 8,
        "ep": 8,
    }
    alone = planopt.evaluate(**layout, batch=1)
    drafting = planopt.evaluate(**layout, batch=1, draft="mtp", acceptance="85%")
    assert drafting.candidate is not None
    assert drafting.candidate.draft == "mtp"
    speeds = [
        each.decode.tokens_per_second_per_user or 0.0 for each in (alone, drafting)
    ]
    assert 1.1 < speeds[1] / speeds[0] < 1.85


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"draft": "llama-3.2-1b"}, "E005"),
        ({"acceptance": "80%"}, "E005"),
        ({"draft": "mtp", "acceptance": "80%"}, "E003"),
        ({"draft": "llama-3.2-1b", "acceptance": "180%"}, "E003"),
        ({"draft": "no-such-model", "acceptance": "80%"}, "E001"),
        ({**DRAFT, "draft_tokens": 900, "acceptance": "80%"}, "E003"),
        ({"draft": "nemotron-3-super", "acceptance": 0.7}, "E003"),
    ],
)
def test_what_cannot_be_is_told(options: dict[str, Any], code: str) -> None:
    with pytest.raises(InputError) as refused:
        evaluated(**options)
    assert code in {each.code for each in refused.value.diagnostics}


def test_solve_names_it_and_verify_computes_it_again() -> None:
    plan = planopt.solve(
        model="llama-3.1-8b", target="40tok/s", **DRAFT, acceptance="70%"
    )
    assert plan.status == "optimal"
    assert plan.deployments[0].candidate.draft == "llama-3.2-1b"
    assert "3 drafted by llama-3.2-1b, 70% accepted" in str(
        render_plan(plan, details=True)
    )
