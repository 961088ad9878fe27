"""Factors of one's own machines, from results that benchmarks have saved."""

from __future__ import annotations

import json
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks import TOOLS, vllm

import planopt
from planopt.catalog.open import open_catalog
from planopt.cli import main
from planopt.errors import InputError
from planopt.exchange.fitting import Machine, factors, fit
from planopt.exchange.imports import read_command
from planopt.exchange.least_squares import TELLS, Fitting
from planopt.exchange.measuring import configuration, under
from planopt.exchange.results import read_result
from planopt.toml import tomllib

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFIGURATION = {
    "model": "llama-3.1-8b",
    "accelerator": "h100-sxm",
    "engine": "vllm",
    "host": "hgx-4",
}
LENGTHS = {"isl": 512, "osl": 128}
LOADS = (1, 32)


@pytest.fixture(scope="module")
def on(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What was run, as `evaluate serving --json` writes it."""
    file = tmp_path_factory.mktemp("on") / "configuration.json"
    planopt.evaluate_serving(**CONFIGURATION, **LENGTHS, concurrency=8).save(file)  # type: ignore[arg-type]
    return str(file)


def machine() -> Machine:
    catalog = open_catalog()
    base = Path(catalog.show("assumptions", "calibrated").file).read_text("utf-8")
    return Machine(base, catalog, "h100-sxm", "vllm")


def measured(folder: Path, planted: Mapping[str, float]) -> list[str]:
    """Results of planopt itself, where machines are other than it thinks."""
    world = folder / "measured.toml"
    world.write_text(machine().text(planted, "made up", "2026-11-24"), "utf-8")
    return [result(folder, users, assumptions=str(world)) for users in LOADS]


def result(folder: Path, users: int, **changed: object) -> str:
    asked: Any = {**CONFIGURATION, **LENGTHS, "load": "benchmark", **changed}
    found = planopt.evaluate_serving(**asked, concurrency=users)
    told: dict[str, object] = json.loads(vllm(1.0, 1.0))
    told |= {"request_rate": "inf", "max_concurrency": users}
    told |= {"total_input_tokens": 51200, "total_output_tokens": 12800}
    for name, seconds in (("ttft", found.ttft_seconds), ("tpot", found.tpot_seconds)):
        for key, value in (("mean", seconds.mean), ("median", seconds.p50)):
            assert value is not None
            told[f"{key}_{name}_ms"] = 1e3 * value
    file = folder / f"result-{users}.json"
    file.write_text(json.dumps(told))
    return str(file)


@pytest.mark.parametrize(
    "planted", [{}, {"bandwidth": 0.8}, {"bandwidth": 0.9, "arithmetic": 0.7}]
)
def test_planted_factors_are_given_back(
    planted: dict[str, float], on: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"

    found = fit(results=measured(tmp_path, planted), plan=[on], out=str(out))

    told = {each.name: each.factor for each in found.factors}
    assert told == pytest.approx(planted, rel=2e-3)
    assert found.error_after < 1e-3
    assert (found.error_before > 0.02) == bool(planted)
    before = machine().text({}, "", "")
    after = (out / "assumptions" / "measured.toml").read_text("utf-8")
    written, known = tomllib.loads(after), tomllib.loads(before)
    if not planted:
        # The overlay changes nothing but who says so.
        known["sources"]["measured"] = written["sources"]["measured"]
        assert written == known
    own = written["accelerators"]["h100-sxm"]["formats"]["bf16"]
    old = known["accelerators"]["h100-sxm"]["formats"]["bf16"]
    assert own["bandwidth_efficiency"]["value"] == pytest.approx(
        old["bandwidth_efficiency"]["value"] * told.get("bandwidth", 1.0), rel=1e-3
    )


def test_what_results_do_not_tell_stays_and_is_said(on: str, tmp_path: Path) -> None:
    (one, _) = measured(tmp_path, {"requests": 1.25})
    told = json.loads(Path(one).read_text())
    alone = {name: each for name, each in told.items() if "tpot" not in name}
    Path(one).write_text(json.dumps(alone))

    found = fit(results=[one], plan=[on], out=str(tmp_path / "out"))

    (only,) = found.factors
    why = {each.name: each.why for each in found.unchanged}
    assert why.keys() == factors().keys() - {only.name}
    assert "hardly" in why["bandwidth"]
    # First tokens alone do not tell arithmetic and requests apart.
    assert only.name in {"requests", "arithmetic"}
    assert found.error_after < 1e-3
    assert f"{one} tells no TPOT" in found.remarks
    assert "nothing is left to check them by" in found.remarks[-1]


def test_no_figure_leaves_its_range(on: str, tmp_path: Path) -> None:
    """A card cannot read faster than its memory; what is left over is said."""
    results = measured(tmp_path, {})
    for file in map(Path, results):
        told = json.loads(file.read_text())
        told["median_tpot_ms"] *= 0.2
        file.write_text(json.dumps(told))

    found = fit(results=results, plan=[on], out=str(tmp_path / "out"))

    (bandwidth,) = (each for each in found.factors if each.name == "bandwidth")
    assert bandwidth.at_limit
    assert 0.05 < found.error_after < found.error_before
    text = (tmp_path / "out" / "assumptions" / "measured.toml").read_text("utf-8")
    own = tomllib.loads(text)["accelerators"]["h100-sxm"]
    assert own["formats"]["bf16"]["bandwidth_efficiency"]["value"] == 1.0
    assert open_catalog([str(tmp_path / "out")], "measured").check()


def test_overload_and_failures_are_left_out(on: str, tmp_path: Path) -> None:
    one, other = measured(tmp_path, {})
    told = json.loads(Path(one).read_text())
    lost = {"completed": 50, "failed": 50}
    Path(other).write_text(json.dumps({**told, **lost}))
    # So many come that a line grows: how long that is tells nothing of the machine.
    rate = {
        "request_rate": 1000.0,
        "request_throughput": 500.0,
        "max_concurrency": None,
    }
    Path(one).write_text(json.dumps({**told, **rate}))

    found = fit(results=[one, other], plan=[on], out=str(tmp_path / "out"))

    assert {each.figure for each in found.figures} == {"tpot"}
    assert any("overloaded" in each for each in found.remarks)
    assert any("50% of the requests failed" in each for each in found.remarks)
    with pytest.raises(InputError) as refused:
        fit(results=[other], plan=[on], out=str(tmp_path / "none"))
    assert refused.value.diagnostics[0].code == "E305"
    assert "50% of the requests failed" in (refused.value.diagnostics[0].help or "")
    assert not (tmp_path / "none").exists()


ARRIVALS: dict[str, dict[str, object]] = {
    "vLLM bench serve": {"request_rate": 1.0},
    "SGLang bench_serving": {"request_rate": 1.0},
    "GuideLLM": {"concurrency": 3},
    "AIPerf or GenAI-Perf": {"request_rate": 1.0},
    "MLPerf Inference summary": {"request_rate": 1.0},
    "Prometheus range of vLLM": {"request_rate": 1.0},
    "Prometheus range of SGLang": {"request_rate": 1.0},
}


@pytest.mark.parametrize("tool", TOOLS)
def test_the_load_is_that_of_the_result(tool: str, tmp_path: Path) -> None:
    file = tmp_path / "result"
    file.write_text(TOOLS[tool](1.0, 1.0))
    asked, _ = under(read_result(str(file)), {"people": 7, "tp": 2})
    assert asked.items() >= {**ARRIVALS[tool], "tp": 2}.items()
    assert "people" not in asked


def test_one_sequence_alone_is_a_step(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    rows = [
        {"n_prompt": 512, "n_gen": 0, "avg_ts": 4000.0},
        {"n_prompt": 0, "n_gen": 128, "avg_ts": 40.0},
    ]
    file.write_text(json.dumps(rows))
    asked, load = under(read_result(str(file)), {})
    assert asked == {"isl": 512, "osl": 128, "batch": 1, "load": "steady"}
    assert load == "1 alone, 512 + 128 tokens"


def test_a_plan_and_a_command_say_what_ran(tmp_path: Path) -> None:
    plan = planopt.solve(
        model="llama-3.1-8b",
        accelerators="h100-sxm",
        host="hgx-4",
        target="20tok/s",
        concurrency=8,
        load="steady",
        engine="vllm",
    )
    plan.save(tmp_path / "plan.json")
    (own,) = plan.deployments
    asked: Any = configuration(str(tmp_path / "plan.json"))
    again = planopt.evaluate_serving(**asked, batch=own.candidate.batch)
    assert again.decode.tpot_seconds == own.evaluation.decode.tpot_seconds
    line = "vllm serve llama-3.1-8b -tp 2 --max-num-seqs 4 --max-model-len 4096"
    heard = read_command(line, tool="vllm", accelerator="h100-sxm")
    heard.save(tmp_path / "run.json")
    said = configuration(str(tmp_path / "run.json"))
    assert said["max_sequences"] == 4
    assert said["tp"] == "2"


def wrong(results: list[str], plan: list[str], folder: Path) -> str:
    with pytest.raises(InputError) as refused:
        fit(results=results, plan=plan, out=str(folder / "never"))
    assert not (folder / "never").exists()
    return refused.value.diagnostics[0].code


def test_what_cannot_be_fitted_is_refused(on: str, tmp_path: Path) -> None:
    one, other = measured(tmp_path, {})
    empty, deep = tmp_path / "empty.json", tmp_path / "deep.json"
    empty.write_text("{}")
    deep.write_text("[" * 100_000)
    elsewhere = tmp_path / "elsewhere.json"
    asked: Any = {**CONFIGURATION, "engine": "sglang"}
    planopt.evaluate_serving(**asked).save(elsewhere)
    assert wrong([], [on], tmp_path) == "E004"
    assert wrong([one, other], [on] * 3, tmp_path) == "E004"
    assert wrong([one, other], [on, str(elsewhere)], tmp_path) == "E004"
    for file in map(str, (empty, deep)):
        assert wrong([one], [file], tmp_path) == "E301"
        assert wrong([file], [on], tmp_path) == "E305"
    assert wrong([one], [str(tmp_path / "none.json")], tmp_path) == "E006"


def test_the_answer_says_how_to_use_it(
    on: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = measured(tmp_path, {"bandwidth": 0.8})
    files = ["--from", one, "--from", other, "--plan", on]
    out = str(tmp_path / "mine")
    with pytest.raises(SystemExit) as left:
        main(["calibrate", *files, "--out", out])
    assert left.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"--catalog {out} --assumptions measured" in said
    assert "memory bandwidth reached 0.800 x" in said
    with pytest.raises(SystemExit) as left:
        main(["calibrate", *files, "--out", out, "--device", "numpy"])
    assert left.value.code == 2
    assert "--device" in capsys.readouterr().err


def test_least_squares_are_those_of_a_sheet_of_paper() -> None:
    # Logarithms 0.2 and 0.3 at (1, 0), (0, 1), (1, 1), the last off by 0.3.
    off = Fitting(
        lambda at: [
            at.get("a", 1.0),
            at.get("b", 1.0),
            at.get("a", 1.0) * at.get("b", 1.0),
        ],
        [exp(0.2), exp(0.3), exp(0.8)],
        {"a": (0.1, 10.0), "b": (0.1, 10.0)},
    )
    assert off.run() == pytest.approx({"a": exp(0.3), "b": exp(0.4)}, rel=1e-4)
    # Factors that move everything alike cannot be told apart.
    both = Fitting(
        lambda at: [at.get("a", 1.0) * at.get("b", 1.0)] * 2,
        [2.0, 2.0],
        {"a": (0.1, 10.0), "b": (0.1, 10.0)},
    )
    assert both.run() == {"a": pytest.approx(2.0)}
    assert both.uncertainty("b") > TELLS
    # What is met within noise is left alone.
    met = Fitting(lambda at: [at.get("a", 1.0)], [1.04], {"a": (0.1, 10.0)})
    assert met.run() == {}
