"""Results of every tool, held against a plan: kept, broken, or not told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import planopt
from planopt.errors import InputError
from planopt.exchange.accept import accept
from planopt.exchange.results import read_result

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ASKED = {"tpot": 0.05, "ttft": 5.0}


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("plan") / "plan.json"
    document = planopt.solve(
        model="llama-3.1-8b",
        accelerators="rtx-4090",
        host="pcie-4gpu",
        target="20tok/s",
        ttft="5s",
        request_rate="1/s",
        load="open",
    )
    document.save(file)
    told = {each.name: each.asked for each in document.promises}
    assert told == {**ASKED, "request_rate": 1}
    return str(file)


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


@pytest.mark.parametrize("tool", TOOLS)
def test_a_result_of_each_tool_keeps_or_breaks(
    tool: str, plan: str, tmp_path: Path
) -> None:
    file = tmp_path / "result"
    for late, rate, outcome in ((0.8, 1.0, "kept"), (2.6, 1.0, "broken")):
        file.write_text(TOOLS[tool](late, rate))
        found = accept(plan, str(file))
        assert found.tool == tool
        assert {each.name: each.outcome for each in found.promises} == {
            "tpot": outcome,
            "ttft": outcome,
            "request_rate": "kept",
        }
        assert found.outcome == outcome
    file.write_text(TOOLS[tool](0.8, 0.5))
    assert accept(plan, str(file)).outcome == "broken"


def test_the_margin_and_the_term_that_is_off_are_told(
    plan: str, tmp_path: Path
) -> None:
    file = tmp_path / "result.json"
    file.write_text(vllm(1.5, 1.0))
    found = accept(plan, str(file))
    tpot = next(each for each in found.promises if each.name == "tpot")
    assert tpot.at_least == tpot.at_most == pytest.approx(0.075)
    assert tpot.off == pytest.approx(-0.5)
    decode = next(each for each in found.terms if each.name == "decode")
    assert decode.measured_seconds == pytest.approx(0.4 * 0.075)
    assert decode.most_of_it == "memory_seconds"
    assert found.off is not None


def test_failed_requests_are_late(plan: str, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    told = json.loads(vllm(0.8, 1.0))
    for failed, outcome in ((1, "kept"), (4, "open"), (6, "broken")):
        # Of 1 in 100, the p96 of the others counts; of 4, the p99; of 6, none.
        told.update(failed=failed, completed=100 - failed)
        if failed == 4:
            told["p99_tpot_ms"] = 60.0
        file.write_text(json.dumps(told))
        found = accept(plan, str(file))
        assert found.outcome == outcome
        assert found.failed == failed / 100
        assert "late" in found.remarks[0]


def test_what_is_missing_is_named_and_open(plan: str, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    told = {
        name: value
        for name, value in json.loads(vllm(0.8, 1.0)).items()
        if "tpot" not in name
    }
    file.write_text(json.dumps(told))
    found = accept(plan, str(file))
    tpot = next(each for each in found.promises if each.name == "tpot")
    assert (found.outcome, tpot.outcome) == ("open", "open")
    assert tpot.why is not None
    assert "mean_tpot_ms" in tpot.why


def test_one_sequence_alone_can_break_a_promise_and_keep_none(
    plan: str, tmp_path: Path
) -> None:
    file = tmp_path / "bench.json"
    for rate, outcome in ((200.0, "open"), (10.0, "broken")):
        rows = [
            {"n_prompt": 512, "n_gen": 0, "avg_ts": 4000.0},
            {"n_prompt": 0, "n_gen": 128, "avg_ts": rate},
        ]
        file.write_text(json.dumps(rows))
        found = accept(plan, str(file))
        tpot = next(each for each in found.promises if each.name == "tpot")
        assert (tpot.outcome, found.tool) == (outcome, "llama-bench")


def test_an_mlperf_log_is_held_against_a_run(tmp_path: Path) -> None:
    run = planopt.train(
        model="llama-3.1-8b", tokens="1B", deadline="90d", accelerators="rtx-4090"
    )
    saved, file = tmp_path / "plan.json", tmp_path / "log"
    run.save(saved)
    step = run.deployments[0].evaluation.step_seconds
    assert step is not None
    for ratio, outcome in ((1.0, "kept"), (1000.0, "broken")):
        entry = {"key": "tracked_stats", "value": {"train_step_time": step * ratio}}
        file.write_text(f"noise\n:::MLLOG {json.dumps(entry)}\n")
        found = accept(str(saved), str(file))
        assert (found.outcome, found.terms[0].name) == (outcome, "step")
        assert found.terms[0].ratio == pytest.approx(ratio)


HOSTILE = {
    "empty": "",
    "nothing known": "{}",
    "a list": "[[[]]]",
    "deep": "[" * 100_000,
    "a word": json.dumps({**json.loads(vllm(1, 1)), "p95_tpot_ms": "fast"}),
    "NaN": vllm(1, 1).replace('"completed": 100', '"completed": NaN'),
    "negative": json.dumps({**json.loads(vllm(1, 1)), "mean_ttft_ms": -1}),
    "a flag": json.dumps({**json.loads(vllm(1, 1)), "num_prompts": True}),
    "a table": json.dumps({**json.loads(vllm(1, 1)), "failed": {}}),
}


@pytest.mark.parametrize("content", HOSTILE)
def test_what_is_no_result_is_refused(content: str, plan: str, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text(HOSTILE[content])
    with pytest.raises(InputError) as refused:
        accept(plan, str(file))
    (problem,) = refused.value.diagnostics
    assert problem.code == "E305"
    assert str(file) in str(problem.value)


def test_a_file_that_is_not_there_is_refused(plan: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        accept(plan, str(tmp_path / "none.json"))
    assert refused.value.diagnostics[0].code == "E006"


def test_ranges_of_several_servers_add_up(tmp_path: Path) -> None:
    once = json.loads(prometheus(1.0, 1.0))
    once["data"]["result"] *= 2
    file = tmp_path / "range.json"
    file.write_text(json.dumps(once))
    read = read_result(str(file))
    assert read.counts["request_rate"] == pytest.approx(2.0)
    assert read.times["ttft"].at(95) == (2.0, 5.0)
    assert read.times["tpot"].mean == pytest.approx(0.025)
