"""Chains of unlike cards, where they are cheaper than replicas of like ones."""

from __future__ import annotations

from itertools import product
from typing import Any

import msgspec
import pytest

import planopt
from planopt.catalog.open import open_for
from planopt.errors import InputError
from planopt.exchange.export import export
from planopt.options import Asked
from planopt.planning.pipeline import Serving
from planopt.planning.space import CHAINS, UNLIKE
from planopt.planning.unlike import or_chain
from planopt.procurement.problem import Purchase
from planopt.procurement.solver import Solver
from planopt.report.plan import render_plan
from planopt.summary import made_from, summed_up

CARDS = {"rtx-5090": 3, "rtx-4090": 3}
ASKED: dict[str, Any] = {
    "model": "llama-2-70b",
    "weights": "bf16",
    "target": "5tok/s",
    "concurrency": 8,
    "load": "steady",
    "accelerators": "rtx-5090,rtx-4090,rtx-5060-ti-16",
    "stock": {**CARDS, "rtx-5060-ti-16": 0},
    "time_limit": "300s",
}
SERVED = {name: ASKED[name] for name in ("model", "weights", "target")}
ONE_NETWORK = {**ASKED, "network": "ethernet-10g"}
WAITING = {name: value for name, value in ONE_NETWORK.items() if name != "load"}


def leaves_out(plan: planopt.Plan) -> set[str]:
    assert plan.search.space is not None
    return {each.what for each in plan.search.space.restrictions}


def is_chain(plan: planopt.Plan) -> bool:
    return any(each.chain for each in plan.deployments)


@pytest.fixture(scope="module")
def chain() -> planopt.Plan:
    return planopt.solve(**ASKED)


def test_three_of_each_serve_what_neither_kind_holds(chain: planopt.Plan) -> None:
    plan = chain
    assert plan.status == "optimal"
    assert plan.bound_usd == plan.price_usd
    (deployment,) = plan.deployments
    assert deployment.candidate.accelerator == "rtx-4090+rtx-5090"
    assert sum(each.layers for each in deployment.chain) == 80
    counted = {line.id: line.quantity for line in plan.bill_of_materials}
    assert {card: counted[card] for card in CARDS} == CARDS
    # What is bought is what `--own` lays out.
    network = deployment.hardware.network
    owned = planopt.serve_neighbours(
        neighbours=f"3xrtx-4090,3xrtx-5090,{network}", **SERVED
    )
    assert owned.price_usd == plan.price_usd
    assert owned.best is not None
    speed = deployment.evaluation.decode.tokens_per_second_per_user
    assert owned.best.tokens_per_second_per_user_served == speed
    # It says what it covers, and shows who holds what.
    assert plan.search.space is not None
    assert CHAINS in plan.search.space.text
    assert UNLIKE not in leaves_out(plan)
    assert "layers on rtx-5090" in str(render_plan(plan))
    assert planopt.verify(plan)
    with pytest.raises(InputError, match="not alike"):
        export(plan, "vllm")


def _told(plan: planopt.Plan, **changes: Any) -> planopt.Plan:
    (deployment,) = plan.deployments
    told = msgspec.structs.replace(deployment, **changes)
    return msgspec.structs.replace(plan, deployments=(told,))


def test_no_forged_chain_is_verified(chain: planopt.Plan) -> None:
    (of,) = chain.deployments
    other = {"rtx-5090": "rtx-4090", "rtx-4090": "rtx-5090"}
    first, second, *rest = of.chain
    more = msgspec.structs.replace(first, layers=first.layers + 1)
    less = msgspec.structs.replace(second, layers=second.layers - 1)
    swapped = msgspec.structs.replace(first, accelerator=other[first.accelerator])
    hardware = msgspec.structs.replace(of.hardware, network="ethernet-25g-cx4")
    for changes in (
        {"chain": (more, less, *rest)},
        {"chain": (swapped, second, *rest)},
        {"chain": (second, *rest)},
        {"chain": ()},
        {"hardware": hardware},
        {"replicas": 2},
    ):
        assert not planopt.verify(_told(chain, **changes)), changes
    for price in (chain.price_usd, 1.0):
        cheaper = (price or 0.0) - 100
        assert not planopt.verify(msgspec.structs.replace(chain, price_usd=cheaper))


NETWORKS = "ethernet-10g,ethernet-25g-cx4"


def test_the_cheapest_of_all_mixtures_is_bought() -> None:
    """Qwen3 32B in bf16 takes more than two cards of 24 GB hold."""
    cards = {"rtx-4090": 2, "rtx-5060-ti-16": 3, "rtx-5090": 0}
    asked = {**ASKED, "model": "qwen3-32b", "stock": cards, "network": NETWORKS}
    served = {**SERVED, "model": "qwen3-32b"}
    prices = []
    for one, other in product((1, 2), (1, 2, 3)):
        for network in NETWORKS.split(","):
            machines = f"{one}xrtx-4090,{other}xrtx-5060-ti-16,{network}"
            owned = planopt.serve_neighbours(neighbours=machines, **served)
            if owned.best is not None and owned.best.users >= 8:
                prices.append(owned.price_usd or 0.0)
    assert len(prices) > 1
    plan = planopt.solve(**asked)
    assert is_chain(plan)
    assert plan.price_usd == min(prices)


def _chosen(**asked: Any) -> planopt.Plan | None:
    """Buy a chain where no like cards do, without a search for these."""
    read = Asked.by_user("solve", asked)
    catalog = open_for(read)
    with Solver() as solver:
        question = Serving().read(read, catalog, solver)
        found = or_chain(question, Purchase(status="infeasible"), None)
        if found is None:
            return None
        return made_from(summed_up(Serving().plan(*found), catalog), catalog)


def test_users_who_wait_are_served_as_promised() -> None:
    plan = _chosen(**WAITING)
    assert plan is not None
    (deployment,) = plan.deployments
    assert deployment.chain
    assert deployment.evaluation.under_load is not None
    names = {each.name for each in plan.promises if each.held}
    assert names == {"tpot", "concurrency"}
    assert plan.usd_per_million_tokens is not None
    assert planopt.verify(plan)
    assert _chosen(**WAITING, ttft="3s") is not None
    # What the simulation does not keep is not promised; so much comes, or too much.
    assert _chosen(**WAITING, ttft="300ms") is None
    coming = {**WAITING, "concurrency": None}
    assert _chosen(**coming, request_rate="0.05/s") is not None
    assert _chosen(**coming, request_rate="5/s") is None


def test_like_cards_are_bought_where_no_chain_is_cheaper() -> None:
    """What fits one card needs no chain, and nothing cheaper than it holds."""
    asked = {**ASKED, "model": "llama-3.1-8b", "target": "20tok/s"}
    plan = planopt.solve(**asked)
    assert plan.status == "optimal"
    assert not is_chain(plan)
    assert UNLIKE not in leaves_out(plan)
    # Without a stock, or with what chains are not judged by, they are not looked at.
    for more in ({"stock": None}, {"redundancy": 1}):
        assert UNLIKE in leaves_out(planopt.solve(**{**asked, **more}))


@pytest.mark.parametrize(
    "less",
    [
        {"stock": {**ASKED["stock"], "rtx-4090": 2}},
        {"target": "50tok/s"},
        {"concurrency": 30},
        {"ttft": "200ms"},
        {"budget": 35_000},
        {"max_power": "20kW"},
    ],
)
def test_no_chain_is_bought_that_misses_a_limit(less: dict[str, Any]) -> None:
    assert _chosen(**{**ONE_NETWORK, **less}) is None
