"""Plans that were changed by hand, as hostile testing did: `verify` takes none."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from forging import forged
from planopt.catalog.open import bundled_folder
from planopt_reference import verify_plan

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def plan() -> dict[str, Any]:
    """A plan of a question that restricts accelerators, under a load."""
    answer = planopt.solve(
        "llama-3.1-8b",
        target="20tok/s",
        ttft="4s",
        request_rate="1/s",
        accelerators="l40s",
        batch=32,
        budget=100_000,
    )
    document: dict[str, Any] = json.loads(answer.to_json())
    assert document["status"] != "infeasible"
    return document


def refused(document: Any) -> str:
    """Name what does not hold."""
    return " ".join(each.field for each in verify_plan(document, bundled_folder()))


def test_the_plan_holds(plan: dict[str, Any]) -> None:
    assert refused(plan) == ""


EVALUATION = "deployments[0].evaluation"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("request.accelerators", []),
        ("request.requests_per_second", 3_000_000.0),
        ("request.concurrency", -5),
        ("request.mtp_modules", 10_000_000),
        ("request.objective", "throughput"),
        ("request.budget_usd", None),
        ("objective", "throughput"),
        (f"{EVALUATION}.ttft_seconds.p95", 1e-9),
        (f"{EVALUATION}.tpot_seconds.p95", 1e-9),
        (f"{EVALUATION}.tpot_seconds.p50", 1e-9),
        ("bill_of_materials[0].usd_per_hour", 0.01),
        ("bill_of_materials[0].unit_usd_per_hour", 0.01),
        ("request.model", "llama-2-70b"),
        ("deployments[0].model", "llama-2-70b"),
        ("request", []),
        ("deployments", []),
        ("deployments", [{}]),
    ],
)
def test_no_forgery_passes(plan: dict[str, Any], field: str, value: object) -> None:
    assert refused(forged(plan, field, value))


def test_a_request_rate_is_not_raised_with_its_promise(plan: dict[str, Any]) -> None:
    document = forged(plan, "request.requests_per_second", 3_000_000.0)
    for promise in document["promises"]:
        if promise["name"] == "request_rate":
            promise["asked"] = 3_000_000.0
    assert "requests_per_second" in refused(document)


def test_nothing_in_the_way_is_no_reason(plan: dict[str, Any]) -> None:
    document = copy.deepcopy(plan) | {
        "status": "infeasible",
        "price_usd": None,
        "deployments": [],
        "bill_of_materials": [],
        "infeasibility": {"binding": [], "nearest": [], "note": None},
    }
    assert "infeasibility" in refused(document)


def test_bounds_are_not_left_out_of_a_proof(plan: dict[str, Any]) -> None:
    document = copy.deepcopy(plan)
    document["objective"] = document["request"]["objective"] = "throughput"
    document |= {"status": "optimal", "bound_usd": None, "gap": None}
    assert refused(document)


def test_a_small_model_of_a_file_is_not_called_a_large_one(tmp_path: Path) -> None:
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 1024,
        "intermediate_size": 2816,
        "num_hidden_layers": 4,
        "num_attention_heads": 8,
        "num_key_value_heads": 8,
        "vocab_size": 32000,
        "max_position_embeddings": 4096,
        "torch_dtype": "float16",
        "tie_word_embeddings": False,
    }
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config), "utf-8")
    document = json.loads(planopt.solve(str(file), target="20tok/s").to_json())
    assert refused(document) == ""
    document["request"]["model"] = document["deployments"][0]["model"] = "llama-2-70b"
    assert "request.model" in refused(document)


def test_what_is_nested_too_deep_is_no_plan(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text("[" * 100_000, "utf-8")
    with pytest.raises(planopt.InputError):
        planopt.verify(file)
