"""Small machines against what was measured on them (docs/how-to/small-machines.md)."""

from __future__ import annotations

from typing import Any

import pytest

import planopt

LAYER_SPLIT: dict[str, Any] = {"accelerator": "rtx-4090", "in_flight": 1}
# llama-bench has written 1024 tokens: half of them are cached on average.
MIDDLE = 512
BOARDS: dict[str, Any] = {"network": "ethernet-1g", "context": 16}


@pytest.mark.parametrize(
    ("asked", "measured", "within"),
    [
        ({**LAYER_SPLIT, "pp": 8, "weights": "fp16"}, 6.45, 0.1),
        ({**LAYER_SPLIT, "pp": 8, "weights": "q4_k_m"}, 18.76, 0.05),
        ({**LAYER_SPLIT, "pp": 2, "weights": "q4_k_m"}, 19.06, 0.05),
        # Of all Apple's, not of this one.
        ({"accelerator": "m2-ultra", "weights": "q4_k_m"}, 12.13, 0.125),
        ({"accelerator": "m2-ultra", "weights": "fp16"}, 4.71, 0.1),
    ],
)
def test_one_user_on_split_layers_and_unified_memory(
    asked: dict[str, Any], measured: float, within: float
) -> None:
    told = planopt.evaluate(
        model="llama-3-70b", engine="llama-cpp", batch=1, max_model_len=MIDDLE, **asked
    )

    assert told.feasible
    assert told.decode.tokens_per_second_per_user == pytest.approx(measured, rel=within)


@pytest.mark.parametrize(
    ("board", "boards", "computing"),
    [("4b", 4, 458.81), ("4b", 8, 296.69), ("5", 4, 163.42)],
)
def test_raspberry_pis_compute_as_measured(
    board: str, boards: int, computing: float
) -> None:
    """Messages through one root are not modelled: computing alone is compared."""
    told = planopt.evaluate(
        model="llama-2-7b",
        accelerator=f"cpu-raspberry-pi-{board}-8gb",
        weights="int4",
        batch=1,
        tp=boards,
        hosts=boards,
        **BOARDS,
    )

    assert told.feasible
    assert told.decode.tpot_seconds is not None
    assert told.decode.communication_seconds is not None
    apart = told.decode.tpot_seconds - told.decode.communication_seconds
    assert apart * 1e3 == pytest.approx(computing, rel=0.1)


def test_a_faster_line_at_home_serves_more_users_at_a_speed() -> None:
    def speed(network: str) -> float:
        told = planopt.evaluate(
            model="llama-2-70b",
            accelerator="rtx-4090",
            host="desktop",
            pp=8,
            hosts=8,
            network=network,
            batch=20,
            max_model_len=512,
        )
        assert told.decode.tokens_per_second_per_user is not None
        return told.decode.tokens_per_second_per_user

    slow, faster, fast = map(speed, ("ethernet-1g", "ethernet-2.5g", "ethernet-10g"))
    # Of what 10 Gbit/s bring, 2.5 bring most.
    assert slow < faster < fast
    assert faster - slow > 2 * (fast - faster)
