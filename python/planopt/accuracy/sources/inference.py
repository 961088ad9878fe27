"""Rows of inference.csv: decode, prefill, throughput, memory and latencies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from planopt.accuracy.measurements import Comparison, Missing
from planopt.accuracy.serving import (
    MeasuredReplica,
    Sizes,
    UnpredictableError,
    Weights,
    known_models,
)
from planopt.accuracy.sources.serving_words import (
    engine_of,
    kv_of,
    model_of,
    weights_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planopt.accuracy.measurements import Outcome, Row

__all__ = ["INFERENCE"]

# What a published figure is called here.
_METRICS: Final = {
    "decode_tok_s_per_user": "decode",
    "prefill_tok_s": "prefill",
    "output_tok_s_total": "throughput",
    "total_tok_s": "throughput",
    "requests_s": "throughput",
    "decode_tok_s_total": "throughput",
    "ttft_ms": "ttft",
    "tpot_ms": "tpot",
    "memory_gb": "memory",
}
_GB: Final = 1e9
_MILLI: Final = 1e3
# Lengths where a decoding speed is published without any.
_SHORT_PROMPT, _SHORT_OUTPUT = 5, 200
# NVIDIA's quantised checkpoints say so in their hf_quant_config.json
# (kv_cache_quant_algo: FP8), and TensorRT-LLM does as they say.
_CHECKPOINT_CACHE: Final[Mapping[tuple[str | None, str | None], str]] = {
    ("trtllm", "fp8"): "fp8",
    ("trtllm", "nvfp4"): "fp8",
}
# Sources that are read at saturation, so many users as the cache has room for and
# again: TensorRT-LLM's benchmark offers everything at once.
_SATURATED: Final = 2
_MOST_USERS: Final = 2048
# trtllm-bench: max_num_tokens and max_batch_size of its engines.
_SATURATED_ENGINE: Final = {
    "token_budget": 8192,
    "max_sequences": _MOST_USERS,
    "kv_policy": "reserve",
}
# Rounds of a run at saturation: its ends, at which fewer are served, hardly count.
_ROUNDS: Final = 5
_REQUESTS: Final = re.compile(r"(\d+) requests")
# Lengths of a data set of questions and answers, of which the source has the means.
_MEANS: Final = "mean lengths"
_OFFERED: Final = re.compile(r"(\d+) requests, offered QPS=(INF|[\d.]+)")
_LAYERS_SPLIT: Final = "llama-cpp"
_UNREPEATED: Final = ("id", "url_or_path", "date", "notes", "framework_version")


class _Inference:
    """The schema of inference.csv."""

    name = "serving figures"
    columns = frozenset({"framework", "model", "accelerator", "metric", "value", "osl"})
    needed = frozenset({"value"})

    def predict(self, rows: Sequence[Row], assumptions: str) -> Iterator[Outcome]:
        """Predict the figure of every row."""
        seen = set()
        for row in rows:
            content = tuple(
                value for name, value in row.items() if name not in _UNREPEATED
            )
            if content in seen:
                yield Missing(row=row["id"], reason="repeats another row")
                continue
            seen.add(content)
            yield _predict(row, assumptions)


INFERENCE: Final = _Inference()


def _predict(row: Row, assumptions: str) -> Outcome:
    metric = _METRICS.get(row["metric"])
    if metric is None:
        return Missing(row=row["id"], reason=f"no such figure: {row['metric']}")
    if row["source"].startswith("MLPerf"):
        return Missing(row=row["id"], reason="MLPerf: lengths are not published")
    if "SUSPECT" in row["notes"]:
        return Missing(row=row["id"], reason="SUSPECT: contradicts its table")
    unknown = _unknown(row, metric)
    if unknown:
        return Missing(row=row["id"], reason=unknown)
    try:
        replica = _replica(row, assumptions)
        predicted = _figure(row, metric, replica)
    except UnpredictableError as error:
        return Missing(row=row["id"], reason=str(error), metrics=(metric,))
    return Comparison(
        row=row["id"],
        source=row["source"],
        metric=metric,
        measured=float(row["value"]),
        predicted=predicted,
        unit=row["unit"],
        accelerator=replica.accelerator,
        model=replica.model,
        engine=replica.engine or row["framework"],
        precision=replica.weights.format or "",
        layout=replica.layout,
        why={"isl": row["isl"], "osl": row["osl"]},
    )


def _unknown(row: Row, metric: str) -> str | None:
    """Return why the row says too little to be predicted."""
    if not row["tp"] and not row["ep"]:
        return "the layout is not stated"
    if metric == "throughput" and not (row["isl"] and row["osl"]):
        return "lengths are not stated"
    if metric in ("ttft", "tpot") and not row["isl"]:
        if row["batch_or_concurrency"] == "1" and metric == "tpot":
            return None
        return "lengths are not stated"
    if "SPECULATIVE" in row["notes"]:
        return "drafts, of which the acceptance is not stated"
    if "production average" in row["notes"] or "production averages" in row["notes"]:
        return "a production average, of no stated lengths"
    if "+" in row["accelerator"] or row["accelerator"].startswith("mixed"):
        return "accelerators of different kinds in one replica"
    return None


def _replica(row: Row, assumptions: str) -> MeasuredReplica:
    model = model_of(row["model"], known_models(assumptions))
    if model is None:
        message = f"no model of the catalog is like {row['model']}"
        raise UnpredictableError(message)
    engine = engine_of(row["framework"])
    weights = weights_of(row["weight_format"], engine)
    if row["model"].startswith("gpt-oss"):
        weights = Weights()
    tp, pp = _count(row["tp"]), _count(row["pp"])
    accelerators = _count(row["n_accelerators"])
    dp = 1
    if not row["tp"]:
        # DEPn: attention of every rank for itself, experts dealt among all.
        tp, dp = 1, accelerators
    if engine == _LAYERS_SPLIT and accelerators > 1:
        tp, pp = 1, accelerators
    return MeasuredReplica(
        assumptions=assumptions,
        model=model,
        accelerator=row["accelerator"],
        engine=engine,
        weights=weights,
        kv=kv_of(row["kv_format"]) or _CHECKPOINT_CACHE.get((engine, weights.format)),
        tp=tp,
        pp=pp,
        dp=dp,
        ep=_count(row["ep"]),
        network="ethernet-1g" if row["accelerator"].startswith("cpu-") else None,
    )


def _figure(row: Row, metric: str, replica: MeasuredReplica) -> float:
    prompt = int(float(row["isl"] or _SHORT_PROMPT))
    output = int(float(row["osl"] or _SHORT_OUTPUT))
    batch = row["batch_or_concurrency"]
    # Half of the answer is cached on average while it grows.
    middle = prompt + output // 2
    if metric == "memory":
        context = prompt + output
        return replica.memory_bytes(batch=_count(batch), context=context) / _GB
    if metric == "decode" or (metric == "tpot" and batch == "1"):
        seconds = replica.step_seconds(batch=_count(batch), context=middle)
        return 1 / seconds if metric == "decode" else seconds * _MILLI
    if metric == "prefill":
        return prompt / replica.prompt_seconds(prompt=prompt)
    report = _loaded(row, replica, prompt, output)
    return _of_report(row, metric, report, prompt + output)


def _loaded(
    row: Row, replica: MeasuredReplica, prompt: int, output: int
) -> Mapping[str, Any]:
    batch = row["batch_or_concurrency"]
    mean = _MEANS in row["notes"]
    sizes = (Sizes.of_people if mean else Sizes.fixed)(prompt, output)
    arrivals: dict[str, Any]
    if batch:
        users = _count(batch)
        if "static" in row["notes"]:
            arrivals = {"kind": "trace", "seconds": [0.0] * users}
            return replica.simulated(arrivals, sizes=sizes, requests=users)
        return replica.closed_loop(users, sizes=sizes)
    offered = _OFFERED.search(row["notes"])
    if offered:
        requests = int(offered[1])
        arrivals = (
            {"kind": "trace", "seconds": [0.0] * requests}
            if offered[2] == "INF"
            else {"kind": "poisson", "per_second": float(offered[2])}
        )
        return replica.simulated(arrivals, sizes=sizes, requests=requests)
    room = replica.cached_tokens(context=prompt + output) // (prompt + output)
    users = max(min(_SATURATED * room, _MOST_USERS), 1)
    arrivals = {"kind": "closed", "users": users, "think_seconds": 0.0}
    stated = _REQUESTS.search(row["notes"])
    requests = int(stated[1]) if stated else _ROUNDS * users
    return replica.simulated(
        arrivals,
        sizes=sizes,
        requests=max(min(requests, _ROUNDS * users), users),
        engine=_SATURATED_ENGINE,
    )


def _of_report(row: Row, metric: str, report: Mapping[str, Any], tokens: int) -> float:
    if metric in ("ttft", "tpot"):
        seconds = report[f"{metric}_seconds"]["mean"]
        if seconds is None:
            message = "no request has a second token"
            raise UnpredictableError(message)
        return float(seconds) * _MILLI
    outputs = float(report["tokens_per_second"])
    answer = tokens - int(float(row["isl"]))
    if row["metric"] == "requests_s":
        return outputs / answer
    if row["metric"] == "total_tok_s":
        return outputs * tokens / answer
    return outputs


def _count(text: str) -> int:
    return max(int(float(text)), 1) if text else 1
