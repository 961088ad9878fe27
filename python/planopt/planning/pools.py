"""Two pools in place of one: searched for, simulated, and put beside the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from planopt.bill import bill_of
from planopt.documents.evaluation import Disaggregated, Pool, Transfer
from planopt.documents.parts import Candidate, Cost
from planopt.planning.tighten import ATTEMPTS
from planopt.price_sources import sourced
from planopt.serving.build import evaluation_of
from planopt.serving.load import Latencies, load_of, simulated
from planopt.serving.pessimism import at_worst
from planopt.serving.prefill_pool import DEGREES, alone
from planopt.serving.question_types import PERCENTILES
from planopt.serving.search import sought
from planopt.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.catalog.open import Catalog
    from planopt.planning.question import ServingQuestion
    from planopt.serving.question_types import Problem

TOKENS_PER_MILLION = 10**6

TOLERANCE = 0.01
"""By how much a simulation of two pools may miss what was promised."""

AIMS = ("cheapest", "throughput", "cost-per-token")
"""Objectives that two pools are searched for."""


def disaggregated(
    question: ServingQuestion, weights: str | None
) -> Disaggregated | None:
    """Find the best two pools for a question, and simulate them."""
    problem = question.problem
    if not _is_asked(problem):
        return None
    if weights is not None:
        problem = replace(problem, weights=weights)
    best = None
    for _ in range(ATTEMPTS):
        request = _request(question.catalog, problem)
        found = question.catalog.ask("search_pools", request)["best"]
        if found is None:
            return best
        best = _simulated(question.catalog, problem, found)
        if best is None or best.in_time:
            return best
        late = _lateness(problem, best)
        problem = replace(
            problem,
            ttft_margin=problem.ttft_margin / max(1.0, late["ttft"]),
            tpot_margin=problem.tpot_margin / max(1.0, late["tpot"]),
        )
    return best


def _is_asked(problem: Problem) -> bool:
    one_layout = problem.batch is not None or problem.in_flight is not None
    return (
        problem.percentile is not None
        and problem.objective in AIMS
        and problem.acquire != "rent"
        and not (one_layout or problem.redundancy)
    )


def _request(catalog: Catalog, problem: Problem) -> dict[str, Any]:
    asked = sought(at_worst(catalog, problem), problem.weights)
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
            "requests_per_second": problem.requests_per_second,
        },
    }


def _simulated(
    catalog: Catalog, problem: Problem, found: Mapping[str, Any]
) -> Disaggregated | None:
    """Run the load through both pools."""
    rate = problem.requests_per_second
    users = problem.users
    if problem.objective != "cheapest":
        users = found["users"]
    load = load_of(problem.sizes, users=users, requests_per_second=rate)
    if problem.throughput and rate is None:
        load = load_of(problem.sizes, requests_per_second=found["requests_per_second"])
    configurations = {
        name: _configuration(problem, found, name) for name in ("prefill", "decode")
    }
    transfer = found["transfer"]
    way = {name: transfer[name] for name in ("latency_seconds", "seconds_per_token")}
    request = {
        **configurations["prefill"],
        "decode": {
            **configurations["decode"],
            "transfer": way,
            "scheduler": problem.asked["scheduler"],
        },
    }
    latencies = simulated(catalog, request, load, engine=problem.asked["scheduler"])
    if latencies is None:
        return None
    waiting = load["arrivals"].get("users", 0)
    pools = {
        name: _pool(catalog, problem, configuration, found[name])
        for name, configuration in configurations.items()
    }
    answer = _answer(catalog, found, latencies, users=waiting, pools=pools)
    late = _lateness(problem, answer)
    return msgspec.structs.replace(answer, in_time=max(late.values()) <= 1 + TOLERANCE)


def _configuration(
    problem: Problem, found: Mapping[str, Any], name: str
) -> dict[str, Any]:
    """Put one pool as the core evaluates it."""
    pool, network = found[name], found["transfer"]["network"]
    return {
        **problem.served,
        "model": {**problem.asked["model"], "weights": problem.weights},
        "hardware": {
            "accelerator": pool["accelerator"],
            "host": pool["host"],
            "network": network,
            "nics_per_host": found["nics_per_host"] or None,
        },
        "layout": {key: pool[key] for key in (*DEGREES, "batch")},
    }


def _pool(
    catalog: Catalog,
    problem: Problem,
    configuration: Mapping[str, Any],
    found: Mapping[str, Any],
) -> Pool:
    answer = catalog.ask("evaluate_serving", alone(configuration))
    evaluation = evaluation_of({**answer, "cost": None, "power_watts": None})
    return Pool(
        candidate=Candidate(
            accelerator=found["accelerator"],
            tp=found["tp"],
            cp=found["cp"],
            dp=found["dp"],
            ep=found["ep"],
            pp=found["pp"],
            batch=found["batch"],
            in_flight=answer["in_flight"],
            overlap=problem.overlap,
            weights=answer["weights"],
            kv=answer["kv"],
            **problem.drafted,
        ),
        host=found["host"],
        hosts=found["hosts"],
        replicas=found["replicas"],
        requests_per_second=found["requests_per_second"],
        evaluation=evaluation,
    )


def _answer(
    catalog: Catalog,
    found: Mapping[str, Any],
    latencies: Latencies,
    *,
    users: int,
    pools: Mapping[str, Pool],
) -> Disaggregated:
    cost = found["cost"]
    return Disaggregated(
        prefill=pools["prefill"],
        decode=pools["decode"],
        transfer=msgspec.convert(found["transfer"], Transfer),
        nics_per_host=found["nics_per_host"],
        hosts=found["hosts"],
        accelerators=found["accelerators"],
        switch=found["switch"],
        switch_count=found["switch_count"],
        users=users,
        requests_per_second=latencies.requests_per_second,
        tokens_per_second=latencies.tokens_per_second,
        ttft_seconds=latencies.ttft_seconds,
        tpot_seconds=latencies.tpot_seconds,
        price_usd=cost["price_usd"],
        cost=_cost(
            catalog,
            cost["price_usd"],
            cost["usd_per_hour"],
            latencies.tokens_per_second,
        ),
        power_watts=found["power_watts"],
        bill_of_materials=sourced(catalog, bill_of(found)),
    )


def _cost(
    catalog: Catalog, price_usd: float, usd_per_hour: float, tokens_per_second: float
) -> Cost:
    """Cost of tokens, at the share of hours that are busy."""
    duty = catalog.cost.duty
    per_hour = tokens_per_second * SECONDS_PER_HOUR * duty
    return Cost(
        price_usd=price_usd,
        usd_per_hour=usd_per_hour,
        usd_per_million_tokens=usd_per_hour / (per_hour / TOKENS_PER_MILLION),
        tokens_per_usd=per_hour / usd_per_hour,
    )


def _lateness(problem: Problem, answer: Disaggregated) -> dict[str, float]:
    """Give each latency as a multiple of what was promised."""
    name = problem.percentile or next(iter(PERCENTILES))
    ttft = getattr(answer.ttft_seconds, name) or 0.0
    tpot = getattr(answer.tpot_seconds, name) or 0.0
    promised = problem.ttft_seconds
    return {
        "ttft": ttft / promised if promised else 0.0,
        "tpot": tpot * problem.target,
    }
