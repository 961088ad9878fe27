"""What sources call engines, models and formats, and the layouts they mean."""

import pytest

from planopt.validation.serving_words import engine_of, kv_of, model_of, weights_of
from planopt.validation.silicon import _accelerators

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
    assert weights_of("gguf-q4_k_m") == ("int4", 4.85)
    assert weights_of("exl2-2.5bpw") == ("int4", 2.5)
    assert weights_of("fp8_block") == ("fp8", None)
    assert weights_of("") == (None, None)
    assert kv_of("fp8-skip-sw") == "fp8"
    assert kv_of("bf16") is None


@pytest.mark.parametrize(
    ("tp", "dp", "accelerators"),
    # Attention ranks beside the group, inside of it, and the product counted twice.
    [(8, 1, 8), (1, 8, 8), (4, 4, 4), (1, 64, 8), (1, 16, 4)],
)
def test_accelerators_of_a_replica(tp: int, dp: int, accelerators: int) -> None:
    assert _accelerators(tp, dp) == accelerators
