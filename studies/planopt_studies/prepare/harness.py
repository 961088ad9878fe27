"""How the runs of serving_silicon.csv were made, as the scripts of their source say.

InferenceX (SemiAnalysisAI, Apache-2.0; formerly InferenceMAX) starts an engine with its
own options for each model and asks it ten prompts for each user at once. Options that
its scripts do not set are the engine's own, which the assumptions have.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from planopt_studies.prepare.rules import Raw

__all__ = [
    "cache_format",
    "compiles_meanwhile",
    "date_of",
    "divides_in_pools",
    "engine_options",
    "hides_replicas",
    "is_inferencex",
    "lengths_of",
    "parallel_of",
    "prompts_per_user",
    "source_of",
    "tells_of_drafts",
    "usable_fraction",
    "waits_behind_a_limit",
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

# First tokens that take so many answers are behind a limit that is not told.
_ANSWERS: Final = 3

# Runs of other tools carry the model's organisation in their names.
_OTHERS: Final = ("meta_llama_", "nvidia_", "qwen_qwen3_32b")

_DATED: Final = re.compile(r"(20\d\d)_(\d\d)_(\d\d)_")
_WITH_OR_WITHOUT_DRAFTS: Final = re.compile(r"20\d\d_\d\d_\d\d_deepseek_r1_")

# dsr1_*_trt*.sh: --max_num_tokens is a prompt, the batch and this, in whole tiles; but
# no less than TensorRT-LLM's own since 1.2 (dsr1_*_trt_slurm.sh of 2025 have no least).
_BESIDE_A_PROMPT: Final = 64
_LEAST_TOKENS: Final = 8192
# gptoss_*_trt*.sh; 70b_*_trt*.sh
_GPT_OSS_TOKENS: Final = 20_000
_LLAMA_TOKENS: Final = 16_384
# gptoss_fp4_h200_trt.sh: kv_cache_config dtype auto, which is as the model computes.
_CACHE_AS_IT_IS: Final = "gpt-oss"
# batch_wait_timeout_iters and batch_wait_max_tokens_ratio, of prompts and answers of
# 1024: 70b_*_trt*.sh on fewer than eight cards; dsr1_fp8_b200_trt.sh, 64 to 255 users.
_WAITED_FOR: Final = {("isl", "1024"), ("osl", "1024")}
_LLAMA_WAIT: Final = {"batch_wait_steps": 20, "batch_wait_share": 0.9}
_DEEPSEEK_WAIT: Final = {"batch_wait_steps": 40, "batch_wait_share": 0.8}
_WHOLE_HOST: Final = 8
_WAITING_USERS: Final = range(64, 256)
# attention_dp_config of dsr1_*_trt*.sh: enable_balance, timeout_iters. Where each rank
# attends for itself prompts wait until every rank has one, or for so many steps.
_BALANCE_STEPS: Final = 60
# gptoss_fp4_b200_trt.sh has enable_balance alone: timeout_iters are TensorRT-LLM's own
# (AttentionDpConfig). Once every rank has a prompt ten more pass, which is left out.
_OWN_BALANCE_STEPS: Final = 50
# Runs of DeepSeek under TensorRT-LLM 1.1.0rc2.post2, of which the table has no version:
# .github/configs/master.yaml of October 2025 has, by format, family, lengths and cards,
# the users from which experts are divided among ranks, and those from which attention
# is. The table has neither.
_DIVIDED_FROM: Final = {
    ("fp4", "blackwell", "1024", "1024", 4): (64, 256),
    ("fp4", "blackwell", "1024", "1024", 8): (16, 256),
    ("fp4", "blackwell", "1024", "8192", 4): (64, 256),
    ("fp4", "blackwell", "1024", "8192", 8): (32, 256),
    ("fp4", "blackwell", "8192", "1024", 4): (4, 64),
    ("fp4", "blackwell", "8192", "1024", 8): (64, 64),
    ("fp8", "blackwell", "1024", "1024", 8): (4, 64),
    ("fp8", "blackwell", "1024", "8192", 8): (4, 128),
    ("fp8", "blackwell", "8192", "1024", 8): (4, 128),
    ("fp8", "hopper", "1024", "1024", 8): (4, 128),
    ("fp8", "hopper", "1024", "8192", 8): (4, 128),
    ("fp8", "hopper", "8192", "1024", 8): (4, 64),
}
# Rows of two pools under SGLang 0.5.5 say that ranks attend each for themselves and
# share every expert. Their scripts (ai-dynamo/dynamo@b7107d00, slurm_jobs/scripts,
# which dsr1_fp8_gb200_dynamo-sglang.sh runs) have --tp-size, --dp-size and --ep-size of
# all ranks in *-max-tpt.sh, and --data-parallel-size 1 and --expert-parallel-size 1 in
# *-low-latency.sh, of four ranks: blocks of 128 columns of an expert's 2048 could not
# be shared by 32.
_LABELLED_ALIKE: Final = ("sglang", "0.5.5.post2")
_LOW_LATENCY: Final = 4
# Steps of prompts that graphs were captured for. max-cudagraph-capture-size of
# gptoss_*.sh; cudagraph_mode FULL_DECODE_ONLY of 70b_*_b200.sh: none. Others have
# vLLM's own. enable_piecewise_cuda_graph of dsr1_fp8_b200_trt.sh, up to all tokens of a
# step, by lengths: from so many users, to fewer than so many; dsr1_fp4_b200_trt.sh has
# them where experts are divided among eight cards.
_CAPTURED: Final = {"gpt-oss": 2048, "llama": 1}
_CAPTURED_FROM: Final = {
    ("1024", "1024"): range(64, 1 << 20),
    ("1024", "8192"): range(128, 256),
    ("8192", "1024"): range(64, 1 << 20),
}
_CAPTURED_RANKS: Final = ("1024", "1024", "8", "8")
# vLLM's scripts for B200 of April 2026: --max-cudagraph-capture-size 2048 and
# --max-num-batched-tokens of two prompts (minimaxm2.5_fp8_b200.sh of 0.19.0,
# InferenceX's pull request 947; minimaxm2.5_fp4_b200.sh, 996; kimik2.5_fp4_b200.sh,
# 1047, when its experts were no longer said to be divided). Those before have neither.
_APRIL_GRAPHS: Final = 2048
_APRIL_PROMPTS: Final = 2
_UNDIVIDED: Final = ("", "0", "1")
# Before, they had --tensor-parallel-size alone, whatever the table says of ranks of
# attention: kimik2.5_*.sh, which never divide experts, and minimaxm2.5_fp8_*.sh, which
# do where told, and in two of them always (`if [ "$EP_SIZE" -ge 1 ]`).
_DIVIDING: Final = (("b200", "0.17.0"), ("h200", "0.18.0"))
# *_sglang*.sh: --chunked-prefill-size by model, format and family; others as DeepSeek.
_CHUNK: Final = {
    ("deepseek", "fp4", "blackwell"): 16_384,
    ("qwen3.5", "fp8", "hopper"): 16_384,
    # glm5_fp8_h200.sh has no such option: SGLang's own below 160 GB.
    ("glm-5", "fp8", "hopper"): 8192,
}
# Models that the names of SGLang's scripts are of.
_SCRIPTED: Final = ("deepseek", "qwen3.5", "glm-5")
_LARGEST_CHUNK: Final = 32_768
# --mem-fraction-static, by accelerators too; 0.8 to 0.85 otherwise. Beside it we count
# what the process itself and its group take: some 3.5 GB of 141 to 192.
_STATIC_MEMORY: Final = {
    ("deepseek", "fp8", "blackwell", 4): 0.95,
    ("glm-5", "fp4", "blackwell", 8): 0.9,
}
_USUAL_STATIC_MEMORY: Final = 0.85
_NOT_STATIC: Final = 0.02
# --scheduler-recv-interval of fewer than 16 users, and of others.
_FEW_USERS: Final = 16
_RECEIVE_INTERVAL: Final = {
    ("deepseek", "fp8", "blackwell"): (10, 30),
    ("deepseek", "fp4", "blackwell"): (10, 30),
    ("qwen3.5", "bf16", "blackwell"): (10, 30),
    ("qwen3.5", "fp8", "blackwell"): (10, 30),
    ("qwen3.5", "fp4", "blackwell"): (30, 30),
    ("glm-5", "fp4", "blackwell"): (10, 10),
}
_EVERY_STEP: Final = (1, 1)
_BLACKWELL: Final = ("b200", "b300", "gb200", "gb300")
PROMPTS_PER_USER: Final = 10
"""InferenceMAX asks ten times as many as it has users."""
# glm5_fp8_h200.sh asks five prompts for each user, the others ten.
_FEWER_PROMPTS: Final = {("glm-5", "fp8", "hopper"): 5}


def is_inferencex(row_id: str) -> bool:
    """Return whether a run is one of InferenceX."""
    return not row_id.startswith(_OTHERS)


def lengths_of(row: Raw) -> dict[str, object]:
    """Return the lengths that a run asked for."""
    prompt, output = int(row["isl"]), int(row["osl"])
    cached = 0.0
    prompts = (prompt * _LENGTH_SPREAD, float(prompt))
    outputs = (output * _LENGTH_SPREAD, float(output))
    if not is_inferencex(row["id"]):
        cached = _PREFIX_HIT_RATE if row["id"].startswith(_ASKS_AGAIN) else 0.0
        prompts = (prompt, prompt)
        outputs = (output * (1 - _ANSWER_SPREAD), output * (1 + _ANSWER_SPREAD))
    return {
        "prompt_tokens": prompt,
        "output_tokens": output,
        "lengths": "uniform",
        "prompt_tokens_least": max(int(prompts[0]), 1),
        "prompt_tokens_most": int(prompts[1]),
        "output_tokens_least": max(int(outputs[0]), 1),
        "output_tokens_most": int(outputs[1]),
        "prefix_hit_rate": cached,
    }


def source_of(row: Raw) -> str:
    """Return what runs share that were made with one tool under one engine."""
    tool = "InferenceX" if is_inferencex(row["id"]) else "other tools"
    return f"{tool}, {row['backend']}"


def date_of(row_id: str) -> str:
    """Return the day of a run, where its name begins with it."""
    dated = _DATED.match(row_id)
    return "-".join(dated.groups()) if dated else ""


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


def parallel_of(row: Raw, model: str, users: int, cards: int) -> tuple[int, int] | None:
    """Return ranks of experts and of attention of a run, where its row has them not."""
    if row["backend"] == "vllm" and is_inferencex(row["id"]):
        return _parallel_of_vllm(row, model, cards)
    if not _is_of_2025(row, model):
        return None
    key = (*_script(row, model)[1:], row["isl"], row["osl"], cards)
    divided = _DIVIDED_FROM.get(key)
    if divided is None:
        return None
    experts, attention = divided
    return cards if users >= experts else 1, cards if users >= attention else 1


def _parallel_of_vllm(row: Raw, model: str, cards: int) -> tuple[int, int] | None:
    """Return the same of the scripts before April 2026."""
    if cards > _WHOLE_HOST or _is_of_april(row, model):
        return None
    if model.startswith("kimi"):
        return 1, 1
    if not model.startswith("minimax") or row["precision"] != "fp8":
        return None
    script = (row["system"].partition("_")[0], row["backend_version"])
    divides = row["moe_ep_size"] not in _UNDIVIDED or script in _DIVIDING
    return cards if divides else 1, 1


def divides_in_pools(row: Raw) -> bool | None:
    """Return whether ranks attend each for themselves and have experts of their own.

    Of runs whose rows do not tell; none of others.
    """
    if (row["backend"], row["backend_version"]) != _LABELLED_ALIKE:
        return None
    return int(row["decode_attention_dp_size"]) > _LOW_LATENCY


def _is_of_2025(row: Raw, model: str) -> bool:
    """Return whether a run is one of DeepSeek's first ones under TensorRT-LLM."""
    is_first = row["backend"] == "trtllm" and not row["backend_version"]
    return is_first and row["mode"] == "agg" and model.startswith("deepseek")


