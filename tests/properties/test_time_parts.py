"""What a step, a prompt and a step of training take is told in parts that sum to it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CONFIGURATIONS = 200
TRIES = 3 * CONFIGURATIONS
"""Of them: some layouts do not go with a model or a host, and are refused."""
RELATIVE = 1e-9

DENSE = ("llama-3.1-8b", "llama-2-70b")
EXPERTS = ("mixtral-8x7b", "glm-4.5")
LATENT = ("deepseek-v2-lite", "deepseek-v3")
STATES = ("nemotron-3-super",)
MODELS = DENSE + EXPERTS + LATENT + STATES
ENGINES = ("vllm", "sglang", "trtllm", "llama-cpp")

OF_A_PROMPT = (
    "compute_seconds",
    "memory_seconds",
    "communication_seconds",
    "offload_seconds",
    "host_seconds",
)
OF_A_STEP = (*OF_A_PROMPT, "waiting_seconds")
OF_TRAINING = (
    "compute_seconds",
    "bubble_seconds",
    "exposed_communication_seconds",
    "host_seconds",
)


def some(
    made_up: Callable[[random.Random], dict[str, Any]],
    evaluated: Callable[..., Any],
    step_of: Callable[[Any], float | None],
) -> Iterator[Any]:
    """Evaluate configurations until enough of them can be laid out."""
    rng, told = random.Random(20261122), 0
    for _ in range(TRIES):
        try:
            evaluation = evaluated(**made_up(rng))
        except InputError:
            continue
        if step_of(evaluation) is not None:
            yield evaluation
            told += 1
        if told == CONFIGURATIONS:
            return
    pytest.fail(f"only {told} of {TRIES} could be laid out")


def assert_whole(owner: Any, parts: tuple[str, ...], whole: float) -> None:
    """Check that no part is negative, and that nothing is missing."""
    told = {part: getattr(owner, part) for part in parts}
    assert all(seconds >= 0 for seconds in told.values()), owner
    assert sum(told.values()) == pytest.approx(whole, rel=RELATIVE), owner


def replica(rng: random.Random) -> dict[str, Any]:
    """Make up a way of serving, with most of what may stand in a step."""
    model = rng.choice(MODELS)
    asked: dict[str, Any] = {
        "model": model,
        "accelerator": rng.choice(
            ("rtx-4090", "a100-sxm-80", "h100-sxm", "b200", "mi300x")
        ),
        "network": rng.choice(("ethernet-100g-cx5", "infiniband-400g")),
        "tp": rng.choice((1, 2, 4, 8)),
        "pp": rng.choice((1, 2, 4)),
        "in_flight": rng.choice((1, 2, 4, 12)),
        "batch": rng.choice((1, 3, 32, 330, 2000)),
        "prompt": rng.choice((1, 512, 9000)),
        "output": 100,
        "ep": rng.choice((1, 2, 8)) if model in EXPERTS + LATENT else 1,
    }
    if rng.random() < 0.3:
        asked["assumptions"] = "article"
    else:
        asked["engine"] = rng.choice((None, *ENGINES))
    asked |= rng.choice(({}, {"dp": 2}, {"cp": 2}))
    asked |= rng.choice(
        (
            {},
            {"offload": 7},
            {"offload": 80},
            {"draft": "llama-3.2-1b", "draft_tokens": 3, "acceptance": 0.7},
            {"lora_adapters": 20, "lora_rank": 16},
            {"image_tokens": 576, "encoder_parameters": 6e8},
        )
    )
    if "offload" not in asked and rng.random() < 0.4:
        asked["overlap"] = "two-batch"
    return asked


def test_parts_of_a_step_and_of_a_prompt_give_the_whole() -> None:
    met = dict.fromkeys(OF_A_STEP, 0)
    for told in some(
        replica, planopt.evaluate_serving, lambda told: told.decode.step_seconds
    ):
        assert_whole(told.decode, OF_A_STEP, told.decode.step_seconds)
        assert_whole(told.prefill, OF_A_PROMPT, told.prefill.seconds)
        for part in OF_A_STEP:
            met[part] += getattr(told.decode, part) > 0
    assert all(met.values()), met


def run(rng: random.Random) -> dict[str, Any]:
    """Make up a way of training."""
    stages, chunks = rng.choice(((1, 1), (2, 1), (4, 1), (4, 2)))
    replicas = rng.choice((1, 2, 8))
    return {
        "model": rng.choice(MODELS),
        "accelerator": rng.choice(("a100-sxm-80", "h100-sxm", "b200")),
        "network": "infiniband-400g",
        "tp": rng.choice((1, 2, 8)),
        "sequence_parallel": rng.random() < 0.5,
        "pp": stages,
        "vpp": chunks,
        "dp": replicas,
        "cp": rng.choice((1, 2)),
        "global_batch": replicas * stages * rng.choice((1, 8)),
        "recompute": rng.choice(("none", "full", "layers:2")),
        "shard": rng.choice(("none", "zero1", "zero3")),
        "precision": rng.choice(("bf16", "bf16", "fp8")),
        "offload": rng.choice(((), ("optimizer", "activations"))),
        "framework": rng.choice((None, "megatron", "nemo", "fsdp")),
        "mfu": rng.choice((None, None, 0.4)),
    }


def test_parts_of_a_step_of_training_give_the_whole() -> None:
    met = dict.fromkeys(OF_TRAINING, 0)
    for told in some(run, planopt.evaluate_training, lambda told: told.step_seconds):
        assert_whole(told, OF_TRAINING, told.step_seconds)
        assert_whole(told.step, told.step.__struct_fields__, told.step_seconds)
        assert told.host_seconds == told.step.host_seconds
        for part in OF_TRAINING:
            met[part] += getattr(told, part) > 0
    assert all(met.values()), met
