"""Weights that rest in the host: less memory, more time, and never out of thin air."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.errors import InputError

if TYPE_CHECKING:
    from planopt.documents.evaluation import Decode, ServingEvaluation

CARD: dict[str, Any] = {
    "model": "llama-2-70b",
    "weights": "q4_k_m",
    "accelerator": "rtx-4090",
    "batch": 1,
}


def _memory(evaluation: ServingEvaluation) -> float:
    assert evaluation.memory is not None
    return evaluation.memory.total_bytes


def _seconds(decode: Decode, name: str) -> float:
    value = getattr(decode, name)
    assert isinstance(value, float)
    return value


def test_each_layer_frees_memory_and_takes_time() -> None:
    told = [planopt.evaluate(**CARD, offload=layers) for layers in (1, 2, 20, 60, 80)]
    memory = [_memory(each) for each in told]
    # Two layers stay at hand, so that the first two free nothing.
    assert memory[0] == memory[1] == _memory(planopt.evaluate(**CARD))
    assert memory[1:] == sorted(memory[1:], reverse=True)
    steps = [_seconds(each.decode, "step_seconds") for each in told]
    assert steps == sorted(steps)


def test_auto_rests_the_fewest_layers_that_fit() -> None:
    auto = planopt.evaluate(**CARD, offload="auto")
    assert auto.candidate is not None
    assert auto.candidate.offload is not None
    assert auto.feasible
    assert not planopt.evaluate(**CARD, offload=auto.candidate.offload - 1).feasible
    small = planopt.evaluate(**{**CARD, "model": "llama-3.1-8b"}, offload="auto")
    assert small.candidate is not None
    assert small.candidate.offload == 0
    assert small.decode.offload_seconds == 0


def test_a_step_reads_what_rests_over_the_link() -> None:
    """All but what hides behind work: 80 layers of 0.5 GB over PCIe 4.0 x16 as reached.

    31.5 GB/s (16 lanes of 16 GT/s in 128b/130b) x 0.85; the desktop's memory is faster.
    """
    told = planopt.evaluate(**CARD, offload=80)
    everything = planopt.evaluate(**CARD, offload=2)
    assert told.memory is not None
    assert everything.memory is not None
    freed = everything.memory.weights_bytes - told.memory.weights_bytes
    reading = freed * 80 / 78 / (31.5e9 * 0.85)
    waited = _seconds(told.decode, "offload_seconds")
    assert waited == pytest.approx(reading, rel=0.08)
    assert waited < reading


def test_disks_are_slower_than_memory() -> None:
    disk = planopt.evaluate(**CARD, offload=60, offload_to="disk")
    host = planopt.evaluate(**CARD, offload=60)
    assert _memory(disk) == _memory(host)
    assert _seconds(disk.decode, "step_seconds") > 3 * _seconds(
        host.decode, "step_seconds"
    )


def test_what_is_simulated_reads_too() -> None:
    told = planopt.evaluate(**CARD, offload="auto", concurrency=1)
    assert told.tpot_seconds.mean == pytest.approx(
        _seconds(told.decode, "step_seconds"), rel=0.05
    )


def test_a_host_holds_no_more_than_it_has() -> None:
    told = planopt.evaluate(
        model="llama-3.1-405b", accelerator="rtx-4090", offload="auto"
    )
    assert "host-memory" in {one.code for one in told.rejections}


@pytest.mark.parametrize(
    ("changed", "option"),
    [
        ({"accelerator": "m2-ultra", "offload": "auto"}, "--offload-to"),
        ({"offload_to": "disk"}, "--offload-to"),
        ({"offload": 4, "overlap": "two-batch"}, "--overlap"),
        ({"offload": "some"}, "--offload"),
        ({"offload": 4, "offload_to": "attic"}, "--offload-to"),
    ],
)
def test_what_cannot_rest_is_refused(changed: dict[str, Any], option: str) -> None:
    with pytest.raises(InputError) as refused:
        planopt.evaluate(**{**CARD, **changed})
    assert [one.field for one in refused.value.diagnostics] == [option]
