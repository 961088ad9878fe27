"""What the closed form chose, simulated, and chosen again until it just holds.

The closed form only orders: a plan is what keeps its promises when it is simulated, and
no plan is better than the fluid bound of its units allows.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace as with_changes

from planopt.serving.load import REQUESTS, simulated_deployment
from planopt.serving.question_types import PERCENTILES

if TYPE_CHECKING:
    from planopt.documents.evaluation import ServingEvaluation
    from planopt.planning.question import ServingQuestion
    from planopt.procurement.problem import Purchase
    from planopt.serving.build import Build
    from planopt.serving.question_types import Problem

ATTEMPTS = 5
"""How often a late plan is looked for again with what it lacked."""
LEAST_CARE = 1.03
"""By how much a promise that is not kept is taken more carefully, at least."""
LOOSER = 1.7
"""By how much the closed form is believed to err to the safe side, at most."""
HALVINGS = 3
"""How often that is halved, by ratio, to find a better plan that holds."""
SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
"""Shares of their fluid bound at which units are bought to find a better plan: engines
that keep their promises carry half of it in the median, and almost all at the most."""
FINAL_REQUESTS = 16_000
FINAL_SEED = 1
"""Of the run that what is bought must pass: of numbers that nothing was chosen by."""
AS_GOOD = 1e-9
"""Share of an objective by which two purchases may differ and be as good."""


class Choice(NamedTuple):
    """What is bought, by which question."""

    question: ServingQuestion
    purchase: Purchase
    build: Build


def settled(question: ServingQuestion, purchase: Purchase, build: Build) -> Choice:
    """Choose what keeps its promises in its own simulation, and say what is proven."""
    until = time.monotonic() + question.problem.time_limit_seconds
    choice = _careful(Choice(question, purchase, build))
    if question.problem.objective == "latency":
        return choice._replace(purchase=_against(choice, None))
    best = _at_share(question, 1.0)
    if not misses(choice) and best is not None and _may_beat(best, choice):
        choice = _looser(choice, until)
    choice = _better(choice, best, until)
    return choice._replace(purchase=_against(choice, best))


def _careful(choice: Choice) -> Choice:
    """Simulate what was chosen, and choose more carefully while it is late."""
    choice = _judged(choice)
    for _ in range(ATTEMPTS):
        late = misses(choice)
        if not late:
            break
        shares = {name: 1 / max(times, LEAST_CARE) for name, times in late.items()}
        other = _again(choice, shares.get("TTFT", 1.0), shares.get("TPOT", 1.0))
        if other is None:
            break
        choice = _judged(other)
    return choice


def _looser(choice: Choice, until: float) -> Choice:
    """Look for a better plan just beyond what the closed form allows."""
    low, high, first = 1.0, LOOSER, choice
    for _ in range(HALVINGS):
        if time.monotonic() > until:
            break
        looser = math.sqrt(low * high)
        other = _again(first, looser, looser)
        if other is None:
            return choice
        if not _may_beat(other, choice):
            low = looser
            continue
        other = _judged(other)
        if misses(other) or _value(other) >= _value(choice):
            high = looser
        else:
            low, choice = looser, other
    return choice


def _better(choice: Choice, best: Choice | None, until: float) -> Choice:
    """Look for a better plan that the closed form does not see, and judge it alike."""
    tried: set[str] = set()
    for share in SHARES:
        other = best if share == SHARES[0] else _at_share(choice.question, share)
        if other is None or not _may_beat(other, choice) or time.monotonic() > until:
            return choice
        if other.build.summary in tried:
            continue
        tried.add(other.build.summary)
        other = _judged(other)
        if not misses(other) and (misses(choice) or _value(other) < _value(choice)):
            return other
    return choice


def _at_share(question: ServingQuestion, share: float) -> Choice | None:
    """Buy units as if each carried such a share of its fluid bound."""
    other = question.as_asked.about(bound=share)
    other.is_told = question.is_told
    purchase = other.buy()
    if not purchase.counts:
        return None
    return Choice(other, purchase, other.bought(purchase))


def _again(choice: Choice, ttft: float, tpot: float) -> Choice | None:
    """Ask for the same with other shares of the promised times for the closed form."""
    problem = choice.question.problem
    question = choice.question.about(
        ttft_margin=problem.ttft_margin * ttft, tpot_margin=problem.tpot_margin * tpot
    ).near(choice.build)
    question.is_told = choice.question.is_told
    purchase = question.buy()
    if not purchase.counts:
        return None
    return Choice(question, purchase, question.bought(purchase))


def _judged(choice: Choice) -> Choice:
    """Simulate a choice: shortly, and where that holds for as long as a plan needs."""
    question, build = choice.question, choice.build
    shortly = choice._replace(build=simulated_build(question, build))
    if misses(shortly):
        return shortly
    return choice._replace(
        build=simulated_build(question, build, requests=FINAL_REQUESTS, seed=FINAL_SEED)
    )


def _may_beat(one: Choice, other: Choice) -> bool:
    """Whether a purchase would be better, did it supply what it was bought for."""
    return bool(misses(other)) or _value(one) < _value(other) * (1 - AS_GOOD)


def _value(choice: Choice) -> float:
    """Return what is to be small: what was simulated of it, where that is known."""
    value = choice.purchase.objective_value or 0.0
    if choice.question.problem.objective != "throughput":
        return value
    loads = [each.evaluation.under_load for each in choice.build.deployments]
    found = [load.tokens_per_second or 0.0 for load in loads if load is not None]
    return -(sum(found) if found else value)


def _against(choice: Choice, best: Choice | None) -> Purchase:
    """Hold a purchase against the best one of units at their fluid bound."""
    purchase = choice.purchase
    if best is None or not _value(choice):
        return replace(purchase, status="feasible", bound_micro_usd=None, gap=None)
    bound = best.purchase.objective_bound or best.purchase.objective_value or 0.0
    if choice.question.problem.objective == "throughput":
        bound = -bound
    gap = max(0.0, (_value(choice) - bound) / abs(_value(choice)))
    return replace(
        purchase,
        status="optimal" if gap <= AS_GOOD else "feasible",
        bound_micro_usd=best.purchase.bound_micro_usd,
        objective_bound=abs(bound),
        gap=gap,
    )


def simulated_build(
    question: ServingQuestion,
    chosen: Build,
    *,
    prefix_hit_rate: float = 0.0,
    requests: int = REQUESTS,
    seed: int = 0,
) -> Build:
    """Put simulated latencies into the deployments of a build."""
    places = sum(each.users for each in chosen.deployments)
    deployments = []
    for each in chosen.deployments:
        latencies = simulated_deployment(
            question.catalog,
            question.problem,
            each,
            each.users / places,
            prefix_hit_rate=prefix_hit_rate,
            requests=requests,
            seed=seed,
        )
        if latencies is None:
            deployments.append(each)
            continue
        evaluation = with_changes(
            each.evaluation,
            ttft_seconds=latencies.ttft_seconds,
            tpot_seconds=latencies.tpot_seconds,
            under_load=latencies.under_load,
        )
        deployments.append(with_changes(each, evaluation=evaluation))
    return with_changes(chosen, deployments=tuple(deployments))


def misses(choice: Choice) -> dict[str, float]:
    """Name each promised latency that is not kept, and by how much it is longer.

    It is kept if no more requests than it leaves out are late, with 95 % confidence.
    """
    return missed(choice.question.problem, choice.build)


def missed(problem: Problem, build: Build) -> dict[str, float]:
    """Name each promised latency that a build does not keep, as a multiple of it."""
    if problem.percentile is None:
        return {}
    out = 1 - PERCENTILES[problem.percentile]
    found: dict[str, float] = {}
    for each in (deployment.evaluation for deployment in build.deployments):
        load = each.under_load
        if load is None:
            continue
        late = {"TTFT": load.late_ttft, "TPOT": load.late_tpot}
        promised = {"TTFT": problem.ttft_seconds, "TPOT": _seconds(problem.target)}
        for name, most in promised.items():
            share = late[name]
            if most is None or (not load.overloaded and (share or 0.0) <= out):
                continue
            times = _at(problem, each, name) / most
            found[name] = max(found.get(name, 0.0), times)
    return found


def _seconds(per_second: float) -> float | None:
    return 1 / per_second if per_second else None


def _at(problem: Problem, evaluation: ServingEvaluation, name: str) -> float:
    """Return a latency at the promised percentile."""
    percentiles = {"TTFT": evaluation.ttft_seconds, "TPOT": evaluation.tpot_seconds}
    return getattr(percentiles[name], problem.percentile or "p95") or 0.0
