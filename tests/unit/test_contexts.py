"""Contexts that ranks divide: as asked for, and searched where prompts are long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from planopt import solve
from planopt.errors import InputError
from planopt.planning.evaluate import evaluate_serving

if TYPE_CHECKING:
    from planopt.documents.evaluation import EvaluationDocument
    from planopt.documents.plan import Plan

LONG: dict[str, Any] = {
    "model": "llama-3.1-70b",
    "weights": "fp8",
    "prompt": 100_000,
    "output": 500,
}


def evaluated(**changes: Any) -> EvaluationDocument:
    return evaluate_serving(**LONG, accelerator="h100-sxm", tp=4, **changes)


def test_whole_contexts_are_the_default() -> None:
    assert evaluated(cp=1) == evaluated()


def test_two_ranks_read_a_long_prompt_in_little_more_than_half_the_time() -> None:
    whole, divided = evaluated(), evaluated(cp=2)
    assert whole.prefill.seconds is not None
    assert divided.prefill.seconds is not None
    assert 0.5 < divided.prefill.seconds / whole.prefill.seconds < 0.55
    assert whole.memory is not None
    assert divided.memory is not None
    assert divided.memory.kv_cache_bytes == whole.memory.kv_cache_bytes / 2
    assert divided.memory.weights_bytes == whole.memory.weights_bytes
    assert divided.accelerators == 8


def test_groups_have_whole_contexts() -> None:
    with pytest.raises(InputError) as caught:
        evaluated(cp=2, dp=2)
    assert [one.code for one in caught.value.diagnostics] == ["E003"]


def planned(**changes: Any) -> Plan:
    asked = {"accelerators": "h100-sxm", "ttft": "6s", "target": "20tok/s", "users": 1}
    asked["load"] = "benchmark"
    return solve(**{**LONG, **asked, **changes})


def test_a_search_divides_long_prompts_unless_told_otherwise() -> None:
    divided, whole = planned(), planned(cp=1)
    assert divided.deployments[0].candidate.cp == 2
    assert whole.deployments[0].candidate.cp == 1
    assert divided.price_usd is not None
    assert whole.price_usd is not None
    assert divided.price_usd < whole.price_usd


def test_short_prompts_stay_whole_unless_asked_for() -> None:
    short = {"prompt": 3000, "ttft": "1s"}
    for changes in (short, {**short, "cp": 2}):
        assert planned(**changes).deployments[0].candidate.cp == 1
    assert planned(**short).search.candidates_covered < (
        planned(**short, cp=2).search.candidates_covered
    )
