"""Plans of `solve` against the verifier: right ones hold, and no forged one does."""

from __future__ import annotations

import copy
import random
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from differing import drawn

import planopt
from forging import located, set_leaf
from planopt.catalog.open import bundled_folder
from planopt_reference import verify_plan
from planopt_reference.fields import figures

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The reference is slow: its tests may take longer than others on a busy machine.
pytestmark = pytest.mark.timeout(600)

QUESTIONS: dict[str, dict[str, Any]] = {
    "the main job": {"target": "5tok/s", "budget": 20_000},
    "the article's": {
        "model": "article-70b",
        "accelerators": "rtx-4090",
        "batch": 330,
        "in_flight": 1,
        "context": 400,
        "assumptions": "article",
        "target": "5tok/s",
    },
    "port blocks": {
        "model": "article-70b",
        "accelerators": "rtx-4090",
        "host": "desktop",
        "batch": 64,
        "context": 400,
        "assumptions": "article",
        "target": "5tok/s",
    },
    "a large model": {"model": "llama-3.1-405b", "target": "5tok/s"},
    "latent attention": {"model": "deepseek-v3", "target": "20tok/s"},
    "windows": {"model": "gemma-2-27b", "target": "5tok/s", "kv": "fp8"},
    "biases and sinks": {"model": "gpt-oss-120b", "target": "30tok/s"},
    "throughput": {"model": "qwen2.5-72b", "objective": "throughput", "budget": 50_000},
    "cost per token": {
        "model": "gpt-oss-20b",
        "objective": "cost-per-token",
        "budget": 60_000,
    },
    "latency": {
        "model": "llama-3.1-8b",
        "objective": "latency",
        "budget": 10_000,
        "users": 2,
    },
    "tokens per second": {
        "model": "mixtral-8x7b",
        "target": "10tok/s",
        "throughput": "5000tok/s",
    },
    "a spare replica": {"model": "llama-3.1-8b", "target": "10tok/s", "redundancy": 1},
    "fewer bits": {
        "model": "llama-2-70b",
        "target": "5tok/s",
        "allow_quantization": "int4,fp8",
        "budget": 9000,
    },
    "two batches": {
        "model": "llama-2-70b",
        "target": "5tok/s",
        "overlap": "two-batch",
        "max_power": "2 kW",
    },
    "a data center": {
        "model": "llama-2-13b",
        "target": "5tok/s",
        "datacenter": True,
        "pcie_all_reduce": "slow",
        "kv_heads": 8,
    },
    "a board": {
        "model": "gpt-oss-120b",
        "target": "5tok/s",
        "accelerators": "h100-sxm",
    },
    "rented": {"target": "5tok/s", "acquire": "rent"},
    "rented by the hour": {
        "model": "llama-3.1-405b",
        "target": "20tok/s",
        "acquire": "rent",
        "provider": "aws",
        "budget": "100/h",
    },
    "spot": {
        "model": "llama-2-70b",
        "target": "20tok/s",
        "users": 400,
        "acquire": "rent",
        "terms": "spot",
    },
    "committed": {
        "target": "5tok/s",
        "acquire": "rent",
        "terms": "reserved",
        "provider": "gcp",
    },
    "owned or rented": {"target": "5tok/s", "acquire": "both"},
    "owned and rented": {
        "model": "llama-3.1-8b",
        "target": "10tok/s",
        "throughput": "40000tok/s",
        "accelerators": "rtx-4090,h100-sxm",
        "stock": "rtx-4090=4",
        "acquire": "both",
        "budget": 12_000,
    },
    "other money": {
        "model": "llama-2-70b",
        "target": "5tok/s",
        "acquire": "both",
        "duty": "15%",
        "electricity": "$0.30/kWh",
        "years": 5,
        "pue": 1.3,
    },
    "confident": {"model": "llama-3.1-8b", "target": "20tok/s", "confidence": "95%"},
    "nothing to buy": {"model": "llama-3.1-405b", "target": "5tok/s", "budget": 3000},
}

FORGED = ("the main job", "a board", "port blocks", "rented by the hour", "spot")

UNDER_A_LOAD = ("the main job", "windows", "a spare replica", "rented", "spot")
"""The others ask about steps, which takes a tenth of the time, unless they promise a
first token."""


@cache
def plan_of(question: str) -> dict[str, Any]:
    """Solve a question; the plan as the file that it is saved to has it."""
    asked = QUESTIONS[question]
    if question not in UNDER_A_LOAD and "ttft" not in asked:
        asked = {**asked, "load": "steady"}
    text = planopt.solve(**asked).to_json()
    document: dict[str, Any] = msgspec.json.decode(text)
    return document


@pytest.mark.parametrize("question", QUESTIONS)
def test_plans_of_solve_hold(question: str) -> None:
    plan = plan_of(question)
    assert verify_plan(plan, bundled_folder()) == []
    assert (plan["status"] == "infeasible") == (question == "nothing to buy")


