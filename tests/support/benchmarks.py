"""Results of every tool in its own words: late by a factor, at a rate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ASKED = {"tpot": 0.05, "ttft": 5.0}


def flat(late: float, rate: float) -> dict[str, object]:
    """What vLLM and SGLang say in the same words."""
    told: dict[str, object] = {
        "num_prompts": 100,
        "completed": 100,
        "request_rate": 1.0,
        "max_concurrency": None,
        "request_throughput": rate,
        "output_throughput": 512 * rate,
    }
    for name, asked in ASKED.items():
        seconds = asked * late
        for key, share in (("mean", 0.5), ("median", 0.4), ("p95", 1.0), ("p99", 1.1)):
            told[f"{key}_{name}_ms"] = 1e3 * seconds * share
    return told


def vllm(late: float, rate: float) -> str:
    return json.dumps({**flat(late, rate), "total_token_throughput": 1.0, "failed": 0})


def sglang(late: float, rate: float) -> str:
    # It has no p95: the p99 must do.
    told = {
        name: value
        for name, value in flat(late, rate).items()
        if not name.startswith("p95")
    }
    last = {**told, "total_output_tokens_retokenized": 1}
    return json.dumps({"an": "older run"}) + "\n" + json.dumps(last) + "\n"


def guidellm(late: float, rate: float) -> str:
    def spread(seconds: float) -> dict[str, object]:
        levels = {"p50": 0.4, "p95": 1.0, "p99": 1.1}
        told = {name: 1e3 * seconds * share for name, share in levels.items()}
        mean = {"mean": 500 * seconds, "median": 400 * seconds}
        return {"successful": {**mean, "percentiles": told}}

    counted = {"successful": 100, "errored": 0, "incomplete": 0, "total": 100}
    metrics = {
        "request_totals": counted,
        "requests_per_second": {"successful": {"mean": rate}},
        "output_tokens_per_second": {"successful": {"mean": 512 * rate}},
        "request_concurrency": {"successful": {"mean": 3.0}},
        "time_to_first_token_ms": spread(ASKED["ttft"] * late),
        "inter_token_latency_ms": spread(ASKED["tpot"] * late),
        # Counts the first token: nothing reads it.
        "time_per_output_token_ms": spread(1e6),
    }
    return json.dumps({"metadata": {}, "benchmarks": [{"metrics": metrics}]})


def aiperf(late: float, rate: float) -> str:
    def spread(seconds: float) -> dict[str, object]:
        return {
            "unit": "ms",
            "avg": 500 * seconds,
            "p50": 400 * seconds,
            "p95": 1e3 * seconds,
        }

    return json.dumps(
        {
            "request_throughput": {"unit": "requests/sec", "avg": rate},
            "output_token_throughput": {"unit": "tokens/sec", "avg": 512 * rate},
            "request_count": {"unit": "requests", "avg": 100},
            "time_to_first_token": spread(ASKED["ttft"] * late),
            "inter_token_latency": spread(ASKED["tpot"] * late),
        }
    )


def mlperf(late: float, rate: float) -> str:
    lines = [
        "Scenario : Server",
        f"Completed samples per second : {rate}",
        f"Completed tokens per second : {512 * rate}",
    ]
    for what, asked in (("first token latency", 5.0), ("time to output token", 0.05)):
        for level, share in ((50, 0.4), (95, 1.0), (99, 1.1)):
            nanoseconds = 1e9 * asked * late * share
            lines.append(f"{level}.00 percentile {what} (ns) : {nanoseconds:.0f}")
    return "\n".join(lines)


def prometheus(late: float, rate: float, engine: str = "vllm") -> str:
    tpot, requests = {
        "vllm": ("request_time_per_output_token_seconds", "request_success_total"),
        "sglang": ("inter_token_latency_seconds", "num_requests_total"),
    }[engine]

    def series(name: str, grown: float, **labels: str) -> dict[str, object]:
        values = [[0, "10"], [100, str(10 + grown)]]
        return {"metric": {"__name__": f"{engine}:{name}", **labels}, "values": values}

    result = [
        series(requests, 100 * rate),
        series("generation_tokens_total", 51200 * rate),
    ]
    for name, asked in (("time_to_first_token_seconds", 5.0), (tpot, 0.05)):
        for limit, count in ((0.4, 50), (1.0, 96), (2.0, 100)):
            le = str(asked * late * limit)
            result.append(series(f"{name}_bucket", count, le=le))
        result.append(series(f"{name}_bucket", 100, le="+Inf"))
        result.append(series(f"{name}_sum", 50 * asked * late))
        result.append(series(f"{name}_count", 100))
    return json.dumps({"status": "success", "data": {"result": result}})


TOOLS: dict[str, Callable[[float, float], str]] = {
    "vLLM bench serve": vllm,
    "SGLang bench_serving": sglang,
    "GuideLLM": guidellm,
    "AIPerf or GenAI-Perf": aiperf,
    "MLPerf Inference summary": mlperf,
    "Prometheus range of vLLM": prometheus,
    "Prometheus range of SGLang": lambda late, rate: prometheus(late, rate, "sglang"),
}
