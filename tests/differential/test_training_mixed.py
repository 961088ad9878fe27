"""Runs over several kinds of accelerator: the core against the reference, and laws."""

from __future__ import annotations

import random
from functools import cache
from math import isclose
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.catalog.open import bundled_folder, open_catalog
from planopt.errors import InputError
from planopt_reference import Facts
from planopt_reference.training import evaluate_training
from planopt_reference.training.mixed import Share, evaluate_balanced

if TYPE_CHECKING:
    from planopt.documents.training import TrainingDocument

KINDS = ("a100-sxm-80", "h100-sxm", "h200-sxm", "mi300x", "a100-sxm-40", "v100-sxm2-32")
MODELS = ("llama-2-7b", "llama-3.1-8b", "mixtral-8x7b", "deepseek-v3", "gemma-3-27b")
NETWORK = "infiniband-200g"
RELATIVE = 1e-9


@cache
def facts() -> Facts:
    return Facts(bundled_folder(), assumptions="calibrated")


def ask(run: dict[str, Any], shares: list[tuple[str, int]]) -> dict[str, Any]:
    return open_catalog().ask(
        "evaluate_mixed",
        {
            "network": NETWORK,
            **run,
            "shares": [{"accelerator": a, "accelerators": n} for a, n in shares],
        },
        dict[str, Any],
    )


def made_up(rng: random.Random) -> tuple[dict[str, Any], list[tuple[str, int]]]:
    t, d, c = rng.choice([1, 2, 4, 8]), rng.choice([1, 2, 4]), rng.choice([1, 1, 2])
    stages = [rng.choice([1, 1, 2, 3, 4]) for _ in range(rng.choice([2, 2, 3]))]
    run: dict[str, Any] = {
        "model": rng.choice(MODELS),
        "tp": t,
        "dp": d,
        "cp": c,
        "pp": sum(stages),
        "micro_batch": rng.choice([1, 2]),
        "global_batch": d * 2 * rng.choice([4, 32]),
        "seq_len": rng.choice([2048, 8192]),
        "nics_per_host": rng.choice([1, 2, 4]),
        "sequence_parallel": rng.choice([True, False]),
        "schedule": rng.choice(["1f1b", "gpipe"]),
        "recompute": rng.choice(["none", "selective", "full", "block:2", "layers:3"]),
        "shard": rng.choice(["none", "zero1", "zero2", "zero3"]),
        "mtp_modules": rng.choice([None, 1]),
        "offload": rng.choice([[], [], ["optimizer"], ["activations"]]),
    }
    kinds = rng.sample(KINDS, len(stages))
    return run, [(kind, t * d * c * p) for kind, p in zip(kinds, stages, strict=True)]


def in_order(answer: dict[str, Any]) -> list[Share]:
    """Shares in the order of the stages: the most memory first."""
    shares = sorted(
        answer["shares"],
        key=lambda share: -facts().accelerator(share["accelerator"]).memory,
    )
    names = ("accelerator", "host", "accelerators", "layers")
    return [Share(**{name: share[name] for name in names}) for share in shares]


def assert_close(found: Any, expected: Any, negligible: float) -> None:
    for name, value in expected.items():
        assert isclose(found[name], value, rel_tol=RELATIVE, abs_tol=negligible), name


def test_core_and_reference_balance_alike() -> None:
    rng = random.Random(20261121)
    compared = 0
    for _ in range(150):
        run, shares = made_up(rng)
        answer = ask(run, shares)
        balanced = answer["balanced"]
        if balanced["step_seconds"] is None:
            assert balanced["rejections"]
            continue
        compared += 1
        reference = evaluate_balanced(
            facts(), network=NETWORK, shares=in_order(answer), **run
        )
        layers = [many for share in answer["shares"] for many in share["layers"]]
        model = facts().model_table(run["model"])
        assert sum(layers) == model["layers"]
        assert min(layers) > 0
        negligible = 1e-12 * reference["step_seconds"]
        assert_close(balanced["step"], reference["step"], negligible)
        assert_close(balanced["memory"], reference["memory"], 0.0)
        assert isclose(balanced["goodput"], reference["goodput"], rel_tol=RELATIVE)
    assert compared > 100


def test_partitioned_evenly_a_run_goes_at_the_pace_of_the_slowest() -> None:
    rng = random.Random(7)
    for _ in range(40):
        run, shares = made_up(rng)
        answer = ask(run, shares)
        alone = [
            evaluate_training(
                facts(),
                accelerator=share["accelerator"],
                host=share["host"],
                network=NETWORK,
                **run,
            )
            for share in answer["shares"]
        ]
        slowest = answer["slowest"]
        if any("step_seconds" not in one for one in alone):
            assert not slowest["feasible"]
            continue
        step = max(one["step_seconds"] for one in alone)
        assert isclose(slowest["step_seconds"], step, rel_tol=RELATIVE)
        fits = all("memory" not in one["rejections"] for one in alone)
        assert fits == ("memory" not in [r["code"] for r in slowest["rejections"]])