def test_a_model_file_is_not_needed_to_verify(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(
        """{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
        "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32,
        "vocab_size": 128256, "torch_dtype": "bfloat16", "rms_norm_eps": 1e-5,
        "tie_word_embeddings": false, "max_position_embeddings": 8192}""",
        encoding="utf-8",
    )
    solved = planopt.solve(model=str(config), target="5tok/s")
    plan = msgspec.json.decode(solved.to_json())
    config.unlink()
    assert verify_plan(plan, bundled_folder()) == []
    plan["request"]["architecture"]["layers"] = 31
    plan["request"]["architecture"]["layer_blocks"].pop()
    assert verify_plan(plan, bundled_folder()) != []


def chosen_of(question: str) -> dict[str, Any]:
    """Return a plan without its alternatives, which test_every_leaf.py forges."""
    plan = {**plan_of(question), "alternatives": []}
    assert verify_plan(plan, bundled_folder()) == []
    return plan


def forgeries(value: object, rng: random.Random) -> Iterator[object]:
    """Return what a leaf could be forged to, near and far."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, max(value - 1, -1), value * 7 + 3, None)
    elif isinstance(value, float):
        near = rng.choice([-1, 1]) * 1e-6 * (1 + abs(value))
        yield from (value + near, -value - 1, None)
    elif isinstance(value, str):
        yield from (f"{value}x", value[1:], None)
    elif value is None:
        yield from (0.5, "something")
    else:
        yield ["something"]


@pytest.mark.parametrize("question", FORGED)
def test_no_forged_figure_holds(question: str) -> None:
    plan, rng = chosen_of(question), random.Random(question)
    verified = figures(plan)
    assert len(verified) > 45
    for field, value in verified:
        ways = [forged for forged in forgeries(value, rng) if forged != value]
        for forged in drawn(ways, rng):
            copied = copy.deepcopy(plan)
            set_leaf(copied, field, forged)
            assert verify_plan(copied, bundled_folder()), f"{field} = {forged!r} held"


@pytest.mark.parametrize("question", FORGED)
def test_no_verified_figure_can_be_left_out(question: str) -> None:
    plan = chosen_of(question)
    for field, value in figures(plan):
        if value in ([], {}):
            continue
        copied = copy.deepcopy(plan)
        holder, key = located(copied, field)
        del holder[key]
        assert verify_plan(copied, bundled_folder()), f"held without {field}"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status", "feasible but unlikely"),
        ("bound_usd", 1e9),
        ("bound_usd", None),
        ("gap", 0.5),
        ("request.model", "llama-3.1-8b"),
        ("request.context_tokens", 100_000),
        ("request.prompt_tokens", 1),
        ("request.kv_heads", 64),
        ("request.concurrency", 10_000),
        ("request.target_tokens_per_second", 1e4),
        ("request.throughput_tokens_per_second", 1e9),
        ("request.ttft_seconds", 1e-6),
        ("request.budget_usd", 1.0),
        ("request.max_power_watts", 1.0),
        ("request.max_accelerators", 0),
        ("request.redundancy", {"host": 5}),
        ("request.weights", "int4"),
        ("request.kv", "fp8"),
        ("request.overlap", "two-batch"),
        ("request.batch", 12_345),
        ("request.in_flight", 99),
        ("request.accelerators", ["b200"]),
        ("request.hosts", ["dgx-b200"]),
        ("deployments[0].model", "llama-3.1-8b"),
        ("deployments[0].candidate.tp", 3),
        ("deployments[0].candidate.pp", 0),
        ("deployments[0].candidate.dp", 2),
        ("deployments[0].candidate.batch", 10**9),
        ("deployments[0].candidate.in_flight", 0),
        ("deployments[0].candidate.weights", "int4"),
        ("deployments[0].candidate.accelerator", "b200"),
        ("deployments[0].hardware.host", "dgx-b200"),
        ("deployments[0].hardware.switch_count", 7),
        ("deployments[0].units", 10**12),
        ("deployments[0].replicas", 10**12),
    ],
)
def test_what_does_not_fit_together_does_not_hold(field: str, value: object) -> None:
    copied = copy.deepcopy(plan_of("the main job"))
    set_leaf(copied, field, value)
    assert verify_plan(copied, bundled_folder())


def test_a_plan_of_much_confidence_must_clear_its_target() -> None:
    plan = copy.deepcopy(plan_of("confident"))
    speed = plan["deployments"][0]["evaluation"]["decode"]["tokens_per_second_per_user"]
    plan["request"]["target_tokens_per_second"] = speed * 0.9
    plan["request"]["typed"] = {}
    target = "request.target_tokens_per_second"
    assert target in {each.field for each in verify_plan(plan, bundled_folder())}
    plan["request"]["confidence"] = None
    # What was promised still says otherwise.
    assert target not in {each.field for each in verify_plan(plan, bundled_folder())}


def test_an_accelerator_that_was_excluded_does_not_hold() -> None:
    copied = copy.deepcopy(plan_of("the main job"))
    accelerator = copied["deployments"][0]["candidate"]["accelerator"]
    copied["request"]["exclude"] = [accelerator]
    (found,) = verify_plan(copied, bundled_folder())
    assert found.field == "deployments[0].candidate.accelerator"
    copied["request"]["exclude"] = []
    copied["request"]["stock"] = {accelerator: 0}
    (found,) = verify_plan(copied, bundled_folder())
    assert found.field == f"request.stock.{accelerator}"