def hides_replicas(row: Raw, users: int) -> bool:
    """Return whether a run's tokens tell of more replicas than its row does.

    Of Qwen3-32B on GB200 a token of 2 users takes 21 to 42 ms where one takes 8, and of
    16 as long as of 128; so do tokens of NVIDIA's checkpoints at lengths of 4000 and
    1000.
    """
    alone = users == 1
    lengths = (row["isl"], row["osl"])
    nvidia = row["id"].startswith(_ASKS_AGAIN) and lengths == ("4000", "1000")
    qwen = row["id"].startswith("qwen_qwen3_32b") and row["system"].startswith("gb200")
    return nvidia or (qwen and not alone)


def waits_behind_a_limit(row: Raw) -> bool:
    """Return whether prompts of one pool wait for longer than three answers take.

    Where every user has a place, nobody waits for more than the answer before him: the
    engine had a limit on sequences that the row does not tell.
    """
    wait, token = float(row["silicon_ttft_ms"]), float(row["silicon_tpot_ms"])
    return row["mode"] == "agg" and wait > _ANSWERS * token * int(row["osl"])


def engine_options(
    row: Raw, model: str, users: int, attention_ranks: int = 1
) -> dict[str, Any]:
    """Return the options that the engine of a run was started with."""
    options: dict[str, Any] = {"max_sequences": users}
    if not is_inferencex(row["id"]):
        return options
    if row["backend"] == "trtllm":
        return options | _of_tensorrt_llm(row, model, users, attention_ranks)
    if row["backend"] == "sglang":
        script = _script(row, model)
        options["token_budget"] = _CHUNK.get(script, _LARGEST_CHUNK)
        few, many = _RECEIVE_INTERVAL.get(script, _EVERY_STEP)
        options["receive_interval"] = few if users < _FEW_USERS else many
    if row["backend"] == "vllm" and _is_of_april(row, model):
        tokens = _APRIL_PROMPTS * int(row["isl"])
        return options | {"graph_tokens": _APRIL_GRAPHS, "token_budget": tokens}
    if row["backend"] == "vllm":
        captured = (_CAPTURED[of] for of in _CAPTURED if model.startswith(of))
        options["graph_tokens"] = next(captured, None)
    return options


