"""Two pools in place of one: searched for, judged as a plan is, and put beside it.

Pools that keep the promises in the final run of the whole deployment, and are better
than one pool, are the plan. How much better any two pools may be is said by rates that
no replica exceeds (docs/reference/serving.md, section 8): what is not shown to be as
good as that is not called optimal, whichever kind of deployment it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace as change

from msgspec import Struct
from msgspec.structs import replace

from planopt.catalog.open import DEFAULT_ASSUMPTIONS, Catalog
from planopt.documents.evaluation import Disaggregated, UnderLoad
from planopt.money import at_load, price_of_an_hourly_dollar
from planopt.planning.question import MUCH_DEARER, ServingQuestion
from planopt.planning.settle import ATTEMPTS, Choice, narrower, simulated_build
from planopt.price_sources import sourced
from planopt.procurement.problem import Purchase
from planopt.serving.build import NO_POOLS, Build, TwoPools
from planopt.serving.load import REQUESTS, Trial
from planopt.serving.question_types import Problem
from planopt.serving.search import sought
from planopt.units import MICRO_USD

FINAL_REQUESTS = 64_000
FINAL_SEED = 11
"""Of the run that two pools must pass: numbers that nothing was chosen by."""
LEAST_SHARE = 0.1
"""Of the time limit, what their search has however long one pool took: without a bound
of theirs nothing is known of the gap."""
SHARE_OF_SEARCH = 0.5
"""Of what is left of it: what is found is simulated after that."""
AIMS = ("cheapest", "throughput", "cost-per-token")
"""Objectives that two pools are searched for."""


class _Found(Struct):
    """What the core found."""

    best: Disaggregated | None
    build: Build | None = None
    is_left: bool = False  # By runs of the core
    bound: float | None = None
    shown: float | None = None


def two_pools(question: ServingQuestion, chosen: Build | None = None) -> TwoPools:
    """Find the best two pools for a question, and run its load through them.

    Beside a plan they are of its weights, and not much dearer; the bound is of all
    formats that may be. Those that are late are looked for again with more care, as
    long as there is time.
    """
    # Without the care that simulations have taught.
    problem = question.about(ttft_margin=1.0, tpot_margin=1.0).problem
    beats = None
    if not _is_asked(problem):
        return NO_POOLS
    published = chosen.facts.published if chosen else None
    formats = {problem.weights or published, *problem.allow_quantization}
    if chosen is not None:
        problem = replace(problem, weights=chosen.deployments[0].candidate.weights)
        if problem.objective == "cheapest":
            # An hour is compared in millionths of a dollar.
            paid = _money(chosen, problem) + problem.hourly / MICRO_USD
            known = paid * (_reach(question) or math.inf)
            beats = known if known < math.inf else None
            most = min(MUCH_DEARER * known, problem.budget_usd or math.inf)
            problem = replace(problem, budget_usd=most if most < math.inf else None)
    others = sorted(filter(None, formats - {problem.weights}))
    best = NO_POOLS
    for attempt in range(ATTEMPTS):
        found = _found(question, problem, None if attempt else beats)
        if not attempt:
            bound, shown = _of_all(question, problem, beats, found, others)
            best = best._replace(bound=bound, shown=shown)
        if found.best is None or found.build is None or not question.seconds_left:
            break
        asked = question.about(weights=problem.weights)
        build, violations = found.build, {}
        if not found.is_left:
            build = simulated_build(asked, build)
            violations = build.missed
        # What costs more is not bought, however well it does: it is told beside.
        is_cheaper = chosen is None or _money(build, problem) < _money(chosen, problem)
        is_worth_it = is_cheaper or problem.objective != "cheapest"
        if found.is_left or (is_worth_it and not violations):
            final = Trial(FINAL_REQUESTS, FINAL_SEED)
            build = simulated_build(asked, build, final)
            violations = build.missed
        told = _told(question.catalog, found.best, build, in_time=not violations)
        best = best._replace(told=told, build=None if violations else build)
        if not violations or not question.seconds_left:
            break
        if not found.is_left:
            problem = replace(problem, **narrower(problem, violations))
    return best


def _found(question: ServingQuestion, problem: Problem, beats: float | None) -> _Found:
    least = LEAST_SHARE * question.problem.time_limit_seconds
    request = _request(question.catalog, problem, beats)
    left = max(least, SHARE_OF_SEARCH * question.seconds_left)
    return question.catalog.ask("search_pools", request, _Found, left)


def _of_all(
    question: ServingQuestion,
    problem: Problem,
    beats: float | None,
    first: _Found,
    others: Sequence[str],
) -> tuple[float | None, float | None]:
    """Return what no pools are better than in other formats, too, if that is known.

    Then what none costs less than that are shown to hold.
    """
    loosest = max if problem.objective == "throughput" else min
    bound, shown = first.bound, first.shown
    for other in others:
        if bound is None:
            break
        found = _found(question, replace(problem, weights=other), beats)
        bound = None if found.bound is None else loosest(bound, found.bound)
        if shown is not None:
            shown = None if found.shown is None else min(shown, found.shown)
    return bound, shown


def better_of(
    question: ServingQuestion, choice: Choice | None
) -> tuple[Choice | None, TwoPools]:
    """Return the better of what was chosen and of two pools, and the latter."""
    is_late = choice is not None and choice.build.missed
    held = None if is_late else choice
    two = two_pools(question, held.build if held else None)
    if two.build is None or (held and not beats(two.build, held)):
        if held and _is_asked(question.problem):
            told = _bounded(question, two, held, held.build)
            choice = held._replace(purchase=told)
        return choice, two
    asked = choice.question if choice else question
    simulations, requests = asked.simulated
    asked.simulated = simulations + 2, requests + REQUESTS + FINAL_REQUESTS
    purchase = _bounded(question, two, held, two.build)
    beaten = held.build if held else None
    return Choice(asked, purchase, two.build), two._replace(beaten=beaten)


def beats(two: Build, choice: Choice) -> bool:
    """Whether two pools that keep the promises are better than what was chosen."""
    problem, one = choice.question.problem, choice.build
    if problem.objective == "throughput":
        return carried(two) > carried(one)
    if problem.objective == "cost-per-token":
        duty = choice.question.catalog.cost.duty
        ours, theirs = (
            at_load(each.cost, carried(each), duty).usd_per_million_tokens or math.inf
            for each in (one, two)
        )
    else:
        ours, theirs = (_money(each, problem) for each in (one, two))
    return theirs < ours


def carried(build: Build) -> float:
    """Return the tokens per second that a build puts out under its load."""
    loads = (each.evaluation.under_load for each in build.deployments)
    return sum(load.tokens_per_second or 0.0 for load in loads if load is not None)


def _bounded(
    question: ServingQuestion, two: TwoPools, held: Choice | None, chosen: Build
) -> Purchase:
    """Say how far what is chosen is from what no deployment of either kind is beyond.

    What is held is one pool. Where pools are bounded by nothing, no gap is known.
    """
    problem = question.problem
    known = held.purchase if held else Purchase("unknown")
    is_one = held is not None and chosen is held.build
    purchase = known if is_one else Purchase("feasible")
    unknown = change(
        purchase,
        status="feasible",
        why=purchase.why or ("space" if question.seconds_left else "time"),
        bound_micro_usd=None,
        gap=None,
    )
    reach = _reach(question)
    if two.bound is None or reach is None or held is None:
        return unknown
    bound = None
    if problem.objective == "throughput" and known.gap is not None:
        of_one = carried(held.build) * (1 + known.gap)
        if is_one and two.bound <= of_one:
            return known  # rates are known no closer than that
        most = max(two.bound, of_one)
        gap = max(0.0, most / carried(chosen) - 1)
    elif problem.objective == "cheapest" and known.bound_micro_usd is not None:
        price = round(_money(chosen, problem) * MICRO_USD)
        least = math.floor(two.bound / reach * MICRO_USD)
        bound = min(price, least, known.bound_micro_usd)
        gap = (price - bound) / price if price else 0.0
        is_one_left = known.bound_micro_usd < price and known.why != "edge"
        least = math.floor((two.shown or 0.0) / reach * MICRO_USD)
        if purchase.why is None and least >= price and not is_one_left:
            # What may be cheaper cannot be told from what is late.
            unknown = change(unknown, why="edge")
    else:
        return unknown
    if gap == 0:
        unknown = change(unknown, status="optimal", why=None)
    return change(unknown, gap=gap, bound_micro_usd=bound)


def _reach(question: ServingQuestion) -> float | None:
    """Purchase that a dollar of what is asked about stands for, where that is known.

    An hour of what is bought costs what is lost of its price, and more.
    """
    if not question.problem.hourly:
        return 1.0
    return price_of_an_hourly_dollar(question.catalog.cost)


def _money(build: Build, problem: Problem) -> float:
    """Return what a build costs in the money that is asked about."""
    return build.usd_per_hour if problem.hourly else build.price_usd


def _is_asked(problem: Problem) -> bool:
    one_layout = problem.batch is not None or problem.in_flight is not None
    return (
        problem.percentile is not None
        and not problem.finds
        and problem.objective in AIMS
        and problem.procurement != "rent"
        and not (one_layout or problem.redundancy or problem.is_brief)
    )


def _request(
    catalog: Catalog, problem: Problem, beats: float | None
) -> dict[str, object]:
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
            "beats": beats,
            "has_errors": problem.assumptions == DEFAULT_ASSUMPTIONS,
        },
    }


def _told(
    catalog: Catalog, found: Disaggregated, build: Build, *, in_time: bool
) -> Disaggregated:
    """Put what came of the load beside what was found."""
    (does, load) = next(
        (each.evaluation, each.evaluation.under_load)
        for each in build.deployments
        if each.role == "decode"
    )
    rates = load or UnderLoad()
    return replace(
        found,
        users=rates.users or 0,
        requests_per_second=rates.requests_per_second,
        tokens_per_second=rates.tokens_per_second,
        ttft_seconds=does.ttft_seconds,
        tpot_seconds=does.tpot_seconds,
        in_time=in_time,
        price_usd=found.cost.price_usd,
        cost=at_load(found.cost, rates.tokens_per_second, catalog.cost.duty),
        bill_of_materials=sourced(catalog, found.bill_of_materials),
    )
