"""Layers that carry a state: what a sequence leaves does not grow with its context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.errors import InputError

if TYPE_CHECKING:
    from planopt.documents.evaluation import ServingEvaluation

SUPER: dict[str, Any] = {
    "model": "nemotron-3-super",
    "weights": "fp8",
    "accelerator": "h200-sxm",
    "tp": 2,
    "batch": 4,
}

# Of config.json: 40 layers of 128 heads, 64 x 128 elements each in 32 bits, and three
# tokens of 8192 + 2 x 8 x 128 elements in 16 bits before the convolution.
STATE_BYTES = 40 * (128 * 64 * 128 * 4 + 3 * (8192 + 2 * 8 * 128) * 2)
# 8 layers of attention with 2 heads for keys and 2 for values, 128 wide.
BYTES_OF_A_TOKEN = 8 * 2 * 2 * 128 * 2


def _cached(evaluation: ServingEvaluation) -> float:
    assert evaluation.memory is not None
    return evaluation.memory.kv_cache_bytes


@pytest.mark.parametrize("context", [1600, 160_000])
def test_a_sequence_leaves_a_state_and_what_attention_caches(context: int) -> None:
    cached = _cached(planopt.evaluate(**SUPER, max_model_len=context))
    assert cached == pytest.approx(
        4 / 2 * (STATE_BYTES + context * BYTES_OF_A_TOKEN), rel=1e-6
    )


def test_states_are_read_and_written_for_every_token() -> None:
    one, more = (
        planopt.evaluate(**{**SUPER, "batch": batch}, max_model_len=1600)
        for batch in (4096, 4097)
    )
    moved = (more.decode.memory_seconds or 0.0) - (one.decode.memory_seconds or 0.0)
    assert moved > 2 * STATE_BYTES / 2 / 4.8e12


@pytest.mark.parametrize(
    ("changed", "option"),
    [
        ({"cp": 2}, "--cp"),
        ({"draft": "mtp", "acceptance": 0.8}, "--draft"),
    ],
)
def test_states_are_not_divided_nor_taken_back(
    changed: dict[str, Any], option: str
) -> None:
    with pytest.raises(InputError) as refused:
        planopt.evaluate(**SUPER, **changed)
    assert [one.field for one in refused.value.diagnostics] == [option]
