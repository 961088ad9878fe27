"""Rows of inference.csv: decode, prefill, throughput, memory and latencies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from planopt.accuracy.serving_rows import ServingRow
from planopt_studies.prepare.rules import kept, repeats
from planopt_studies.prepare.serving_words import (
    Weights,
    engine_of,
    format_is_known,
    kv_of,
    model_of,
    weights_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from planopt_studies.prepare.rules import Ledger, Raw

__all__ = ["COLUMNS", "prepare_inference", "serving_formats"]

COLUMNS: Final = frozenset(
    {"framework", "model", "accelerator", "metric", "value", "osl"}
)
# What a published figure is called here.
_FIGURES: Final = {
    "decode_tok_s_per_user": "decode_tokens_per_second",
    "prefill_tok_s": "prefill_tokens_per_second",
    "output_tok_s_total": "output_tokens_per_second",
    "total_tok_s": "total_tokens_per_second",
    "requests_s": "requests_per_second",
    "decode_tok_s_total": "output_tokens_per_second",
    "ttft_ms": "ttft_ms",
    "tpot_ms": "tpot_ms",
    "memory_gb": "memory_gb",
}
_THROUGHPUT: Final = (
    *("output_tok_s_total", "total_tok_s", "requests_s"),
    "decode_tok_s_total",
)
# Lengths where a decoding speed is published without any.
_SHORT_PROMPT, _SHORT_OUTPUT = "5", "200"
_PROMPTS_PER_USER: Final = 10
# NVIDIA's quantised checkpoints say so in their hf_quant_config.json
# (kv_cache_quant_algo: FP8), and TensorRT-LLM does as they say.
_CHECKPOINT_CACHE: Final[Mapping[tuple[str | None, str | None], str]] = {
    ("trtllm", "fp8"): "fp8",
    ("trtllm", "nvfp4"): "fp8",
}
# trtllm-bench: max_num_tokens and max_batch_size of its engines.
_SATURATED_ENGINE: Final = {
    "token_budget": 8192,
    "max_sequences": 2048,
    "kv_policy": "reserve",
}
_REQUESTS: Final = re.compile(r"(\d+) requests")
# Lengths of a data set of questions and answers, of which the source has the means.
_MEANS: Final = "mean lengths"
# Lengths that are drawn evenly, so many percent either way.
_EVENLY: Final = re.compile(r"\(\+-(\d+)%\)")
_MEDIAN: Final = "median TTFT"
# LMDeploy's profile_generation.py: half of the tokens of a static batch took less. One
# that waits for prompts is not among them.
_MEDIAN_TOKEN: Final = "50% token latency"
_OFFERED: Final = re.compile(r"(\d+) requests, offered QPS=(INF|[\d.]+)")
_LAYERS_SPLIT: Final = "llama-cpp"
_UNREPEATED: Final = ("id", "url_or_path", "date", "notes", "framework_version")


def prepare_inference(
    rows: Iterable[Raw], models: frozenset[str], ledger: Ledger
) -> list[ServingRow]:
    """Bring rows into the schema of serving."""
    rules = (
        repeats(_content),
        figure_is_none_of_ours,
        mlperf_publishes_no_lengths,
        contradicts_its_table,
        layout_is_not_stated,
        lengths_are_not_stated,
        drafts_whose_acceptance_is_not_stated,
        production_average_of_no_stated_lengths,
        accelerators_of_different_kinds,
        weight_format_is_not_known,
    )
    return [_row(row, models, ledger) for row in kept(rows, rules, ledger)]


def _content(row: Raw) -> tuple[str, ...]:
    return tuple(text for name, text in row.items() if name not in _UNREPEATED)


def figure_is_none_of_ours(row: Raw) -> bool:
    """Whether another figure was measured."""
    return row["metric"] not in _FIGURES


def mlperf_publishes_no_lengths(row: Raw) -> bool:
    """Whether the row is of MLPerf, whose lengths are those of its data sets."""
    return row["source"].startswith("MLPerf")


def contradicts_its_table(row: Raw) -> bool:
    """Whether the figure contradicts its neighbours."""
    return "SUSPECT" in row["notes"]


def layout_is_not_stated(row: Raw) -> bool:
    """Whether neither tensor nor expert parallelism is stated."""
    return not row["tp"] and not row["ep"]


def lengths_are_not_stated(row: Raw) -> bool:
    """Whether a load is measured without its lengths."""
    if row["metric"] in _THROUGHPUT:
        return not (row["isl"] and row["osl"])
    if row["metric"] in ("ttft_ms", "tpot_ms") and not row["isl"]:
        return row["batch_or_concurrency"] != "1" or row["metric"] != "tpot_ms"
    return False


def drafts_whose_acceptance_is_not_stated(row: Raw) -> bool:
    """Whether tokens are drafted."""
    return "SPECULATIVE" in row["notes"]


def production_average_of_no_stated_lengths(row: Raw) -> bool:
    """Whether the figure is of a day of production."""
    return "production average" in row["notes"]


def accelerators_of_different_kinds(row: Raw) -> bool:
    """Whether one replica has several kinds."""
    return "+" in row["accelerator"] or row["accelerator"].startswith("mixed")


def weight_format_is_not_known(row: Raw) -> bool:
    """Whether we have no such format: it is never taken for 16 bits."""
    return not format_is_known(row["weight_format"])


def serving_formats(
    words: str, engine: str | None, *, published: bool
) -> tuple[Weights, dict[str, Any]]:
    """Return how weights are stored, and the columns that say so."""
    weights = Weights() if published else weights_of(words, engine)
    return weights, {
        "weight_format": weights.format or "published",
        "weight_bits": weights.bits,
        "head_bits": weights.head_bits,
    }


def _row(row: Raw, models: frozenset[str], ledger: Ledger) -> ServingRow:
    engine = engine_of(row["framework"])
    published = row["model"].startswith("gpt-oss")
    weights, formats = serving_formats(
        row["weight_format"], engine, published=published
    )
    if published and row["weight_format"]:
        ledger.changed["gpt-oss is served as it was published"] += 1
    accelerators = count(row["n_accelerators"])
    tp, pp, dp = count(row["tp"]), count(row["pp"]), 1
    if not row["tp"]:
        # DEPn: attention of every rank for itself, experts assigned among all.
        ledger.changed["attention of every rank for itself (DEPn)"] += 1
        tp, dp = 1, accelerators
    if engine == _LAYERS_SPLIT and accelerators > 1:
        ledger.changed["llama.cpp partitions layers among several cards"] += 1
        tp, pp = 1, accelerators
    cache = kv_of(row["kv_format"]) or _CHECKPOINT_CACHE.get((engine, weights.format))
    if cache and not row["kv_format"]:
        ledger.changed["cache as NVIDIA's checkpoint asks for"] += 1
    if _MEDIAN_TOKEN in row["notes"]:
        ledger.changed["a median token waits for no prompt"] += 1
    if not (row["isl"] and row["osl"]):
        ledger.changed["lengths assumed: prompt 5, answer 200"] += 1
    columns = {
        "id": row["id"],
        "source": row["source"],
        "date": row["date"],
        "engine": engine or row["framework"],
        "engine_version": row["framework_version"],
        "model": model_of(row["model"], models) or row["model"],
        **formats,
        "kv_format": cache or "activations",
        "accelerator": row["accelerator"],
        "tp": tp,
        "pp": pp,
        "dp_attention": dp,
        "ep": count(row["ep"]),
        "replicas": 1,
        "network": "ethernet-1g" if row["accelerator"].startswith("cpu-") else "",
        **_load(row),
        "prompt_tokens": int(float(row["isl"] or _SHORT_PROMPT)),
        "output_tokens": int(float(row["osl"] or _SHORT_OUTPUT)),
        **_lengths(row),
        "latency_statistic": "median" if _MEDIAN in row["notes"] else "",
        _FIGURES[row["metric"]]: float(row["value"]),
    }
    return msgspec.convert(columns, ServingRow)


def _lengths(row: Raw) -> dict[str, Any]:
    """Return how lengths spread about those that are stated."""
    evenly = _EVENLY.search(row["notes"])
    if evenly is None:
        return {"lengths": "lognormal" if _MEANS in row["notes"] else "fixed"}
    share = int(evenly[1]) / 100
    prompt, output = int(row["isl"]), int(row["osl"])
    return {
        "lengths": "uniform",
        "prompt_tokens_least": round(prompt * (1 - share)),
        "prompt_tokens_most": round(prompt * (1 + share)),
        "output_tokens_least": round(output * (1 - share)),
        "output_tokens_most": round(output * (1 + share)),
    }


def _load(row: Raw) -> dict[str, Any]:
    batch, metric = row["batch_or_concurrency"], row["metric"]
    users = count(batch)
    decodes = metric == "tpot_ms" and (batch == "1" or _MEDIAN_TOKEN in row["notes"])
    if decodes or metric in ("decode_tok_s_per_user", "prefill_tok_s", "memory_gb"):
        return {"load": "steady", "users": users}
    if batch and "static" in row["notes"]:
        return {"load": "static", "requests": users}
    stated = _REQUESTS.search(row["notes"])
    if batch:
        # Benchmarks lift the engine's limit on sequences beyond their own users.
        requests = int(stated[1]) if stated else users * _PROMPTS_PER_USER
        limits = {"max_sequences": users, "requests": requests}
        return {"load": "closed", "users": users, **limits}
    offered = _OFFERED.search(row["notes"])
    if offered:
        requests = int(offered[1])
        if offered[2] == "INF":
            return {"load": "static", "requests": requests}
        rate = float(offered[2])
        return {
            "load": "open",
            "requests": requests,
            "requests_offered_per_second": rate,
        }
    return {
        "load": "benchmark",
        "requests": int(stated[1]) if stated else None,
        **_SATURATED_ENGINE,
    }


def count(text: str) -> int:
    """Return a count; sources have 0 and nothing for 1."""
    return max(int(float(text)), 1) if text else 1
