"""llama.cpp: what its logs say of memory, and what it was measured to do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.catalog.open import bundled_folder

if TYPE_CHECKING:
    from pathlib import Path

    from planopt.documents.evaluation import ServingEvaluation

MIB = 2**20

QWEN_3B = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 2048,
    "intermediate_size": 11008,
    "num_hidden_layers": 36,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "vocab_size": 151936,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
}


def asked(**options: Any) -> ServingEvaluation:
    usual = {"engine": "llama-cpp", "batch": 1, "in_flight": 1}
    return planopt.evaluate(**{**usual, **options})


def test_the_compute_buffer_is_the_one_of_the_log(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(QWEN_3B))
    told = asked(
        model=str(config), accelerator="rtx-3090", weights="q4_k_m", context=4096
    )
    assert told.memory is not None
    assert told.memory.activations_bytes == 300.75 * MIB
    # 24 GiB are there in full.
    assert told.memory.capacity_bytes == 24 * 2**30


def test_scores_are_held_without_flash_attention(tmp_path: Path) -> None:
    """1,876 of the 1,958.6 MiB of a log: 30,016 tokens, 32 heads."""
    kept = "flash_attention = { value = true"
    text = (bundled_folder() / "assumptions" / "calibrated.toml").read_text("utf-8")
    assert kept in text
    file = tmp_path / "without.toml"
    text = text.replace(kept, "flash_attention = { value = false")
    file.write_text(text.replace('id = "calibrated"', 'id = "without"', 1), "utf-8")
    card = {"model": "llama-3.2-1b", "accelerator": "rtx-4090", "context": 30016}
    with_it, without = (
        asked(**card, assumptions=name).memory for name in ("calibrated", str(file))
    )
    assert with_it is not None
    assert without is not None
    scores = without.activations_bytes - with_it.activations_bytes
    assert scores == 1876 * MIB


def test_two_rtx_3090_hold_a_70b() -> None:
    told = asked(
        model="llama-3.1-70b",
        weights="q4_k_m",
        accelerator="rtx-3090",
        pp=2,
        context=8192,
    )
    assert told.feasible
    assert told.memory is not None
    # 42.5 GB of weights, 2.7 of cache, 0.3 of a compute buffer and 0.9 of contexts;
    # inputs of a step four times on each card.
    inputs = 4 * 512 * (8192 + 8192) * 4
    assert 2 * told.memory.kv_cache_bytes == pytest.approx(2.7e9, rel=0.01)
    assert told.memory.activations_bytes - inputs == 512 * (128256 + 8192) * 4
    assert 2 * told.memory.overhead_bytes == 0.9e9
    assert 2 * told.memory.total_bytes == pytest.approx(46.4e9, rel=0.02)


# Published tokens per second of one user (XiongjieDai, 512 tokens written).
@pytest.mark.parametrize(
    ("accelerator", "weights", "measured", "within"),
    [
        ("rtx-3090", "q4_k_m", 111.74, 0.05),
        ("rtx-4090", "q4_k_m", 127.74, 0.08),
        ("rtx-4090", "fp16", 54.34, 0.05),
        ("a100-pcie-80", "fp16", 54.56, 0.12),
        ("m2-ultra", "fp16", 36.25, 0.05),
    ],
)
def test_cards_that_nothing_was_fitted_to(
    accelerator: str, weights: str, measured: float, within: float
) -> None:
    told = asked(
        model="llama-3-8b", accelerator=accelerator, weights=weights, context=512
    )
    speed = told.decode.tokens_per_second_per_user
    assert speed == pytest.approx(measured, rel=within)


def test_a_cache_is_read_as_slowly_on_every_card() -> None:
    """Attention of llama.cpp of 2024 reads 0.3 of the bandwidth, whatever the card."""

    def share(accelerator: str, bandwidth: float) -> float:
        short, long = (
            asked(
                model="llama-3-8b",
                accelerator=accelerator,
                weights="q4_k_m",
                context=context,
            ).decode.step_seconds
            for context in (1024, 5120)
        )
        assert short is not None
        assert long is not None
        # 32 layers, keys and values of 8 heads of 128 in two bytes, of 4096 tokens.
        return 32 * 2 * 8 * 128 * 2 * 4096 / bandwidth / (long - short)

    assert share("rtx-3090", 936e9) == pytest.approx(0.3, rel=0.02)
    assert share("a40", 696e9) == pytest.approx(0.3, rel=0.02)


OSS: dict[str, Any] = {
    "model": "gpt-oss-120b",
    "accelerator": "rtx-3090",
    "host": "desktop",
    "context": 2048,
    "prompt": 512,
}


def test_experts_that_the_host_computes() -> None:
    """26 of 36 layers' experts in DDR5: 32.3 tok/s published, 25.5 ms of them there."""
    assert not asked(**OSS).feasible
    told = asked(**OSS, offload=26)
    assert told.feasible
    assert told.decode.tokens_per_second_per_user == pytest.approx(32.3, rel=0.1)
    assert told.decode.offload_seconds == pytest.approx(25.5e-3, rel=0.01)
    # All 36 layers: 33 ms there, 25.6 tok/s published on a desktop.
    told = asked(**OSS, offload=36)
    assert told.decode.offload_seconds == pytest.approx(35.4e-3, rel=0.01)
    assert told.decode.tokens_per_second_per_user == pytest.approx(25.6, rel=0.1)


