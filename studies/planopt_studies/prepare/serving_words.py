"""What sources of serving measurements call engines, models, formats and quantities."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Final, NamedTuple

__all__ = [
    "UnknownFormatError",
    "engine_of",
    "format_is_known",
    "kv_of",
    "model_of",
    "weights_of",
]

# The framework by its beginning, and our name of the engine.
_ENGINES: Final = (
    ("vllm", "vllm"),
    ("sglang", "sglang"),
    ("trtllm", "trtllm"),
    # The PyTorch backend, the default from 1.0 on; before, engines run by C++.
    ("tensorrt-llm (pytorch", "trtllm"),
    ("tensorrt", "trtllm-cpp"),
    ("llama.cpp", "llama-cpp"),
    ("lmdeploy", "lmdeploy"),
    ("gpt-fast", "gpt-fast"),
    ("exllamav2", "exllamav2"),
    ("exllama", "exllama"),
    ("distributed-llama", "distributed-llama"),
)

# A model under another name, and the same network with other weights in it.
_MODELS: Final = {
    "deepseek-r1-0528": "deepseek-r1",
    "deepseek-v3/r1": "deepseek-v3",
    "deepseek-v3.1": "deepseek-v3",
    "koala-13b": "llama-1-13b",
    "wizardlm-33b": "llama-1-33b",
    "openllama-3b": "open-llama-3b",
    "meta-llama-3-8b": "llama-3-8b",
    "meta-llama-3-70b": "llama-3-70b",
}
_SUFFIXES: Final = re.compile(
    r"-(nvfp4|fp8|fp4|instruct|chat|hf|base|it|v0\.1|bf16)\b", re.IGNORECASE
)

# Words of sources for a format of weights, by their beginning, and our format.
_WEIGHTS: Final[tuple[tuple[str, str], ...]] = (
    ("nvfp4", "nvfp4"),
    ("fp4", "nvfp4"),
    ("mxfp4", "mxfp4"),
    ("fp8", "fp8"),
    ("int4", "int4"),
    ("int8", "int8"),
    ("gptq-int4", "int4"),
    ("awq", "int4"),
    ("gguf-q4_k_m", "q4_k_m"),
    ("q40", "q4_0"),
    ("gguf-f16", "fp16"),
    ("bf16", "bf16"),
    ("fp16", "fp16"),
    ("fp32", "fp32"),
)
_BITS_PER_WEIGHT: Final = re.compile(r"exl2-([\d.]+)bpw")
# Its converter's default: --head_bits.
_EXL2_HEAD_BITS: Final = 6.0
# Of a group of 32: a scale of 16 bits and a zero of 4, or in gpt-fast both of 16.
_GROUPS: Final = (("gptq-int4-g32", 4 + 20 / 32), ("int4-g32", 4 + 32 / 32))
# gpt-fast replaces every linear layer, the head among them.
_BITS_OF_ALL: Final = {"int8": 8.0, "int4": 4 + 20 / 128}


class UnknownFormatError(ValueError):
    """A word for a format that is none of ours: never taken for 16 bits."""


class Weights(NamedTuple):
    """How the weights of a checkpoint are stored."""

    format: str | None = None
    """Our format."""
    bits: float | None = None
    """Bits of a quantised weight, where they are not those of the format."""
    head_bits: float | None = None
    """Bits of a weight of the head, where it is quantised."""


def engine_of(framework: str) -> str | None:
    """Return our name of an engine, none where it is not known."""
    lower = framework.lower()
    return next((ours for start, ours in _ENGINES if lower.startswith(start)), None)


def model_of(name: str, known: frozenset[str]) -> str | None:
    """Return the catalog id of a model, none where there is none like it."""
    plain = name.rsplit("/", 1)[-1].lower() if name.count("/") == 1 else name.lower()
    candidates = [name.lower(), plain]
    candidates += [_SUFFIXES.sub("", each) for each in list(candidates)]
    candidates += [_SUFFIXES.sub("", each) for each in list(candidates)]
    candidates += [each.removeprefix("meta-") for each in list(candidates)]
    candidates += [_MODELS.get(each, each) for each in list(candidates)]
    return next((each for each in candidates if each in known), None)


def weights_of(words: str, engine: str | None = None) -> Weights:
    """Return how the weights are stored, by a source's words and what engines do."""
    lower = words.lower()
    exl2 = _BITS_PER_WEIGHT.match(lower)
    if exl2:
        return Weights("int4", float(exl2[1]), _EXL2_HEAD_BITS)
    for start, ours in _WEIGHTS:
        if lower.startswith(start):
            found = (bits for name, bits in _GROUPS if lower.startswith(name))
            bits = next(found, None)
            whole = bits or _BITS_OF_ALL.get(ours)
            return Weights(ours, bits, whole if engine == "gpt-fast" else None)
    if lower:
        near = get_close_matches(lower, [start for start, _ in _WEIGHTS], 1, 0.3)
        nearest = f"; the nearest is `{near[0]}`" if near else ""
        message = f"weight format `{words}` is not known{nearest}"
        raise UnknownFormatError(message)
    return Weights()


def format_is_known(words: str) -> bool:
    """Whether a word for a format is one of ours, or nothing."""
    try:
        weights_of(words)
    except UnknownFormatError:
        return False
    return True


def kv_of(words: str) -> str | None:
    """Return our format of the KV cache, none for that of the activations."""
    lower = words.lower()
    return "fp8" if lower.startswith("fp8") else None
