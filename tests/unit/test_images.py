"""Images in prompts: their tokens, the weights of what encodes them, and its time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from planopt.documents.evaluation import ServingEvaluation

CARD: dict[str, Any] = {
    "model": "qwen2.5-7b",
    "accelerator": "h100-sxm",
    "prompt": 512,
    "output": 512,
    "batch": 8,
}
SEEING: dict[str, Any] = {"image_tokens": 1024, "encoder_parameters": "0.6B"}


def _weights(evaluation: ServingEvaluation) -> float:
    assert evaluation.memory is not None
    return evaluation.memory.weights_bytes


def _prefill(evaluation: ServingEvaluation) -> float:
    seconds = evaluation.prefill.seconds
    assert isinstance(seconds, float)
    return seconds


def test_tokens_of_images_join_the_prompt_and_its_cache() -> None:
    seeing = planopt.evaluate(**CARD, **SEEING)
    longer = planopt.evaluate(**{**CARD, "prompt": 512 + 1024})
    assert seeing.context_tokens == longer.context_tokens == 2048
    assert seeing.decode == longer.decode
    assert seeing.memory is not None
    assert longer.memory is not None
    assert seeing.memory.kv_cache_bytes == longer.memory.kv_cache_bytes


@pytest.mark.parametrize("tp", [1, 4])
def test_the_encoder_is_divided_among_its_ranks(tp: int) -> None:
    card = {**CARD, "tp": tp}
    seeing = planopt.evaluate(**card, **SEEING)
    longer = planopt.evaluate(**{**card, "prompt": 512 + 1024})
    assert _weights(seeing) - _weights(longer) == pytest.approx(0.6e9 * 2 / tp)
    # 2 operations of each parameter on 4 patches of each token, at 989 TFLOP/s or less.
    at_peak = 2 * 0.6e9 * 4 * 1024 / tp / 989e12
    encoding = _prefill(seeing) - _prefill(longer)
    assert at_peak < encoding < 2 * at_peak


def test_patches_are_assumed_unless_they_are_given() -> None:
    assumed = planopt.evaluate(**CARD, **SEEING)
    given = planopt.evaluate(**CARD, **SEEING, patches_per_token=4)
    finer = planopt.evaluate(**CARD, **SEEING, patches_per_token=16)
    assert _prefill(assumed) == _prefill(given) < _prefill(finer)
    names = {one.name for one in assumed.assumed} - {one.name for one in given.assumed}
    assert names == {"patches of a token of an image"}


def test_a_first_token_waits_for_the_images_under_a_load() -> None:
    seeing = planopt.evaluate(**CARD, **SEEING, concurrency=8)
    longer = planopt.evaluate(**{**CARD, "prompt": 512 + 1024}, concurrency=8)
    assert seeing.ttft_seconds.mean is not None
    assert longer.ttft_seconds.mean is not None
    encoding = _prefill(seeing) - _prefill(longer)
    assert seeing.ttft_seconds.mean > longer.ttft_seconds.mean + 0.9 * encoding


def test_what_an_image_becomes_is_the_models_own() -> None:
    seeing = {**CARD, "model": "gemma-3-27b", "batch": 1}
    told = planopt.evaluate(**seeing, images=2)
    said = planopt.evaluate(
        **seeing,
        image_tokens=2 * 256,
        encoder_parameters=417_940_992,
        patches_per_token=16,
    )
    assert told.candidate == said.candidate
    assert told.prefill == said.prefill
    assert told.memory == said.memory
    assert "size of an image" in {one.name for one in told.assumed}
    # Qwen3.5 keeps the size: twice as wide is twice as many, and four patches each.
    wide = planopt.evaluate(
        **{**seeing, "model": "qwen3.5-397b-a17b", "accelerator": "b200", "tp": 8},
        images=1,
        image_size="2048x1024",
    )
    assert wide.candidate.image_tokens == 64 * 32
    assert wide.candidate.image_patches == 4 * 64 * 32


# meta-llama/Llama-4-Scout-17B-16E-Instruct, as far as it is read.
LLAMA4: dict[str, Any] = {
    "model_type": "llama4",
    "text_config": {
        "model_type": "llama4_text",
        "hidden_size": 5120,
        "head_dim": 128,
        "num_attention_heads": 40,
        "num_key_value_heads": 8,
        "num_hidden_layers": 48,
        "num_local_experts": 16,
        "num_experts_per_tok": 1,
        "interleave_moe_layer_step": 1,
        "intermediate_size": 8192,
        "intermediate_size_mlp": 16384,
        "attention_chunk_size": 8192,
        "vocab_size": 202048,
        "max_position_embeddings": 10485760,
        "torch_dtype": "bfloat16",
    },
    "vision_config": {
        "hidden_size": 1408,
        "intermediate_size": 5632,
        "num_hidden_layers": 34,
        "image_size": 336,
        "patch_size": 14,
        "pixel_shuffle_ratio": 0.5,
        "projector_input_dim": 4096,
        "projector_output_dim": 4096,
    },
}


def test_tiles_are_the_models_own(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(LLAMA4))
    card = {**CARD, "accelerator": "h200-sxm", "tp": 4, "batch": 1, "weights": "fp8"}
    known, read = (
        planopt.evaluate(**{**card, "model": model}, images=2, image_size="400x300")
        for model in ("llama-4-scout-17b-16e", str(config))
    )
    # Two squares and one of the whole, and a separator behind each of the two.
    assert known.candidate.image_tokens == 2 * (3 * 144 + 2)
    assert known.candidate.image_patches == 2 * 3 * 24**2
    for name in ("image_tokens", "image_patches", "encoder_parameters"):
        assert getattr(read.candidate, name) == getattr(known.candidate, name), name


def test_a_purchase_is_made_for_images(tmp_path: Path) -> None:
    asked: dict[str, Any] = {
        "model": "gemma-3-27b",
        "accelerators": ["h100-sxm"],
        "isl": 500,
        "osl": 200,
        "request_rate": "1/s",
        "ttft": "2s",
        "target": "20tok/s",
    }
    plan = planopt.solve(**asked, images=2)
    candidate = plan.deployments[0].candidate
    assert candidate.image_tokens == plan.request.image_tokens == 2 * 256
    assert plan.request.prompt_tokens == 500 + 2 * 256
    assert candidate.encoder_parameters == 417_940_992
    file = tmp_path / "plan.json"
    file.write_bytes(plan.to_json().encode())
    assert not planopt.verify(file).mismatches
    forged = json.loads(file.read_text())
    forged["deployments"][0]["candidate"]["image_patches"] = 1.0
    file.write_text(json.dumps(forged))
    fields = {one.field for one in planopt.verify(file).mismatches}
    assert "deployments[0].candidate.image_patches" in fields


@pytest.mark.parametrize(
    ("changed", "option"),
    [
        ({"images": 2}, "--images"),
        ({"model": "gemma-3-27b", "image_size": "64x64"}, "--images"),
        ({"model": "gemma-3-27b", "images": 1, "image_size": "64"}, "--image-size"),
        ({"model": "gemma-3-27b", "images": 1, "image_size": "0x9"}, "--image-size"),
        ({"model": "gemma-3-27b", "images": 1, "image_tokens": 4}, "--images"),
        ({"image_tokens": 4}, "--encoder-parameters"),
        ({"encoder_parameters": "0.6B"}, "--image-tokens"),
        ({**SEEING, "image_tokens": 0}, "--image-tokens"),
        ({**SEEING, "encoder_parameters": "small"}, "--encoder-parameters"),
    ],
)
def test_half_of_it_is_refused(changed: dict[str, Any], option: str) -> None:
    with pytest.raises(InputError) as refused:
        planopt.evaluate(**{**CARD, **changed})
    assert [one.field for one in refused.value.diagnostics] == [option]