def _is_of_april(row: Raw, model: str) -> bool:
    """Return whether a run of vLLM on B200 is of a script of April 2026."""
    if not row["system"].startswith("b200"):
        return False
    if model.startswith("minimax"):
        return row["backend_version"] == "0.19.0"
    divides = row["moe_ep_size"] not in _UNDIVIDED
    kimi = model.startswith("kimi") and row["precision"] == "fp4"
    return kimi and not divides and not date_of(row["id"])


def _of_tensorrt_llm(
    row: Raw, model: str, users: int, attention_ranks: int
) -> dict[str, Any]:
    waits = row.items() >= _WAITED_FOR
    prompt = int(row["isl"])
    if model.startswith("gpt-oss"):
        balanced = attention_ranks > 1 and _is_blackwell(row)
        share = _share_of_all(attention_ranks, prompt, _GPT_OSS_TOKENS)
        balance = {"batch_wait_steps": _OWN_BALANCE_STEPS, "batch_wait_share": share}
        return {"token_budget": _GPT_OSS_TOKENS} | (balance if balanced else {})
    if model.startswith("llama"):
        waits = waits and int(row["tp_size"]) < _WHOLE_HOST
        return {"token_budget": _LLAMA_TOKENS} | (_LLAMA_WAIT if waits else {})
    tiles = (users + prompt + 2 * _BESIDE_A_PROMPT - 1) // _BESIDE_A_PROMPT
    tokens = tiles * _BESIDE_A_PROMPT
    if not _is_of_2025(row, model):
        tokens = max(tokens, _LEAST_TOKENS)
    options: dict[str, Any] = {"token_budget": tokens}
    if not _is_of_2025(row, model) and _captures_prompts(row, users):
        options["graph_tokens"] = tokens
    if attention_ranks > 1:
        return options | {
            "batch_wait_steps": _BALANCE_STEPS,
            "batch_wait_share": _share_of_all(attention_ranks, prompt, tokens),
        }
    script = ("deepseek", "fp8", "blackwell")
    waits = waits and users in _WAITING_USERS and _script(row, model) == script
    return options | (_DEEPSEEK_WAIT if waits else {})


