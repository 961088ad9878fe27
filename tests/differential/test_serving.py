"""The compiled core against the reference written from docs/reference/model.md alone.

Every number of an evaluation and of a purchase, on random candidates, to 1e-9.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import pytest
from differing import differential
from hypothesis import given
from hypothesis import strategies as st

from planopt.catalog.open import Catalog, bundled_folder, open_catalog
from planopt_reference import Facts, evaluate_serving
from planopt_reference.cost import cost_table
from planopt_reference.facts import FactError
from planopt_reference.mismatch import compared
from planopt_reference.purchase import PurchaseError, Unit, unit

_T = TypeVar("_T")
Pick = Callable[[Sequence[Any]], Any]

ASSUMPTIONS = ("calibrated", "article")
# Models with the operations that no model of the bundled catalog has.
MADE_UP = Path(__file__).parent / "catalog"
PCIE_CLASSES = (None, "default", "slow", "good")
ENGINES = ("vllm", "sglang", "trtllm")
SIDES: tuple[tuple[str, str | None, str | None], ...] = (
    *((name, pcie, None) for name in ASSUMPTIONS for pcie in PCIE_CLASSES),
    *(("calibrated", None, engine) for engine in ENGINES),
)
"""Assumptions, class of PCIe all-reduce, and engine."""
FORMATS = (
    *("fp32", "bf16", "fp16", "fp8", "int8", "int4", "mxfp4", "nvfp4"),
    *("w4a8", "fp8-2:4"),
)

# The reference is slow: its tests may take longer than others on a busy machine.
pytestmark = pytest.mark.timeout(600)


@dataclass(frozen=True)
class Sides:
    """The compiled core and the reference, with the same catalogs and assumptions."""

    core: Catalog
    reference: Facts
    pcie_all_reduce: str | None
    engine: str | None

    def ids(self, kind: str) -> list[str]:
        return _ids(self.core.assumptions, kind)

    def carries_a_state(self, model: str) -> bool:
        return any("chunk" in mixer for mixer in self.mixers(model))

    def mixers(self, model: str) -> list[dict[str, Any]]:
        """All that mixes tokens in the kinds of layer of a model."""
        blocks = self.reference.model_table(model)["block"]
        mixers = [
            block[key]
            for block in blocks
            for key in ("attention", "second_mixer")
            if key in block
        ]
        return [mixer for mixer in mixers if mixer["kind"] != "none"]

    def hosts_for(self, accelerator: str) -> list[str]:
        """Hosts with room and power for one of an accelerator: others are refused."""
        return [host for host in self.ids("hosts") if self._holds(host, accelerator)]

    def networks_of(self, accelerator: str) -> list[str]:
        """Networks whose NICs hosts of an accelerator have slots for."""
        own = self.reference.accelerator(accelerator).pcie_generation or 0
        of_all = {id_: self.reference.network(id_) for id_ in self.ids("networks")}
        return [id_ for id_, net in of_all.items() if net.nic.pcie_generation <= own]

    def _holds(self, host: str, accelerator: str) -> bool:
        try:
            self.reference.host_for(host, accelerator)
        except FactError:
            return False
        return True

    @cached_property
    def fits(self) -> list[tuple[str, str]]:
        """Accelerators and hosts that can be bought together."""
        return [
            (accelerator, host)
            for accelerator in self.ids("accelerators")
            for host in self.ids("hosts")
            if self._can_be_bought(accelerator, host)
        ]

    def _can_be_bought(self, accelerator: str, host: str) -> bool:
        card, machine = (
            self.reference.accelerator(accelerator),
            self.reference.host(host),
        )
        if machine.price is None or card.power is None:
            return False
        if machine.included_accelerator is not None:
            return machine.included_accelerator == accelerator
        return card.price is not None and card.form_factor in machine.form_factors

    def core_evaluation(self, candidate: dict[str, Any], replicas: int = 1) -> Any:
        own = dict(candidate)
        layers, to = own.pop("offload", None), own.pop("offload_to", None)
        request = {
            **own,
            "replicas": replicas,
            "pcie_all_reduce": self.pcie_all_reduce,
            "engine": self.engine,
            "offload": None if layers is None else {"layers": layers, "to": to},
        }
        return self.core.ask("evaluate_serving", request, dict[str, Any])


@cache
def _ids(assumptions: str, kind: str) -> list[str]:
    listed = open_catalog([str(MADE_UP)], assumptions).list(kind)
    return [entity.id for entity in listed]


@cache
def sides(
    assumptions: str, pcie_all_reduce: str | None = None, engine: str | None = None
) -> Sides:
    facts = Facts(
        bundled_folder(),
        [MADE_UP],
        assumptions=assumptions,
        pcie_all_reduce=pcie_all_reduce,
        engine=engine,
    )
    return Sides(
        open_catalog([str(MADE_UP)], assumptions), facts, pcie_all_reduce, engine
    )


def any_sides(pick: Pick) -> Sides:
    return sides(*pick(SIDES))


def _heads_and_layers(side: Sides, model: str) -> tuple[list[int], int, bool]:
    mixers = side.mixers(model)
    heads = [each["groups" if "chunk" in each else "heads"] for each in mixers]
    grouped = all(each["kind"] == "grouped" for each in mixers)
    return heads, side.reference.model_table(model)["layers"], grouped


def _has_experts(side: Sides, model: str) -> bool:
    blocks = side.reference.model_table(model)["block"]
    return any(block.get("mlp", {}).get("kind") == "experts" for block in blocks)


DRAFTS = ("llama-3.2-1b", "gemma-2-9b", "deepseek-v2-lite")
"""Grouped heads, sliding windows, latent attention with experts."""


def _often(pick: Pick, usual: Sequence[_T], odd: Sequence[_T]) -> _T:
    """Pick what works, and now and then what may not."""
    chosen: _T = pick(odd if pick(range(8)) == 0 else usual)
    return chosen


def candidate(pick: Pick, side: Sides, model: str | None = None) -> dict[str, Any]:
    """Make up a candidate: most can be laid out, some are rejected."""
    model = model or pick(side.ids("models"))
    heads, layers, grouped = _heads_and_layers(side, model)
    divisors = [t for t in range(1, 33) if all(h % t == 0 for h in heads)]
    shared = [g for g in (1, 2, 4, 8, 16) if all(h % g == 0 for h in heads)]
    accelerator = pick(side.ids("accelerators"))
    host = pick(side.hosts_for(accelerator))
    overlap = pick(["none", "none", "two-batch"])
    stateful = side.carries_a_state(model)
    return {
        "model": model,
        "accelerator": accelerator,
        "host": host,
        "network": pick([*side.networks_of(accelerator), None]),
        "nics_per_host": pick([1, 1, 2, 4, 8]),
        "tp": _often(pick, divisors, range(1, 33)),
        **_groups(pick, whole=stateful or _has_an_indexer(side, model)),
        "ep": _often(pick, [1, 2, 4, 8] if _has_experts(side, model) else [1], (2, 3)),
        "pp": _often(
            pick, [p for p in (1, 2, 3, 5, 8, 13) if p <= layers], range(1, 99)
        ),
        "in_flight": pick([1, 2, 3, 8]),
        "batch": pick([1, 2, 3, 7, 16, 33, 128, 400]),
        "context": pick([1, 16, 17, 400, 2048, 5000, 32_768]),
        "prompt": pick([1, 100, 512, 4097, 9000]),
        "weights": pick([None, None, *FORMATS]),
        "kv": pick([None, None, *FORMATS]),
        "overlap": overlap,
        "kv_heads": pick([None, None, *shared]) if grouped else None,
        **({} if stateful else drafting(pick, side, model)),
        **(offloading(pick, side, host) if overlap == "none" else {}),
        **adapting(pick),
        **seeing(pick),
    }


def _has_an_indexer(side: Sides, model: str) -> bool:
    return any("indexer" in mixer for mixer in side.mixers(model))


def _groups(pick: Pick, *, whole: bool) -> dict[str, int]:
    """Pick ranks that divide contexts, unless they are whole, or groups."""
    cp = 1 if whole else pick([1, 1, 1, 2, 3, 8])
    return {"cp": cp, "dp": 1 if cp > 1 else _often(pick, [1, 1, 2, 4], range(1, 9))}


def drafting(pick: Pick, side: Sides, model: str) -> dict[str, Any]:
    """Make up speculative decoding now and then, by what the model allows."""
    own = ["mtp"] if side.reference.model_table(model).get("mtp_modules") else []
    draft = pick([None, None, None, *own, *DRAFTS])
    tokens = pick([1, 2, 5]) if draft else 0
    return {
        "draft": draft,
        "draft_tokens": tokens,
        "acceptance": pick([0.3, 0.85, 1.0]) if draft else 0.0,
    }


def adapting(pick: Pick) -> dict[str, Any]:
    """Put adapters of low rank beside the products now and then."""
    adapters = pick([0, 0, 0, 1, 5, 64, 1000])
    return {"lora_adapters": adapters, "lora_rank": pick([1, 8, 64]) if adapters else 0}


def seeing(pick: Pick) -> dict[str, Any]:
    """Put an encoder of images in front of the model now and then."""
    parameters = pick([0.0, 0.0, 0.0, 3e8, 6e9])
    return {
        "encoder_parameters": parameters,
        "image_patches": pick([1.0, 4096.0]) if parameters else 0.0,
    }


def offloading(pick: Pick, side: Sides, host: str) -> dict[str, Any]:
    """Rest some layers in the host now and then, where it says what it has."""
    machine = side.reference.host(host)
    stores = [
        store
        for store, there in (
            ("host", machine.memory),
            ("disk", machine.disk_bandwidth),
        )
        if there is not None
    ]
    if not stores:
        return {}
    layers = pick([None, None, None, 1, 2, 7, 40, 200])
    return {"offload": layers, "offload_to": pick(stores)}


def on_sale(pick: Pick, side: Sides) -> dict[str, Any]:
    """Make up a candidate on hardware that can be bought."""
    accelerator, host = pick(side.fits)
    nics = side.reference.host(host).nics
    asked = candidate(pick, side)
    networks = [*side.networks_of(accelerator), None]
    if asked["network"] not in networks:
        asked["network"] = pick(networks)
    model = asked["model"]
    whole = side.carries_a_state(model) or _has_an_indexer(side, model)
    return {
        **asked,
        "offload": None,
        "accelerator": accelerator,
        "host": host,
        "nics_per_host": pick([n for n in (1, 2, 4, 8) if n <= nics] or [1]),
        **_groups(pick, whole=whole),
        "ep": 1,
        "weights": None,
    }


EVALUATED = (
    "feasible",
    "memory",
    "decode",
    "prefill",
    "mixed",
    "kv_capacity_tokens",
    "ttft_seconds",
    "tpot_seconds",
    "messages",
    "hosts",
    "accelerators",
)


def known(value: Any) -> Any:
    """What is known: the core leaves out what is not, the reference says None."""
    if not isinstance(value, dict):
        return value
    told = {key: known(part) for key, part in value.items()}
    return {key: part for key, part in told.items() if part is not None} or None


def assert_same_evaluation(side: Sides, asked: dict[str, Any]) -> dict[str, Any]:
    """Compare every number; returns the reference's evaluation."""
    core = side.core_evaluation(asked)
    reference = evaluate_serving(side.reference, **asked)

    def reasons(rejections: Any) -> dict[str, Any]:
        return {one["code"]: one["numbers"] for one in rejections}

    for key in EVALUATED:
        assert (
            list(compared(key, known(core.get(key)), known(reference[key]), "differs"))
            == []
        )
    found, expected = reasons(core["rejections"]), reasons(reference["rejections"])
    assert found.keys() == expected.keys()
    assert list(compared("rejections", found, expected, "differs")) == []
    return reference


