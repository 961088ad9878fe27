"""What sources call engines, models and formats, and the layouts they mean."""

import pytest

from planopt_studies.prepare.serving_words import (
    UnknownFormatError,
    Weights,
    engine_of,
    kv_of,
    model_of,
    weights_of,
)
from planopt_studies.prepare.silicon import accelerators_of

KNOWN = frozenset({"llama-3.1-8b", "deepseek-r1", "qwen3-32b", "llama-1-13b"})


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("nvidia/Llama-3.1-8B-Instruct-FP8", "llama-3.1-8b"),
        ("deepseek-ai/DeepSeek-R1", "deepseek-r1"),
        ("DeepSeek-R1-0528", "deepseek-r1"),
        ("nvidia/Qwen3-32B-NVFP4", "qwen3-32b"),
        ("Koala-13B", "llama-1-13b"),
        ("Unheard-of-1B", None),
    ],
)
def test_models_are_found_under_other_names(name: str, ours: str | None) -> None:
    assert model_of(name, KNOWN) == ours


def test_engines_and_formats_by_their_beginning() -> None:
    assert engine_of("TensorRT-LLM (PyTorch backend)") == "trtllm"
    assert engine_of("exllamav2") == "exllamav2"
    assert engine_of("something new") is None
    assert weights_of("gguf-q4_k_m") == Weights("q4_k_m")
    assert weights_of("exl2-2.5bpw") == Weights("int4", 2.5, 6)
    assert weights_of("gptq-int4-g32") == Weights("int4", 4.625)
    assert weights_of("int8-weight-only", "vllm") == Weights("int8")
    assert weights_of("int8-weight-only", "gpt-fast") == Weights("int8", None, 8)
    assert weights_of("int4-g32-weight-only", "gpt-fast") == Weights("int4", 5, 5)
    assert weights_of("fp8_block") == Weights("fp8")
    assert weights_of("") == Weights()
    with pytest.raises(UnknownFormatError, match="nearest is `gguf-q4_k_m`"):
        weights_of("gguf-q5_k_m")
    assert kv_of("fp8-skip-sw") == "fp8"
    assert kv_of("bf16") is None


@pytest.mark.parametrize(
    ("degrees", "accelerators"),
    [
        # Attention ranks inside of the tensor-parallel group, and beside it.
        ({"tp_size": "4", "attention_dp_size": "4", "moe_ep_size": "16"}, 4),
        ({"tp_size": "2", "attention_dp_size": "4", "moe_ep_size": "8"}, 8),
        ({"tp_size": "1", "attention_dp_size": "32", "moe_ep_size": "32"}, 32),
        # Eight accelerators, written as 64 attention ranks in 8 parts of 8.
        (
            {
                "tp_size": "1",
                "attention_dp_size": "64",
                "moe_tp_size": "8",
                "moe_ep_size": "8",
            },
            8,
        ),
    ],
)
def test_accelerators_are_counted_once(
    degrees: dict[str, str], accelerators: int
) -> None:
    assert accelerators_of(degrees, "") == accelerators