def _captures_prompts(row: Raw, users: int) -> bool:
    """Return whether a run of DeepSeek has graphs of its prompts."""
    if not _is_blackwell(row):
        return False
    if row["precision"] == "fp8":
        return users in _CAPTURED_FROM.get((row["isl"], row["osl"]), ())
    lengths_and_ranks = (row["isl"], row["osl"], row["tp_size"], row.get("moe_ep_size"))
    return lengths_and_ranks == _CAPTURED_RANKS


def _share_of_all(ranks: int, prompt: int, tokens: int) -> float:
    """Return the share of the tokens of a step that waits when every rank has a prompt.

    Who has been answered is as likely of one rank as of another, and the next takes his
    place: until each of n has one, n H_n come on average (the coupon collector).
    """
    harmonic = sum(1 / rank for rank in range(1, ranks + 1))
    mean = prompt * (1 + _LENGTH_SPREAD) / 2
    return min(harmonic * mean / tokens, 1.0)


def prompts_per_user(row: Raw, model: str) -> int:
    """Return how many prompts a run asks for each of its users."""
    return _FEWER_PROMPTS.get(_script(row, model), PROMPTS_PER_USER)


def usable_fraction(row: Raw, model: str, accelerators: int) -> float | None:
    """Return the share of the memory that an engine was told to plan with, if it was.

    SGLang's share is of weights and cache alone; what it leaves, of all that it holds.
    """
    if row["backend"] != "sglang" or not is_inferencex(row["id"]):
        return None
    key = (*_script(row, model), accelerators)
    return _STATIC_MEMORY.get(key, _USUAL_STATIC_MEMORY) + _NOT_STATIC


