"""Plans of `train` against the verifier: right ones hold, and no forged one does."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from forging import forged, other_than
from planopt.catalog.open import bundled_folder
from planopt.documents.plan import TrainingPlan
from planopt.second_opinion import schema
from planopt_reference import verify_plan
from planopt_reference.fields import figures, leaves, mark_of

if TYPE_CHECKING:
    from pathlib import Path

QUESTIONS: dict[str, dict[str, Any]] = {
    "thousands of A100": {
        "model": "llama-2-70b",
        "tokens": "2T",
        "deadline": "30d",
        "accelerators": "a100-sxm-80",
    },
    "experts": {"model": "mixtral-8x7b", "tokens": "1T", "deadline": "60d"},
    "one host": {"model": "llama-3-8b", "tokens": "1B", "deadline": "60d"},
    "the fastest": {
        "model": "llama-3-8b",
        "tokens": "100B",
        "objective": "throughput",
        "budget": 500_000,
    },
    "cards": {
        "model": "llama-2-7b",
        "tokens": "300B",
        "deadline": "90d",
        "accelerators": "rtx-4090",
    },
    "two spare hosts": {
        "model": "llama-3-8b",
        "tokens": "100B",
        "deadline": "30d",
        "accelerators": "a100-sxm-80",
        "redundancy": 2,
    },
    "rented": {
        "model": "llama-3-8b",
        "tokens": "100B",
        "deadline": "30d",
        "accelerators": "a100-sxm-80",
        "acquire": "rent",
    },
    "16-bit gradients": {
        "model": "llama-3-8b",
        "tokens": "100B",
        "deadline": "30d",
        "gradients": "bf16",
    },
    "adapters": {
        "model": "llama-3.1-70b",
        "accelerators": "rtx-pro-6000-blackwell,l40s,h100-sxm",
        "lora_rank": 16,
        "lora_modules": "attention",
        "frozen_weights": "int4",
        "tokens": "100M",
        "deadline": "2d",
        "seq_len": 2048,
        "global_batch": 64,
    },
}
# Parts of a plan that say where a price is from, or how a link is called.
SAY_NOTHING = (
    *("source", "price_date", "price_status", "used", "hardware.link"),
    *("unit_price_low_usd", "unit_price_high_usd"),
)

# The reference is slow: its tests may take longer than others on a busy machine.
pytestmark = pytest.mark.timeout(600)


@cache
def plan_of(question: str) -> dict[str, Any]:
    """Answer a question; the plan as the file that it is saved to has it."""
    document: dict[str, Any] = json.loads(
        planopt.train(**QUESTIONS[question]).to_json()
    )
    return document


@pytest.mark.parametrize("question", QUESTIONS)
def test_plans_of_train_hold(question: str) -> None:
    plan = plan_of(question)
    assert plan["deployments"]
    assert verify_plan(plan, bundled_folder()) == []


@pytest.mark.parametrize(
    ("question", "figures_at_least"),
    # What is rented has no power, no energy and one line.
    [("thousands of A100", 90), ("experts", 90), ("rented", 80)],
)
def test_no_forged_figure_holds(question: str, figures_at_least: int) -> None:
    # Alternatives are forged by test_every_leaf.py.
    plan = {**plan_of(question), "alternatives": []}
    assert verify_plan(plan, bundled_folder()) == []
    verified = figures(plan)
    assert len(verified) > figures_at_least
    for field, value in verified:
        changed = forged(plan, field, other_than(value))
        assert verify_plan(changed, bundled_folder()), field


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_figure_of_an_evaluation_is_marked_as_verified(question: str) -> None:
    (deployment,) = plan_of(question)["deployments"]
    for field, value in leaves(deployment["evaluation"], "deployments[0].evaluation"):
        # Without rejections there is nothing to verify, nor where a figure is unknown.
        # Intervals come from errors of measured rows, which nothing computes again.
        if value is not None and ".intervals." not in field:
            assert mark_of(field) == "verified", field


def test_the_schema_marks_figures_of_training() -> None:
    published = json.dumps(schema(TrainingPlan))
    assert published.count('"x-planopt": "verified"') > 60


def test_beside_figures_the_parts_of_a_deployment_hold_together() -> None:
    plan = plan_of("thousands of A100")
    tried = 0
    for field, value in leaves(plan["deployments"], "deployments"):
        if value is None or field.endswith(SAY_NOTHING) or mark_of(field) == "verified":
            continue
        if ".intervals." in field:
            continue
        tried += 1
        changed = forged(plan, field, other_than(value))
        assert verify_plan(changed, bundled_folder()), field
    assert tried > 15


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("request.model", "llama-3.1-8b"),
        ("request.tokens", 1e12),
        ("request.deadline_seconds", 1.0),
        ("request.budget_usd", 1.0),
        ("request.max_power_watts", 1.0),
        ("request.max_racks", 0.5),
        ("request.max_accelerators", 8),
        ("request.stock", {"hgx-a100-640": 1}),
        ("request.accelerators", ["b200"]),
        ("request.exclude", ["a100-sxm-80"]),
        ("request.hosts", ["dgx-b200"]),
        ("request.networks", ["ethernet-100g-e810"]),
        ("request.precision", "fp8"),
        ("request.gradients", "bf16"),
        ("request.optimizer", "sgd"),
        ("request.global_batch", 2048),
        ("request.seq_len", 2048),
        ("request.mtp_modules", 1),
        ("request.redundancy", 0),
        ("status", "feasible but unlikely"),
        ("bound_usd", 1e9),
        ("deployments", []),
    ],
)
def test_what_does_not_fit_together_does_not_hold(field: str, value: object) -> None:
    plan = plan_of("thousands of A100")
    assert verify_plan(forged(plan, field, value), bundled_folder())


@pytest.mark.parametrize(
    ("field", "value"),
    [("lora_rank", 8), ("lora_modules", "all"), ("frozen_weights", "bf16")],
)
def test_adapters_are_those_that_were_asked_for(field: str, value: object) -> None:
    plan = plan_of("adapters")
    for place in (f"deployments[0].candidate.{field}", f"request.{field}"):
        assert verify_plan(forged(plan, place, value), bundled_folder()), place
    of_all_weights = forged(plan_of("one host"), f"request.{field}", value)
    assert verify_plan(of_all_weights, bundled_folder())


def test_the_command_verifies_a_saved_plan(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan_of("one host")), encoding="utf-8")
    answer = subprocess.run(
        [sys.executable, "-m", "planopt.cli", "verify", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "VERIFIED" in answer.stdout
