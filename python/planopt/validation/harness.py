"""How the runs of serving_silicon.csv were made, as the scripts of their source say.

InferenceX (SemiAnalysisAI, Apache-2.0; formerly InferenceMAX) starts an engine with its
own options for each model and asks it ten prompts for each user at once. Options that
its scripts do not set are the engine's own, which the assumptions have.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from planopt.validation.replica import Sizes

if TYPE_CHECKING:
    from planopt.validation.measurement import Row

__all__ = [
    "cache_format",
    "compiles_meanwhile",
    "engine_options",
    "is_inferencex",
    "sizes_of",
    "source_of",
    "tells_of_drafts",
]

# benchmarks/*.sh: --random-range-ratio 0.8, both lengths evenly from there to 1.
_LENGTH_SPREAD: Final = 0.8
# Other tools state one length. Were all answers of that length, users would read and be
# answered in step with each other, and no token would wait for a prompt: what TPOTs of
# all three engines show is the opposite. Assumed: a tenth either way.
_ANSWER_SPREAD: Final = 0.1
# Their runs of NVIDIA's checkpoints ask each prompt many times, of engines that keep
# prefixes: first tokens come sooner than prompts can be read. Assumed: ten times.
_ASKS_AGAIN: Final = "nvidia_"
_PREFIX_HIT_RATE: Final = 0.9

# Runs of other tools carry the model's organisation in their names.
_OTHERS: Final = ("meta_llama_", "nvidia_", "qwen_qwen3_32b")

_WITH_OR_WITHOUT_DRAFTS: Final = re.compile(r"20\d\d_\d\d_\d\d_deepseek_r1_")

# dsr1_*_trt*.sh: --max_num_tokens is a prompt, the batch and this, in whole tiles, but
# no less than TensorRT-LLM's own.
_BESIDE_A_PROMPT: Final = 64
_LEAST_TOKENS: Final = 8192
# gptoss_*_trt*.sh
_GPT_OSS_TOKENS: Final = 20_000
# dsr1_*_b200*.sh: --chunked-prefill-size, and --scheduler-recv-interval by users.
_CHUNK: Final = {"fp8": 32_768, "fp4": 16_384}
_FEW_USERS: Final = 16
# Qwen3.5 waits as DeepSeek does: from 16 users on, 30 steps for its first token.
_RARELY_LOOKED: Final = ("deepseek", "qwen3.5")
_RECEIVE_INTERVAL: Final = (10, 30)
_BLACKWELL: Final = ("b200", "b300", "gb200", "gb300")


def is_inferencex(row_id: str) -> bool:
    """Return whether a run is one of InferenceX."""
    return not row_id.startswith(_OTHERS)


def sizes_of(row: Row) -> Sizes:
    """Return the lengths that a run asked for."""
    prompt, output = int(row["isl"]), int(row["osl"])
    if is_inferencex(row["id"]):
        return Sizes.between(prompt, output, _LENGTH_SPREAD)
    cached = _PREFIX_HIT_RATE if row["id"].startswith(_ASKS_AGAIN) else 0.0
    return Sizes.around(prompt, output, _ANSWER_SPREAD, prefix_hit_rate=cached)


def source_of(row: Row) -> str:
    """Return what runs share that were made with one tool under one engine."""
    tool = "InferenceX" if is_inferencex(row["id"]) else "other tools"
    return f"{tool}, {row['backend']}"


def tells_of_drafts(row_id: str) -> bool:
    """Return whether a run's name says that no tokens were drafted.

    Since 2026 DeepSeek-R1 is run with and without its multi-token prediction, under one
    name: half of the time a token takes, and nobody can tell from the row.
    """
    return not _WITH_OR_WITHOUT_DRAFTS.match(row_id)


def compiles_meanwhile(row_id: str) -> bool:
    """Return whether the first requests of a run waited for kernels to be compiled.

    The earliest runs of NVFP4 under SGLang had no warm-up: the mean TTFT of 32 users
    and more is a tenth of some 75 s, however many they are.
    """
    return row_id.startswith("dsr1_b200_sglang_fp4_")


def engine_options(row: Row, model: str, users: int) -> dict[str, Any]:
    """Return the options that the engine of a run was started with."""
    options: dict[str, Any] = {"max_sequences": users}
    if not is_inferencex(row["id"]):
        return options
    if row["backend"] == "trtllm":
        if model.startswith("gpt-oss"):
            options["token_budget"] = _GPT_OSS_TOKENS
        else:
            tokens = users + int(row["isl"]) + 2 * _BESIDE_A_PROMPT - 1
            tiles = tokens // _BESIDE_A_PROMPT
            options["token_budget"] = max(tiles * _BESIDE_A_PROMPT, _LEAST_TOKENS)
    if row["backend"] == "sglang":
        options["token_budget"] = _CHUNK.get(row["precision"], _CHUNK["fp8"])
        if row["system"].startswith(_BLACKWELL) and model.startswith(_RARELY_LOOKED):
            many = users >= _FEW_USERS
            options["receive_interval"] = _RECEIVE_INTERVAL[many]
    return options


def cache_format(row: Row, engine: str | None, weights: str | None, model: str) -> str:
    """Return the format of the KV cache; the scripts ask for 8 bits where they can.

    ``--kv-cache-dtype fp8_e4m3`` for SGLang and ``kv-cache-dtype: fp8`` for gpt-oss
    under vLLM on Blackwell, ``kv_cache_config: dtype: fp8`` for TensorRT-LLM.
    """
    blackwell = row["system"].startswith(_BLACKWELL)
    quantised = weights in ("fp8", "nvfp4") or model.startswith("gpt-oss")
    eight_bits = (
        (engine == "trtllm" and quantised)
        or (engine == "sglang" and quantised and blackwell)
        or (engine == "vllm" and model.startswith("gpt-oss") and blackwell)
    )
    return "fp8" if eight_bits else "bf16"