def _script(row: Raw, model: str) -> tuple[str, str, str]:
    """Return what tells the scripts of an engine apart: model, format and family."""
    family = "blackwell" if _is_blackwell(row) else "hopper"
    named = (name for name in _SCRIPTED if model.startswith(name))
    return next(named, model), row["precision"], family


def _is_blackwell(row: Raw) -> bool:
    return row["system"].startswith(_BLACKWELL)


def cache_format(row: Raw, engine: str | None, weights: str | None, model: str) -> str:
    """Return the format of the KV cache; the scripts ask for 8 bits where they can.

    ``--kv-cache-dtype fp8_e4m3`` for SGLang and ``--kv-cache-dtype fp8`` for vLLM on
    Blackwell, ``kv_cache_config: dtype: fp8`` for TensorRT-LLM; and checkpoints of
    NVFP4 say so themselves (``kv_cache_quant_algo`` of their ``hf_quant_config.json``).
    minimaxm2.5_fp8_b200.sh asks for none before vLLM 0.19.0.
    """
    if model.startswith("minimax") and row["backend_version"] == "0.17.0":
        return "bf16"
    blackwell = _is_blackwell(row)
    quantised = weights in ("fp8", "nvfp4") or model.startswith("gpt-oss")
    as_it_is = not blackwell and model.startswith(_CACHE_AS_IT_IS)
    eight_bits = (engine == "trtllm" and quantised and not as_it_is) or (
        engine in ("sglang", "vllm") and quantised and blackwell
    )
    return "fp8" if eight_bits else "bf16"