def units_of(
    side: Sides, asked: dict[str, Any], hosts: int, replicas: int
) -> list[Unit]:
    """Build the unit of so many replicas with each switch that there is."""
    network = asked["network"] if hosts > 1 else None
    switches: list[str | None] = [None]
    if network is not None:
        switches += [part.id for part in side.reference.network(network).switches]
    units = []
    for switch in switches:
        try:
            bought = unit(
                side.reference,
                accelerator=asked["accelerator"],
                host=asked["host"],
                network=network,
                nics_per_host=asked["nics_per_host"],
                switch=switch,
                tp=asked["tp"],
                cp=asked["cp"],
                dp=asked["dp"],
                pp=asked["pp"],
                replicas=replicas,
            )
        except PurchaseError:
            continue
        units.append(bought)
    return units


def _unit_usd(line: dict[str, Any]) -> float:
    """Price of one, or its rent for an hour; what a host includes costs nothing."""
    price: float | None = line["unit_price_usd"]
    rent: float = line["unit_usd_per_hour"] or 0.0
    return rent if price is None else price


def assert_same_purchase(side: Sides, asked: dict[str, Any], replicas: int) -> bool:
    """Compare what is bought; returns whether it can be bought at all."""
    core = side.core_evaluation(asked, replicas)
    if core.get("memory") is None:
        return False
    offered = units_of(side, asked, core["hosts"], replicas)
    if not offered:
        # More replicas than one unit holds are several units; one is never refused.
        assert replicas > 1 or core["bill_of_materials"] == []
        return False
    bought = min(offered, key=lambda one: one.price)
    lines = {
        (line["kind"], line["id"], line["name"]): (
            line["quantity"],
            round(_unit_usd(line) * 1e6),
        )
        for line in core["bill_of_materials"]
    }
    assert lines == {
        (line.kind, line.id, line.name): (line.quantity, line.unit_price)
        for line in bought.lines
    }
    speed = replicas * core["decode"]["tokens_per_second"]
    expected = {
        "power_watts": bought.power_watts,
        "cost": cost_table(
            [(bought.price, bought.power_watts, bought.rack_units)],
            speed,
            side.reference.assumptions.cost,
        ),
    }
    assert list(compared("unit", core, expected, "differs")) == []
    return True


