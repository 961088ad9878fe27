"""Results of every tool, held against a plan: kept, broken, or not told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from benchmarks import ASKED, TOOLS, prometheus, vllm

import planopt
from planopt.errors import InputError
from planopt.exchange.accept import accept
from planopt.exchange.results import read_result

if TYPE_CHECKING:
    from pathlib import Path


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
    "endless": json.dumps({**json.loads(vllm(1, 1)), "mean_tpot_ms": float("inf")}),
    "a limit": prometheus(1, 1).replace('"le": "+Inf"', '"le": "far"'),
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
