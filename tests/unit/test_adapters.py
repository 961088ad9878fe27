"""Adapters of low rank: published sizes, what a step reads, and none change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.errors import InputError

if TYPE_CHECKING:
    from planopt.documents.evaluation import ServingEvaluation

CARD: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "accelerator": "h100-sxm",
    "batch": 32,
}

# Parameters of an adapter of rank 16 beside all linear layers of Llama 3 8B, as PEFT
# prints them: 32 layers of query and output, key and value, gate and up and down, so
# 16 x (2 x (4096 + 4096) + 2 x (4096 + 1024) + 3 x (4096 + 14336)).
PARAMETERS = 41_943_040


def _weights(evaluation: ServingEvaluation) -> float:
    assert evaluation.memory is not None
    return evaluation.memory.weights_bytes


def _seconds(evaluation: ServingEvaluation | None) -> tuple[float, ...]:
    assert evaluation is not None
    assert evaluation.mixed is not None
    told = (
        evaluation.decode.step_seconds,
        evaluation.prefill.seconds,
        evaluation.mixed.step_seconds,
    )
    return tuple(each for each in told if each is not None)


def test_adapters_hold_as_many_parameters_as_are_published() -> None:
    alone = _weights(planopt.evaluate(**CARD))
    held = _weights(planopt.evaluate(**CARD, lora_adapters=10, lora_rank=16)) - alone
    assert held == pytest.approx(10 * 2 * PARAMETERS)


def test_ranks_share_them() -> None:
    """Behind columns each rank has all of `k x r`, behind rows all of `r x n`."""
    card = {**CARD, "tp": 4}
    alone = _weights(planopt.evaluate(**card))
    held = _weights(planopt.evaluate(**card, lora_adapters=10, lora_rank=16)) - alone
    shared = 32 * 16 * (3 * 4096 + 4096 + 2 * 4096 + 4096)
    assert held == pytest.approx(10 * 2 * (shared + (PARAMETERS - shared) / 4))


def test_experts_have_adapters_of_their_own_and_the_router_none() -> None:
    """Of Mixtral: query, output, key and value, and eight times gate, up and down."""
    parameters = 32 * 16 * (2 * 8192 + 2 * 5120 + 8 * 3 * (4096 + 14336))
    experts = {**CARD, "model": "mixtral-8x7b", "tp": 4}
    whole = {**experts, "ep": 4}
    alone = _weights(planopt.evaluate(**whole))
    held = _weights(planopt.evaluate(**whole, lora_adapters=10, lora_rank=16)) - alone
    shared = 32 * 16 * (3 * 4096 + 4096)
    rest = 32 * 16 * (4096 + 2048 + 4096 + 8 * 3 * (4096 + 14336))
    assert shared + rest == parameters
    assert held == pytest.approx(10 * 2 * (shared + rest / 4))


def test_a_step_reads_those_that_its_batch_meets() -> None:
    few, many, more = (
        planopt.evaluate(**CARD, lora_adapters=held, lora_rank=16)
        for held in (1, 32, 200)
    )
    assert _seconds(few) < _seconds(many)
    # No batch of 32 meets more than 32 of them; a chunk beside it meets one more.
    assert few.prefill == many.prefill == more.prefill
    assert many.decode == more.decode
    assert _weights(many) < _weights(more)
    read = 31 * 2 * PARAMETERS / 3.35e12
    memory = [each.decode.memory_seconds or 0.0 for each in (few, many)]
    # At a share of the data sheet's bandwidth, never above it.
    assert read < memory[1] - memory[0] < 2 * read


def test_none_of_them_change_nothing() -> None:
    alone = planopt.evaluate(**CARD)
    none = planopt.evaluate(**CARD, lora_adapters=0, lora_rank=16)
    assert none == alone


def test_a_pool_that_reads_prompts_has_them_too() -> None:
    pools = {**CARD, "prefill_replicas": 1, "prefill_tp": 1}
    alone = planopt.evaluate(**pools).prefill_pool
    adapted = planopt.evaluate(**pools, lora_adapters=8, lora_rank=16).prefill_pool
    assert alone is not None
    assert adapted is not None
    assert _seconds(alone.evaluation) < _seconds(adapted.evaluation)


@pytest.mark.parametrize(
    ("changed", "option"),
    [
        ({"lora_adapters": 4}, "--lora-rank"),
        ({"lora_rank": 4}, "--lora-rank"),
        ({"lora_adapters": 4, "lora_rank": 5000}, "--lora-rank"),
        ({"lora_adapters": -1, "lora_rank": 8}, "--lora-adapters"),
    ],
)
def test_what_cannot_be_adapted_is_refused(
    changed: dict[str, Any], option: str
) -> None:
    with pytest.raises(InputError) as refused:
        planopt.evaluate(**{**CARD, **changed})
    assert [one.field for one in refused.value.diagnostics] == [option]