def picker(data: st.DataObject) -> Pick:
    return lambda options: data.draw(st.sampled_from(options))


@differential(3000)
@given(st.data())
def test_core_and_reference_evaluate_alike(data: st.DataObject) -> None:
    pick = picker(data)
    side = any_sides(pick)
    assert_same_evaluation(side, candidate(pick, side))


PROMPTS_OF_ONE_CARD: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "accelerator": "h100-sxm",
    "host": "hgx-8",
    "prompt": 4096,
    "context": 4608,
    "batch": 8,
    "tp": 1,
    "cp": 1,
    "dp": 1,
    "pp": 1,
    "ep": 1,
    "kv": None,
    "kv_heads": None,
    "offload": None,
    "draft": None,
    "draft_tokens": 0,
    "acceptance": 0.0,
    "lora_adapters": 0,
    "lora_rank": 0,
}


def test_prompts_that_an_engine_reads_in_chunks() -> None:
    rng = random.Random(20261121)
    side = sides("calibrated", engine="llama-cpp")
    read = 0
    for _ in range(100):
        asked = {**candidate(rng.choice, side), "prompt": rng.choice([512, 513, 2000])}
        read += assert_same_evaluation(side, asked)["prefill"] is not None
    assert read > ENOUGH // 2


@pytest.mark.parametrize("weights", ["fp8", "fp8-2:4", "w4a8"])
def test_every_rate_of_products_is_that_of_the_reference(weights: str) -> None:
    side = sides("calibrated")
    asked = {**candidate(random.Random(1).choice, side), **PROMPTS_OF_ONE_CARD}
    evaluation = assert_same_evaluation(side, {**asked, "weights": weights})
    assert evaluation["prefill"]["compute_seconds"] > 0