def test_a_prompt_has_the_experts_copied() -> None:
    """26 layers of experts go over the slot once: 44 GB (1.2 s published)."""
    told = asked(**OSS, offload=26)
    assert told.prefill.offload_seconds == pytest.approx(44e9 / 26.8e9, rel=0.02)


# Published of a prompt on an RTX 3090 with 26 layers' experts in the host, tokens per
# second by --ubatch-size; its slot gave 35 GB/s, ours is taken to give 26.8.
UBATCHES = {512: 380, 2048: 1112, 4096: 1682, 8192: 2090}


@pytest.mark.parametrize(("tokens", "published"), UBATCHES.items())
def test_larger_batches_of_a_prompt_copy_the_experts_less_often(
    tokens: int, published: float
) -> None:
    told = asked(
        **{**OSS, "prompt": 8192, "context": 8192}, offload=26, token_budget=tokens
    )
    assert told.prefill.seconds is not None
    assert 8192 / told.prefill.seconds == pytest.approx(published, rel=0.3)
    assert told.memory is not None
    # Each token more has an input and logits: its compute buffer is what it costs.
    width = 201088 + 2880
    assert told.memory.activations_bytes == tokens * width * 4


@pytest.mark.parametrize(
    ("context", "mib"),
    [(4096, 12.0), (30016, 62.625)],
)
def test_inputs_of_a_step_are_those_of_the_log(
    tmp_path: Path, context: int, mib: float
) -> None:
    """The host's buffer: 512 (ctx + h) 4 bytes, 12.0 and 62.6 MiB in two logs.

    On several cards each has it four times.
    """
    config = tmp_path / "config.json"
    config.write_text(json.dumps(QWEN_3B))
    told = asked(model=str(config), accelerator="rtx-3090", pp=2, context=context)
    assert told.memory is not None
    head = 512 * (151936 + 2048) * 4
    assert told.memory.activations_bytes - head == 4 * mib * MIB


@pytest.mark.parametrize(
    ("cache", "bits"), [("fp16", 16.0), ("q8_0", 8.5), ("q5_1", 6.0), ("q4_0", 4.5)]
)
def test_a_cache_takes_the_bits_of_its_type(cache: str, bits: float) -> None:
    """`--cache-type-k` and `--cache-type-v`: 2 g d of a token and layer."""
    told = asked(
        model="llama-3-8b",
        weights="q4_k_m",
        accelerator="rtx-3090",
        kv=cache,
        context=8192,
    )
    assert told.memory is not None
    assert told.memory.kv_cache_bytes == 32 * 2 * 8 * 128 * 8192 * bits / 8
