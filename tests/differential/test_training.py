"""The compiled core against the reference written from docs/reference/training.md.

Every number of a training evaluation, on random candidates, to 1e-9. Not covered: bills
of materials and what follows from their prices (cost, dollars, energy of a run), hosts
and links that the core chooses by itself, and the numbers inside of rejections.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from differing import differential
from hypothesis import given
from hypothesis import strategies as st

from planopt.catalog.open import bundled_folder, open_catalog
from planopt.toml import tomllib
from planopt_reference import Facts
from planopt_reference.facts import FactError
from planopt_reference.training import evaluate_training

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog

Pick = Callable[[Sequence[Any]], Any]

# Models with the operations that no model of the bundled catalog has.
MADE_UP = Path(__file__).parent / "catalog"
RELATIVE = 1e-9
# Parts of a step that are differences of larger ones are 0 to this share of the step.
OF_THE_STEP = 1e-12

# Every overlap at work, the hops and collectives of the seed article: terms that the
# bundled assumptions set to 0, or never use, count here.
OTHERWISE = {
    'id = "calibrated"': 'id = "otherwise"',
    "tensor_overlap = { value = 0.0,": "tensor_overlap = { value = 0.3,",
    "pipeline_overlap = { value = 0.0,": "pipeline_overlap = { value = 0.4,",
    "context_overlap = { value = 0.9,": "context_overlap = { value = 0.2,",
    "offload_overlap = { value = 0.9,": "offload_overlap = { value = 0.1,",
    "data_overlap = { value = 0.9,": "data_overlap = { value = 0.05,",
    'hop_payload = "scattered"': 'hop_payload = "full"',
    'all_reduce = "ring"': 'all_reduce = "transfer"',
}

COMPARED = (
    "feasible",
    "memory",
    "step_seconds",
    "compute_seconds",
    "bubble_seconds",
    "exposed_communication_seconds",
    "step",
    "tokens_per_second",
    "tokens_per_second_per_accelerator",
    "model_tflops_per_accelerator",
    "mfu",
    "hfu",
    "model_flops",
    "goodput",
    "failures",
    "days",
    "run",
    "accelerators",
    "hosts",
    "micro_batches",
    "global_batch",
    "seq_len",
    "mtp_modules",
    "expert_data_parallel",
)


class Sides:
    """The compiled core and the reference, with the same catalogs and assumptions."""

    def __init__(self, assumptions: str) -> None:
        self.core: Catalog = open_catalog([str(MADE_UP)], assumptions)
        self.reference = Facts(bundled_folder(), [MADE_UP], assumptions=assumptions)

    def ids(self, kind: str) -> list[str]:
        return [entity.id for entity in self.core.list(kind)]

    def networks_of(self, accelerator: str) -> list[str]:
        """Networks whose NICs hosts of an accelerator have slots for."""
        own = self.reference.accelerator(accelerator).pcie_generation or 0
        of_all = {id_: self.reference.network(id_) for id_ in self.ids("networks")}
        return [id_ for id_, net in of_all.items() if net.nic.pcie_generation <= own]

    def hosts_for(self, accelerator: str) -> list[str]:
        """Hosts with room and power for one of an accelerator, mostly an HGX host."""
        fit = [host for host in self.ids("hosts") if self._holds(host, accelerator)]
        return [*(["hgx-8"] * 2 if "hgx-8" in fit else []), *fit]

    def _holds(self, host: str, accelerator: str) -> bool:
        try:
            self.reference.host_for(host, accelerator)
        except FactError:
            return False
        return True


@cache
def calibrated() -> Sides:
    return Sides("calibrated")


@pytest.fixture(scope="module")
def otherwise(tmp_path_factory: pytest.TempPathFactory) -> Sides:
    """The calibrated assumptions with other choices."""
    bundled = bundled_folder() / "assumptions" / "calibrated.toml"
    text = bundled.read_text(encoding="utf-8")
    for stated, other in OTHERWISE.items():
        assert text.count(stated) == 1, stated
        text = text.replace(stated, other)
    path: Path = tmp_path_factory.mktemp("assumptions") / "otherwise.toml"
    path.write_text(text, encoding="utf-8")
    return Sides(str(path))


def _often(pick: Pick, usual: Sequence[Any], odd: Sequence[Any]) -> Any:
    """Pick what works, and now and then what may not."""
    return pick(odd if pick(range(20)) == 0 else usual)


def _divisors(number: int, largest: int) -> list[int]:
    return [one for one in range(1, min(number, largest) + 1) if number % one == 0]


def _common(numbers: Sequence[int], largest: int) -> list[int]:
    return [
        one
        for one in range(1, largest + 1)
        if all(number % one == 0 for number in numbers)
    ]


def hardware(pick: Pick, side: Sides) -> dict[str, Any]:
    """Make up a cluster of hosts that take the card: most have a network."""
    accelerator = pick(side.ids("accelerators"))
    asked = {
        "accelerator": accelerator,
        "host": pick(side.hosts_for(accelerator)),
        "network": _often(pick, side.networks_of(accelerator), [None]),
        "nics_per_host": pick([1, 2, 4, 8]),
    }
    host = side.reference.host_for(asked["host"], accelerator)
    slots = host.slots
    if not host.whole and pick(range(4)) == 0:
        asked["accelerators_per_host"] = pick(_divisors(slots, slots))
    return asked


def layout(pick: Pick, table: dict[str, Any], slots: int) -> dict[str, Any]:
    """Make up how a model is divided."""
    heads = [
        mixer["groups" if "chunk" in mixer else "heads"]
        for block in table["block"]
        for mixer in (block["attention"], block.get("second_mixer", {"kind": "none"}))
        if mixer["kind"] != "none"
    ]
    experts = [
        block["mlp"]["experts"]
        for block in table["block"]
        if block.get("mlp", {}).get("kind") == "experts"
    ]
    of_slots = [t for t in _common(heads, 16) if slots % t == 0 or t % slots == 0]
    chunks = pick([1, 1, 1, 2, 3])
    stages = [
        p for p in _divisors(table["layers"], 16) if table["layers"] % (p * chunks) == 0
    ]
    p = (
        pick([one for one in stages if one > 1] or [2])
        if chunks > 1
        else pick([1, 1, 2, 3, 4, 8, *stages])
    )
    cp = pick([1, 1, 1, 2, 4])
    ep = pick(_common(experts, 8)) if experts else 1
    dp = pick([1, 2, 4, 8, 24]) * _often(pick, [ep], [1])
    micro_batch = pick([1, 1, 2, 4])
    return {
        "tp": _often(pick, of_slots or [1], range(1, 17)),
        "sequence_parallel": pick([False, True]),
        "pp": _often(pick, [p], range(1, 140)),
        "vpp": _often(pick, [chunks], [2, 3]),
        "schedule": pick(["1f1b", "gpipe", "zb-h1", "zb-h2", "zb-v", "dualpipe"])
        if chunks == 1 and pick([0, 1])
        else None,
        "dp": dp,
        "cp": cp,
        "context_parallel": pick(["ring", "all-to-all"]),
        "ep": _often(pick, [ep], [1, 2, 3, 5]),
        "micro_batch": micro_batch,
        "global_batch": _often(
            pick, [dp * micro_batch * p * n for n in (1, 2, 7, 16)], [None, 7]
        ),
        "recompute": pick(
            [
                *("none", "selective", "full", "block:1", "block:3", "layers:2"),
                *("layers:99", "layernorm+mla_up_proj+mlp_act+moe_act"),
                *("mlp", "moe+core_attn", "mlp_act+mlp+moe_act"),
            ]
        ),
        "shard": pick(["none", "zero1", "zero2", "zero3"]),
        "shard_group": _often(pick, [None, None, *_divisors(dp * cp, 64)], [5]),
        "offload": pick(
            [[], [], [], ["optimizer"], ["activations"], ["optimizer", "activations"]]
        ),
    }


@cache
def frameworks() -> list[str]:
    """Return those that the bundled assumptions know."""
    bundled = bundled_folder() / "assumptions" / "calibrated.toml"
    return [*tomllib.loads(bundled.read_text(encoding="utf-8"))["frameworks"]]


def recipe(pick: Pick) -> dict[str, Any]:
    """Make up how a model is trained."""
    lora_rank = pick([None, None, None, 8, 64])
    return {
        "framework": pick([None, *frameworks()]),
        "seq_len": pick([None, 512, 2048, 4096, 32_768]),
        "mtp_modules": pick([None, None, 0, 1, 3]),
        "precision": pick(["bf16", "bf16", "fp16", "fp8", "fp32"]),
        "gradients": pick(["fp32", "bf16", "fp16"]),
        "optimizer": pick(
            ["adam", "adam16bit", "adam8bit", "sgd", "adafactor", "muon"]
        ),
        "lora_rank": lora_rank,
        "lora_modules": pick([None, "all", "attention"]),
        "frozen_weights": None
        if lora_rank is None
        else pick([None, "int4", "int8", "fp8", "nvfp4"]),
        "flash_attention": pick([True, False]),
        "dropout": pick([False, True]),
        "causal": pick([True, True, False]),
        "tokens": pick([None, 1e9, 2e12]),
        "redundancy": pick([None, None, 0, 1, 20]),
        "model_flops": pick(["full", "causal", "6nd"]),
        "nominal_parameters": pick([None, 70e9]),
        "mfu": pick([None, None, None, 0.435]),
    }


def candidate(pick: Pick, side: Sides, model: str | None = None) -> dict[str, Any]:
    """Make up a candidate: most can be laid out, some are rejected."""
    model = model or pick(side.ids("models"))
    table = dict(side.reference.model_table(model))
    machine = hardware(pick, side)
    slots = machine.get("accelerators_per_host") or (
        side.reference.host(machine["host"]).slots
    )
    return {"model": model, **machine, **layout(pick, table, slots), **recipe(pick)}


def _same(found: Any, expected: Any, path: str, negligible: float) -> None:
    if isinstance(expected, dict):
        assert isinstance(found, dict), path
        for key, value in expected.items():
            _same(found[key], value, f"{path}.{key}", negligible)
    elif isinstance(expected, float | int) and not isinstance(expected, bool):
        assert isinstance(found, float | int), (path, found, expected)
        assert isclose(found, expected, rel_tol=RELATIVE, abs_tol=negligible), (
            path,
            found,
            expected,
        )
    else:
        assert found == expected, path


def assert_same(side: Sides, asked: dict[str, Any]) -> str:
    """Compare every number; returns how the candidate ended."""
    core = side.core.ask("evaluate_training", asked, dict[str, Any])
    core |= core["candidate"]
    reference = evaluate_training(side.reference, **asked)
    assert [one["code"] for one in core["rejections"]] == reference["rejections"]
    negligible = OF_THE_STEP * (reference.get("step_seconds") or 0.0)
    for key in COMPARED:
        if key in reference:
            in_step = key == "step" or key.endswith("_seconds")
            _same(core[key], reference[key], key, negligible if in_step else 0.0)
    return reference["rejections"][0] if reference["rejections"] else "feasible"


def picker(data: st.DataObject) -> Pick:
    return lambda options: data.draw(st.sampled_from(options))


@differential(1000)
@given(st.data())
def test_core_and_reference_evaluate_alike(data: st.DataObject) -> None:
    assert_same(calibrated(), candidate(picker(data), calibrated()))


@differential(500)
@given(st.data())
def test_core_and_reference_agree_on_other_assumptions(
    otherwise: Sides, data: st.DataObject
) -> None:
    assert_same(otherwise, candidate(picker(data), otherwise))


def test_core_and_reference_agree_on_leaves_with_few_uplinks() -> None:
    rng = random.Random(20261127)
    slowed = 0
    for _ in range(300):
        asked = candidate(rng.choice, calibrated())
        asked["network"] = "oversubscribed"
        if assert_same(calibrated(), asked) == "feasible":
            even = calibrated().core.ask(
                "evaluate_training", {**asked, "network": "ethernet-200g"}, dict
            )
            uneven = calibrated().core.ask("evaluate_training", asked, dict)
            assert uneven["step_seconds"] >= even["step_seconds"] * (1 - RELATIVE)
            slowed += uneven["step_seconds"] > even["step_seconds"] * (1 + RELATIVE)
    assert slowed > 10


def test_every_model_on_seeded_candidates() -> None:
    rng = random.Random(20261121)
    outcomes: dict[str, int] = {}
    models = calibrated().ids("models")
    for model in models:
        for _ in range(25):
            ended = assert_same(
                calibrated(), candidate(rng.choice, calibrated(), model)
            )
            outcomes[ended] = outcomes.get(ended, 0) + 1
    # Every way to end is among them, and no single one is nearly all of them.
    assert outcomes.keys() == {
        "feasible",
        "heads",
        "layers",
        "global_batch",
        "interleave",
        "experts",
        "context",
        "expert_ranks",
        "shard_group",
        "placement",
        "network",
        "format",
        "failures",
        "host-memory",
        "memory",
    }
    assert outcomes["feasible"] > len(models)