@differential(300)
@given(st.data())
def test_mixers_that_no_model_of_the_catalog_has(data: st.DataObject) -> None:
    pick = picker(data)
    side = any_sides(pick)
    model = pick(["made-up-states", "made-up-selection"])
    assert_same_evaluation(side, candidate(pick, side, model))


EXPERTS = ("mixtral-8x7b", "deepseek-r1", "qwen3-235b-a22b", "gpt-oss-120b")


@differential(1000)
@given(st.data())
def test_core_and_reference_assign_experts_alike(data: st.DataObject) -> None:
    pick = picker(data)
    side = any_sides(pick)
    asked = candidate(pick, side, pick(EXPERTS))
    tp, dp = pick([1, 2, 4, 8]), pick([1, 2, 4, 8, 16])
    ep = pick([tp * dp // part for part in (1, 2, 4) if tp * dp % part == 0])
    assigned = {**asked, "tp": tp, "cp": 1, "dp": dp, "ep": ep, "pp": pick([1, 1, 2])}
    assert_same_evaluation(side, assigned)


@differential(1000)
@given(st.data())
def test_core_and_reference_buy_alike(data: st.DataObject) -> None:
    pick = picker(data)
    side = any_sides(pick)
    assert_same_purchase(side, on_sale(pick, side), pick([1, 1, 2, 3, 4]))


@pytest.mark.parametrize("assumptions", ASSUMPTIONS)
def test_every_model_on_seeded_candidates(assumptions: str) -> None:
    rng = random.Random(20261123)
    outcomes: dict[str, int] = {}
    models = sides(assumptions).ids("models")
    for model in models:
        for _ in range(12):
            side = sides(assumptions, rng.choice(PCIE_CLASSES))
            asked = candidate(rng.choice, side, model)
            evaluation = assert_same_evaluation(side, asked)
            rejected = [one["code"] for one in evaluation["rejections"]]
            for outcome in rejected or ["feasible"]:
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
    # Every way to end is among them, and no single one is nearly all of them.
    assert outcomes.keys() == {
        "feasible",
        "heads",
        "layers",
        "experts",
        "placement",
        "network",
        "format",
        "memory",
        # Hosts of the article do not say what memory they have.
        *(["host-memory"] if assumptions == "calibrated" else []),
    }
    assert outcomes["feasible"] > len(models)


ENOUGH = 50
"""Purchases to compare: of the candidates made up, many cannot be laid out."""


@pytest.mark.parametrize("assumptions", ASSUMPTIONS)
def test_seeded_purchases(assumptions: str) -> None:
    rng = random.Random(20261121)
    side = sides(assumptions)
    asked = 600
    bought = sum(
        assert_same_purchase(side, on_sale(rng.choice, side), rng.choice([1, 2, 3]))
        for _ in range(asked)
    )
    assert bought > ENOUGH
