"""Twenty minutes of what is worth measuring: rented, measured, fitted, asked again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks import vllm

import planopt
from planopt.catalog.open import open_catalog
from planopt.cli import main
from planopt.errors import InputError
from planopt.exchange.export import BENCHMARK, CONFIGURATION, README
from planopt.exchange.fitting import Machine, fit
from planopt.exchange.measuring import SECONDS, configuration, export_measurement

if TYPE_CHECKING:
    from planopt.documents.plan import PlanDocument


@pytest.fixture(scope="module")
def plan() -> planopt.Plan:
    return planopt.solve(
        "qwen2.5-32b",
        target="40tok/s",
        load="steady",
        concurrency=32,
        accelerators=["l40s", "a100-sxm-80", "rtx-pro-6000-blackwell-server"],
        scenarios=20,
        engine="vllm",
    )


def run(script: str, on: dict[str, Any], world: Path) -> dict[str, dict[str, Any]]:
    """What the benchmark saves on machines that are other than planopt thinks."""
    saved = {}
    for text in script.split("vllm bench serve")[1:]:
        words = dict(re.findall(r"--(\S+) (\S+)", text))
        users = int(words["max-concurrency"])
        sizes = {key: int(words[f"random-{key}put-len"]) for key in ("in", "out")}
        found = planopt.evaluate_serving(
            **on,
            concurrency=users,
            load="benchmark",
            isl=sizes["in"],
            osl=sizes["out"],
            assumptions=str(world),
        )
        requests = int(words["num-prompts"])
        assert requests >= 2 * users
        load = found.under_load
        assert load is not None
        assert load.requests_per_second is not None
        assert requests / load.requests_per_second < 1.5 * SECONDS + 60
        told = json.loads(vllm(1.0, 1.0))
        told |= {"request_rate": "inf", "max_concurrency": users}
        told |= {"completed": requests, "num_prompts": requests}
        told |= {
            f"total_{key}put_tokens": each * requests for key, each in sizes.items()
        }
        for name, of in (("ttft", found.ttft_seconds), ("tpot", found.tpot_seconds)):
            for key, value in (("mean", of.mean), ("median", of.p50)):
                assert value is not None
                told[f"{key}_{name}_ms"] = 1e3 * value
        saved[words["result-filename"]] = told
    return saved


def test_what_was_rented_changes_what_is_asked_next(
    plan: planopt.Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = plan.worth_measuring[0]
    plan.save(tmp_path / "plan.json")
    rented = tmp_path / "rented"
    asked = ["export", str(tmp_path / "plan.json"), "--to", "vllm", "--measure"]
    with pytest.raises(SystemExit) as left:
        main([*asked, "--out", str(rented)])
    assert left.value.code == 0
    assert str(rented / BENCHMARK) in capsys.readouterr().out
    on: Any = configuration(str(rented / CONFIGURATION))
    assert on["accelerator"] == first.accelerator
    catalog = open_catalog()
    base = Path(catalog.show("assumptions", "calibrated").file).read_text("utf-8")
    machine = Machine(base, catalog, first.accelerator, "vllm")
    world = tmp_path / "measured.toml"
    world.write_text(machine.text({"bandwidth": 0.8}, "made up", "2026-11-24"))
    saved = run((rented / BENCHMARK).read_text("utf-8"), on, world)
    for name, told in saved.items():
        (rented / name).write_text(json.dumps(told))
    readme = (rented / README).read_text("utf-8")
    assert all(f"--from {name}" in readme for name in saved)

    found = fit(
        results=[str(rented / name) for name in saved],
        plan=[str(rented / CONFIGURATION)],
        out=str(tmp_path / "measured"),
    )

    told = {each.name: each.factor for each in found.factors}
    assert told["bandwidth"] == pytest.approx(0.8, rel=0.01)
    speeds = [
        planopt.evaluate_serving(**on, batch=32, load="steady", **by).decode
        for by in (
            {"assumptions": str(world)},
            {"catalog": [str(tmp_path / "measured")], "assumptions": "measured"},
        )
    ]
    one, other = (each.tpot_seconds or 0.0 for each in speeds)
    assert one == pytest.approx(other, rel=0.01)


def test_a_plan_that_names_nothing_is_refused(plan: planopt.Plan) -> None:
    known: PlanDocument = planopt.solve(
        model="llama-3.1-8b", target="20tok/s", load="steady", accelerators="rtx-4090"
    )
    with pytest.raises(InputError) as refused:
        export_measurement(known, "vllm")
    (problem,) = refused.value.diagnostics
    assert (problem.code, problem.field) == ("E301", "--measure")
    with pytest.raises(InputError) as refused:
        export_measurement(plan, "skypilot")
    assert refused.value.diagnostics[0].code == "E303"
