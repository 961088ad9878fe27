"""Two pools in place of one: searched for, simulated, and put beside the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from planopt.documents.evaluation import Disaggregated  # noqa: TC001 - msgspec reads
from planopt.loads import Arrivals
from planopt.money import at_load
from planopt.planning.question import MUCH_DEARER
from planopt.planning.settle import ATTEMPTS
from planopt.price_sources import sourced
from planopt.serving.load import degrees, simulated
from planopt.serving.question_types import PERCENTILES
from planopt.serving.search import sought

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog
    from planopt.documents.evaluation import Pool
    from planopt.documents.plan import Plan
    from planopt.planning.question import ServingQuestion
    from planopt.serving.build import Build
    from planopt.serving.question_types import Problem

TOLERANCE = 0.01
"""By how much a simulation of two pools may miss what was promised."""

AIMS = ("cheapest", "throughput", "cost-per-token")
"""Objectives that two pools are searched for."""


class _Found(Struct):
    """What the core found."""

    best: Disaggregated | None


def disaggregated(
    question: ServingQuestion, chosen: Build | None = None
) -> Disaggregated | None:
    """Find the best two pools for a question, and simulate them.

    Beside a plan it is of its weights, and not much dearer.
    """
    problem = question.problem
    if not _is_asked(problem):
        return None
    if chosen is not None:
        problem = replace(problem, weights=chosen.deployments[0].candidate.weights)
        if problem.objective == "cheapest" and not problem.acquisition.hourly:
            most = MUCH_DEARER * chosen.price_usd
            problem = replace(problem, budget_usd=min(most, problem.budget_usd or most))
    best = None
    for _ in range(ATTEMPTS):
        request = _request(question.catalog, problem)
        found = question.catalog.ask("search_pools", request, _Found)
        if found.best is None:
            return best
        best = _simulated(question.catalog, problem, found.best)
        if best is None or best.in_time:
            return best
        violated = _slo_violations(problem, best)
        problem = replace(
            problem,
            ttft_margin=problem.ttft_margin / max(1.0, violated["ttft"]),
            tpot_margin=problem.tpot_margin / max(1.0, violated["tpot"]),
        )
    return best


def beats(two: Disaggregated, plan: Plan, *, hourly: bool) -> bool:
    """Whether two pools that keep the promises are better than a plan."""
    if not two.in_time:
        return False
    if plan.objective == "throughput":
        loads = [each.evaluation.under_load for each in plan.deployments]
        ours = sum((load and load.tokens_per_second) or 0.0 for load in loads)
        return (two.tokens_per_second or 0.0) > ours
    if plan.objective == "cost-per-token":
        one, other = (each.cost.usd_per_million_tokens for each in (plan, two))
    elif hourly:
        one, other = (each.cost.usd_per_hour for each in (plan, two))
    else:
        one, other = plan.price_usd, two.price_usd
    return one is not None and other is not None and other < one


def _is_asked(problem: Problem) -> bool:
    one_layout = problem.batch is not None or problem.in_flight is not None
    return (
        problem.percentile is not None
        and problem.session_load is None
        and problem.objective in AIMS
        and problem.procurement != "rent"
        and not (one_layout or problem.redundancy)
    )


def _request(catalog: Catalog, problem: Problem) -> dict[str, object]:
    asked = sought(problem, problem.weights)
    search = asked["search"]
    return {
        **asked,
        "limits": {
            "price_usd": problem.budget_usd,
            "power_watts": problem.max_power_watts,
            "rack_units": problem.rack_units(catalog),
            "stock": problem.stock,
        },
        "search": {
            "aim": problem.objective,
            "max_accelerators": search["max_accelerators"],
            "accelerators_in_all": problem.max_accelerators,
            "context_ranks": search["context_ranks"],
            "allow_odd": search["allow_odd"],
            "requests_per_second": problem.requests_per_second,
        },
    }


def _simulated(
    catalog: Catalog, problem: Problem, found: Disaggregated
) -> Disaggregated | None:
    """Run the load through both pools."""
    load = problem.whole_load
    if load is None:
        return None
    if problem.throughput and load.arrivals.users:
        came = Arrivals(kind="poisson", per_second=found.requests_per_second)
        load = replace(load, arrivals=came)
    elif problem.objective != "cheapest" and load.arrivals.users:
        load = load.of_users(found.users)
    engine, way = problem.asked["scheduler"], found.transfer
    request = {
        **_configuration(problem, found, found.prefill),
        "decode": {
            **_configuration(problem, found, found.decode),
            "transfer": {
                "latency_seconds": way.latency_seconds,
                "seconds_per_token": way.seconds_per_token,
            },
            "scheduler": engine,
        },
    }
    latencies = simulated(catalog, request, load, engine=engine)
    if latencies is None:
        return None
    answer = replace(
        found,
        users=latencies.users or 0,
        requests_per_second=latencies.requests_per_second,
        tokens_per_second=latencies.tokens_per_second,
        ttft_seconds=latencies.ttft_seconds,
        tpot_seconds=latencies.tpot_seconds,
        price_usd=found.cost.price_usd,
        cost=at_load(found.cost, latencies.tokens_per_second, catalog.cost.duty),
        bill_of_materials=sourced(catalog, found.bill_of_materials),
    )
    violated = _slo_violations(problem, answer)
    return replace(answer, in_time=max(violated.values()) <= 1 + TOLERANCE)


def _configuration(
    problem: Problem, found: Disaggregated, pool: Pool
) -> dict[str, object]:
    """Put one pool as the core evaluates it."""
    return {
        **problem.judged,
        "model": {**problem.asked["model"], "weights": problem.weights},
        "hardware": {
            "accelerator": pool.candidate.accelerator,
            "host": pool.host,
            "network": found.transfer.network,
            "nics_per_host": found.nics_per_host or None,
        },
        "layout": {**degrees(pool.candidate), "replicas": pool.replicas},
    }


def _slo_violations(problem: Problem, answer: Disaggregated) -> dict[str, float]:
    """Give each latency as a multiple of what was promised."""
    name = problem.percentile or next(iter(PERCENTILES))
    ttft = getattr(answer.ttft_seconds, name) or 0.0
    tpot = getattr(answer.tpot_seconds, name) or 0.0
    promised = problem.ttft_seconds
    return {
        "ttft": ttft / promised if promised else 0.0,
        "tpot": tpot * problem.target,
    }