@pytest.mark.parametrize("capacity_binds", [False, True])
def test_no_other_partition_has_a_faster_slowest_stage(capacity_binds: bool) -> None:
    # A model of one kind of layer on two stages: all partitions can be looked at.
    run: dict[str, Any] = {
        "model": "llama-2-70b" if capacity_binds else "llama-2-13b",
        "tp": 8,
        "pp": 2,
        "dp": 4,
        "global_batch": 64,
        "sequence_parallel": True,
        "shard": "zero1",
        "nics_per_host": 4,
    }
    kinds = ("a100-sxm-80", "h100-sxm" if not capacity_binds else "a100-sxm-40")
    answer = ask(run, [(kind, 32) for kind in kinds])
    first, second = in_order(answer)
    everything = first.layers[0] + second.layers[0]

    def partitioned(layers: int) -> dict[str, Any]:
        shares = [
            Share(first.accelerator, first.host, 32, [layers]),
            Share(second.accelerator, second.host, 32, [everything - layers]),
        ]
        return evaluate_balanced(facts(), network=NETWORK, shares=shares, **run)

    def fits(partition: dict[str, Any]) -> bool:
        memory = partition["memory"]
        return bool(memory["total_bytes"] <= memory["capacity_bytes"])

    partitions = [partitioned(layers) for layers in range(1, everything)]
    fitting = [partition for partition in partitions if fits(partition)]
    assert (len(fitting) < len(partitions)) == capacity_binds
    best = min(partition["slowest_stage_seconds"] for partition in fitting)
    assert answer["balanced"]["feasible"]
    assert partitioned(first.layers[0])["slowest_stage_seconds"] == best


def evaluate(accelerators: str, **changes: Any) -> TrainingDocument:
    options: dict[str, Any] = {
        "network": NETWORK,
        "tp": 8,
        "pp": 2,
        "dp": 4,
        "sequence_parallel": True,
        "shard": "zero1",
        "redundancy": 0,
        **changes,
    }
    return planopt.evaluate_training(accelerators=accelerators, **options)


def test_the_better_of_both_ways_is_evaluated() -> None:
    balanced = evaluate("a100-sxm-80:32,h100-sxm:32")
    assert balanced.mixed is not None
    assert balanced.mixed.stages == "balanced"
    other = balanced.mixed.other.step_seconds
    assert balanced.step_seconds is not None
    assert other is not None
    assert balanced.step_seconds < other
    # Twice as fast a kind has more of the layers.
    slow, fast = balanced.mixed.shares
    assert sum(fast.layers) > sum(slow.layers)
    hosts = {line.kind: line.quantity for line in balanced.bill_of_materials}
    assert hosts["host"] == 4
    # The four DGX H100 come with theirs.
    assert balanced.hardware.host == "hgx-a100-640 + dgx-h100"
    assert hosts["nic"] == 4 * balanced.hardware.nics_per_host

    uneven = evaluate("a100-sxm-80:24,h100-sxm:40")
    assert uneven.mixed is not None
    assert uneven.mixed.stages == "even"
    assert [one.code for one in uneven.mixed.other.rejections] == ["balance"]


@pytest.mark.parametrize("recompute", ["none", "selective", "full", "layers:3"])
def test_what_is_recomputed_depends_on_the_layout_alone(recompute: str) -> None:
    both = evaluate("a100-sxm-80:32,h100-sxm:32", recompute=recompute)
    alone = evaluate("h100-sxm:32,h100-sxm:32", recompute=recompute)
    assert both.mixed is not None
    assert both.mixed.stages == "balanced"
    hardware_over_model = [
        one.hfu / one.mfu for one in (both, alone) if one.hfu and one.mfu
    ]
    assert len(hardware_over_model) == 2
    assert isclose(*hardware_over_model, rel_tol=RELATIVE)
    # Of three passes of the model one is done twice, but for its head.
    whole = {"none": 1.0, "full": 4 / 3}.get(recompute, hardware_over_model[0])
    assert isclose(hardware_over_model[0], whole, rel_tol=0.01)


def test_accelerators_of_one_kind_are_no_mixture() -> None:
    alone = planopt.evaluate_training(
        accelerator="a100-sxm-80",
        network=NETWORK,
        tp=8,
        pp=2,
        dp=4,
        sequence_parallel=True,
        zero="zero1",
        redundancy=0,
    )
    both = evaluate("a100-sxm-80:32,a100-sxm-80:32")
    assert both.mixed is not None
    even = both if both.mixed.stages == "even" else both.mixed.other
    assert even.step_seconds == alone.step_seconds
    assert even.memory == alone.memory
    assert both.bill_of_materials == alone.bill_of_materials


@pytest.mark.parametrize(
    ("accelerators", "code"),
    [
        ("a100-sxm-80:32", "E003"),
        ("a100-sxm-80:32,h100-sxm", "E002"),
        ("a100-sxm-80:0,h100-sxm:64", "E003"),
        ("a100-sxm-80:32,h100-sxn:32", "E001"),
    ],
)
def test_wrong_mixtures_are_told(accelerators: str, code: str) -> None:
    with pytest.raises(InputError) as error:
        evaluate(accelerators)
    assert [problem.code for problem in error.value.diagnostics] == [code]
