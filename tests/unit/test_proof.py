"""`verify --proof`: all columns of a question against the certificate of its plan."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace as replace_one
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

import planopt
from planopt.documents.plan import command
from planopt.planning import proof
from planopt.planning.certificate import digest_of
from planopt.planning.proof import Proof, prove
from planopt.procurement.problem import Purchase
from planopt.procurement.purchase import buy

if TYPE_CHECKING:
    from pathlib import Path

# Types of one of its fronts would be asked of the others.
model_builder: Any = import_module("ortools.linear_solver.python.model_builder")

QUESTIONS: dict[str, dict[str, Any]] = {
    "load": {"target": "20tok/s", "concurrency": 40},
    "requests": {"request_rate": "8/s", "ttft": "4s", "target": "15tok/s"},
    "steady": {"load": "steady", "target": "30tok/s", "concurrency": 120},
    "spare": {"redundancy": "host:1", "target": "30tok/s", "concurrency": 120},
    "rented": {
        "procurement": "rent",
        "provider_class": "any",
        "target": "30tok/s",
        "concurrency": 120,
    },
}
CARDS = "rtx-4090,l40s"
NETWORK = "ethernet-25g"
FEW = 25
"""Columns that are computed again in the gate; all of them by ``make proof``."""


@pytest.fixture(autouse=True)
def _few_again(monkeypatch: pytest.MonkeyPatch) -> None:
    if "CI" in os.environ:
        monkeypatch.setattr(proof, "NEAREST", FEW)
        monkeypatch.setattr(proof, "AT_RANDOM", FEW)


def solved(**more: Any) -> planopt.Plan:
    asked = {
        "accelerators": CARDS,
        "network": NETWORK,
        "time_limit": "60s",
        "top": 1,
        **more,
    }
    plan = planopt.solve("llama-3.1-8b", **asked)
    assert plan.status == "optimal"
    return plan


def certified(plan: planopt.Plan, **changes: Any) -> planopt.Plan:
    """Change the certificate of a plan, and give it a digest of its own."""
    assert plan.certificate is not None
    changed = replace(plan.certificate, **changes)
    changed = replace(changed, digest=digest_of(plan, changed))
    return replace(plan, certificate=changed)


@pytest.fixture(scope="module")
def plan() -> planopt.Plan:
    return solved(**QUESTIONS["rented"])


@pytest.mark.slow
@pytest.mark.skipif("CI" in os.environ, reason="minutes: `make proof`")
@pytest.mark.parametrize(
    "question",
    [
        {"target": "5tok/s", "budget": 20_000},
        {"load": "steady", "target": "5tok/s", "budget": 20_000},
        {"model": "llama-3.1-8b", "target": "20tok/s", "request_rate": "2/s"},
    ],
    ids=["readme", "steady", "requests"],
)
def test_all_hardware_is_held_against_the_bound(question: dict[str, Any]) -> None:
    proven = prove(planopt.solve(**question, time_limit="60s"))
    assert proven.mismatches == ()
    assert (proven.recomputed_nearest, proven.recomputed_at_random) == (200, 2_000)


def fields(proven: Proof) -> set[str]:
    return {each.field for each in proven.mismatches}


@pytest.mark.parametrize("name", sorted(QUESTIONS))
def test_what_is_optimal_is_proven_again(name: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.mps"
    plan = solved(**QUESTIONS[name])
    proven = prove(plan, str(file))
    assert proven.mismatches == ()
    assert proven.columns > proven.affordable >= proven.left > 0
    again = min(proof.NEAREST, proven.columns)
    assert proven.recomputed_nearest == again
    at_random = min(proof.AT_RANDOM, proven.columns - again)
    assert proven.recomputed_at_random == at_random
    bound = plan.bound_usd_per_hour or plan.bound_usd
    for solver in ("sat", "highs", "scip"):
        values = [optimum(each, solver) for each in tmp_path.glob("*.mps")]
        known = [value for value in values if value is not None]
        assert min(known) == pytest.approx(bound, rel=1e-6), solver


def optimum(file: Path, solver: str) -> float | None:
    """Dollars of the best solution of a programme; none where it has none."""
    model = model_builder.Model()
    assert model.import_from_mps_file(str(file))
    with_it = model_builder.Solver(solver)
    status = with_it.solve(model)
    # CP-SAT leaves an interrupt to be the end of the process.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if status == model_builder.SolveStatus.INFEASIBLE:
        return None
    assert status == model_builder.SolveStatus.OPTIMAL
    unit = float(file.read_text().split()[4])
    return float(with_it.objective_value * unit)


def test_a_better_column_is_found(plan: planopt.Plan) -> None:
    """A plan without the best accelerator, told as if it had been looked at."""
    best = plan.deployments[0].candidate.accelerator
    others = tuple(card for card in CARDS.split(",") if card != best)
    dearer = solved(**QUESTIONS["rented"], accelerators=",".join(others))
    assert (dearer.bound_usd_per_hour or 0) > (plan.bound_usd_per_hour or 0)
    asked, typed = plan.request.accelerators, {**dearer.request.typed}
    typed["accelerators"] = CARDS
    request = replace(dearer.request, accelerators=asked, typed=typed)
    forged = replace(dearer, request=request)
    assert forged.provenance is not None
    said = replace(forged.provenance, command=command("serving", forged.request))
    forged = replace(forged, provenance=said)
    assert planopt.verify(forged), "nothing in the plan itself tells"
    found = prove(forged).mismatches
    assert "bound_usd" in {each.field for each in found}
    (better,) = (each for each in found if each.field == "bound_usd")
    assert best in str(better.expected)


def test_a_bound_for_which_the_solver_had_no_time_proves_nothing(
    plan: planopt.Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hurried(*asked: Any, **more: Any) -> Purchase:
        bought = buy(*asked, **more)
        assert bought.bound_micro_usd is not None
        return replace_one(bought, bound_micro_usd=bought.bound_micro_usd - 1)

    monkeypatch.setattr(proof, "buy", hurried)
    (missing,) = prove(plan).mismatches
    assert missing.field == "bound_usd"
    assert "no time" in missing.reason


def test_a_dual_value_that_is_too_high_is_refuted(plan: planopt.Plan) -> None:
    assert plan.certificate is not None
    dual = plan.certificate.dual_micro_usd
    assert fields(prove(certified(plan, dual_micro_usd=dual + 1))) == {
        "certificate.dual_micro_usd"
    }


def test_a_lower_dual_value_proves_as_much_and_leaves_more(plan: planopt.Plan) -> None:
    assert plan.certificate is not None
    dual = plan.certificate.dual_micro_usd
    weaker, own = prove(certified(plan, dual_micro_usd=dual // 2)), prove(plan)
    assert weaker.mismatches == ()
    assert weaker.left > own.left


def test_a_rate_that_nobody_refused_is_found_out(plan: planopt.Plan) -> None:
    assert plan.certificate is not None
    refused = plan.certificate.refused
    lower = tuple(replace(each, rate=1.0) for each in refused)
    assert {f"certificate.refused[{n}].rate" for n in range(len(refused))} <= fields(
        prove(certified(plan, refused=lower))
    )


def test_rates_that_are_left_out_leave_a_better_purchase(plan: planopt.Plan) -> None:
    assert fields(prove(certified(plan, refused=()))) & {
        "bound_usd",
        "certificate.dual_micro_usd",
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"dual_micro_usd": 1},
        {"demand": "throughput"},
        {"refused": ()},
        {"digest": "0" * 32},
    ],
)
def test_verify_refuses_a_changed_certificate(
    plan: planopt.Plan, changes: dict[str, Any]
) -> None:
    assert plan.certificate is not None
    forged = replace(plan, certificate=replace(plan.certificate, **changes))
    assert [each.field for each in planopt.verify(forged).mismatches] == [
        "certificate.digest"
    ]


def test_verify_refuses_what_is_optimal_without_a_certificate(
    plan: planopt.Plan,
) -> None:
    (missing,) = planopt.verify(replace(plan, certificate=None)).mismatches
    assert missing.field == "certificate"


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda: planopt.train("llama-2-7b", tokens="10B", deadline="30d"), "training"),
        (
            lambda: planopt.solve(
                "llama-3.1-8b", budget=20_000, objective="throughput"
            ),
            "throughput",
        ),
        (
            lambda: planopt.solve("llama-3.1-8b", target="20tok/s", budget=100),
            "infeasible",
        ),
    ],
    ids=["training", "throughput", "infeasible"],
)
def test_what_is_not_certified_says_why(ask: Any, why: str) -> None:
    with pytest.raises(planopt.InputError) as refused:
        prove(ask())
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.code == "E306"
    assert why in diagnostic.message


def test_a_plan_carries_its_certificate_as_json(plan: planopt.Plan) -> None:
    document = json.loads(plan.to_json())["certificate"]
    assert document["demand"] == "concurrency"
    assert isinstance(document["dual_micro_usd"], int)
    assert all(each["rate"] > 0 for each in document["refused"])


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "planopt", "verify", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_says_what_it_looked_at(plan: planopt.Plan, tmp_path: Path) -> None:
    file, programme = tmp_path / "plan.json", tmp_path / "plan.mps"
    file.write_text(plan.to_json())
    shown = run(str(file), "--proof", "--mps", str(programme))
    assert shown.returncode == 0, shown.stderr
    for said in ("VERIFIED", "columns of the question", "at random", " s: gathering"):
        assert said in shown.stdout
    assert optimum(programme, "sat") == pytest.approx(plan.bound_usd_per_hour, rel=1e-6)
    file.write_text(certified(plan, dual_micro_usd=10**12).to_json())
    refuted = run(str(file), "--proof", "--json")
    assert (refuted.returncode, "E307" in refuted.stderr) == (1, True)
    told = json.loads(refuted.stdout)
    assert told["verified"]
    assert told["proof"]["mismatches"]


def test_the_command_says_that_nothing_is_proven(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(planopt.train("llama-2-7b", tokens="10B", deadline="30d").to_json())
    shown = run(str(file), "--proof")
    assert (shown.returncode, "E306" in shown.stderr) == (1, True)
    assert "NOT PROVEN" in shown.stdout
    alone = run(str(file), "--mps", "plan.mps")
    assert (alone.returncode, "E005" in alone.stderr) == (2, True)
