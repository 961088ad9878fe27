"""The question of a purchase: read from options, with what was assumed said aloud."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planopt.acquisition import read_acquisition
from planopt.documents.parts import Assumed
from planopt.market import read_market
from planopt.money import read_cost
from planopt.serving.question_types import (
    DEFAULT_USERS,
    GOALS,
    Problem,
    ServedModel,
)
from planopt.serving.served import read_served
from planopt.shared_options import architecture_of, check_model

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog
    from planopt.options import Asked

__all__ = ["read_problem"]

DEFAULT_PERCENTILE = "p95"


def read_problem(asked: Asked, catalog: Catalog) -> Problem:
    """Read a question; names are looked up in the catalog."""
    assumed: list[Assumed] = []
    served = read_served(asked, catalog, assumed)
    served = replace(served, context_ranks=asked.count("cp"))
    requests = asked.quantity("requests")
    demand = asked.quantity("throughput") or 0.0
    if requests is not None:
        demand = requests * served.lengths.output
    acquisition, budget_usd, budget_usd_per_hour = read_acquisition(asked, catalog)
    problem = Problem(
        **read_market(asked, catalog),
        served=served,
        objective=asked.choice("objective", GOALS) or "cheapest",
        target=asked.quantity("target") or 0.0,
        ttft_seconds=asked.quantity("ttft"),
        percentile=_percentile(asked, assumed),
        users=_users(asked, demand, served, assumed),
        throughput=demand,
        requests_per_second=requests,
        batch=asked.count("batch"),
        in_flight=asked.count("in_flight"),
        budget_usd=budget_usd,
        budget_usd_per_hour=budget_usd_per_hour,
        acquisition=acquisition,
        price_band=asked.quantity("price_band"),
        steps=asked.switch("steps"),
        robust=asked.switch("robust"),
        cost=read_cost(asked),
        accelerators_in_all=asked.count("max_accelerators"),
        redundancy=asked.count("redundancy") or 0,
        allow_quantization=asked.choices("allow_quantization"),
        pcie_all_reduce=asked.text("pcie_all_reduce"),
        memory_limit_bytes=asked.quantity("memory_limit"),
        exhaustive=asked.switch("exhaustive"),
        assumed=tuple(assumed),
    )
    check_model(asked, catalog, served.model)
    if served.drafting is not None and served.drafting.draft != "mtp":
        check_model(asked, catalog, served.drafting.draft)
    if problem.objective == "throughput" and not problem.limited:
        asked.problem(
            "E005",
            "most throughput of what? nothing limits the purchase",
            option="budget",
            accepted="--budget, --max-power, --max-racks or --max-accelerators",
        )
    asked.finish()
    return problem.with_model(architecture=architecture_of(catalog, served.model))


def _users(
    asked: Asked, demand: float, served: ServedModel, assumed: list[Assumed]
) -> int:
    """Users at the same time: given, or what the batch or the demand says."""
    users, batch = asked.count("users"), asked.count("batch")
    if users is not None:
        return users
    if batch is not None:
        resident = 2 if served.overlap == "two-batch" else 1
        return batch * (asked.count("in_flight") or 1) * resident
    if demand:
        return 1
    assumed.append(Assumed(name="users", value=f"{DEFAULT_USERS} at the same time"))
    return DEFAULT_USERS


def _percentile(asked: Asked, assumed: list[Assumed]) -> str | None:
    """Read the percentile of latencies; where none is promised, there is none."""
    if "percentile" in asked.given or "ttft" not in asked.given:
        return asked.word("percentile")
    assumed.append(
        Assumed(
            name="percentile",
            value=DEFAULT_PERCENTILE,
            why="of time to the first token, and of speed where there is a target",
        )
    )
    return DEFAULT_PERCENTILE
