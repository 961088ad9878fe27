"""Chains of unlike cards, where no replica of like ones will do."""

from __future__ import annotations

from itertools import product
from typing import Any

import msgspec
import pytest

import planopt
from planopt.catalog.open import open_for
from planopt.options import Asked
from planopt.planning.pipeline import Serving
from planopt.planning.unlike import unlike
from planopt.procurement.solver import Solver
from planopt.report.plan import render_plan

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
NETWORKS = "ethernet-10g,ethernet-25g-cx4"


def chain_of(plan: planopt.Plan) -> Any:
    why = plan.infeasibility
    return None if why is None else why.chain


def test_three_of_each_serve_what_neither_kind_holds() -> None:
    plan = planopt.solve(**ASKED)
    chain = chain_of(plan)
    assert plan.deployments == ()
    assert chain.options == {"own": "3xrtx-4090,3xrtx-5090,ethernet-1g"}
    assert chain.tokens_per_second_per_user >= 5
    assert "of unlike cards: see 1" in str(render_plan(plan))
    # What is told is what `--own` lays out and `verify` computes.
    owned = planopt.serve_neighbours(
        neighbours=chain.options["own"],
        **{name: ASKED[name] for name in ("model", "weights", "target")},
    )
    assert owned.price_usd == chain.price_usd
    assert owned.price_usd == pytest.approx(
        sum(line.price_usd or 0 for line in owned.bill_of_materials)
    )
    assert planopt.verify(owned)
    cheaper = msgspec.structs.replace(owned, price_usd=chain.price_usd - 100)
    assert not planopt.verify(cheaper)


def test_the_cheapest_of_all_mixtures_is_told() -> None:
    """Qwen3 32B in bf16 takes more than two cards of 24 GB hold."""
    cards = {"rtx-4090": 2, "rtx-5060-ti-16": 3, "rtx-5090": 0}
    asked = {**ASKED, "model": "qwen3-32b", "stock": cards, "network": NETWORKS}
    served = {name: asked[name] for name in ("model", "weights", "target")}
    prices = []
    for one, other in product((1, 2), (1, 2, 3)):
        for network in NETWORKS.split(","):
            machines = f"{one}xrtx-4090,{other}xrtx-5060-ti-16,{network}"
            owned = planopt.serve_neighbours(neighbours=machines, **served)
            if owned.best is not None and owned.best.users >= 8:
                prices.append(owned.price_usd or 0.0)
    assert len(prices) > 1
    assert chain_of(planopt.solve(**asked)).price_usd == min(prices)


def test_users_who_wait_are_served_in_the_mean() -> None:
    waiting = {name: value for name, value in ASKED.items() if name != "load"}

    def told(**more: Any) -> Any:
        asked = Asked.by_user("solve", {**waiting, **more})
        with Solver() as solver:
            return unlike(Serving().read(asked, open_for(asked), solver))

    assert told().note.endswith("no load is simulated on a chain")
    assert told(ttft="1s") is None
    assert told(request_rate="1/s", concurrency=None) is None


@pytest.mark.parametrize(
    "less",
    [
        {"stock": {**ASKED["stock"], "rtx-4090": 2}},
        {"target": "50tok/s"},
        {"budget": 1},
    ],
)
def test_no_chain_is_told_that_misses_a_limit(less: dict[str, Any]) -> None:
    assert chain_of(planopt.solve(**{**ASKED, **less})) is None
