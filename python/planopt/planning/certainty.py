"""How sure a plan is: what its kinds are known by, how far it holds, at what price."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from planopt.confidence import (
    chance,
    evidence,
    factors,
    holds_at,
    kinds,
    probability,
    share,
    slower,
)
from planopt.documents.plan import Plan, TrainingPlan
from planopt.planning.question import ServingQuestion, TrainingQuestion
from planopt.planning.settle import kept_by
from planopt.units import SECONDS_PER_DAY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from planopt.documents.evidence import Kind
    from planopt.serving.build import Build
    from planopt.training.build import TrainingBuild

HALVINGS = 6
"""Of the chance that a plan is held under a load: each simulates its deployments."""
MOST_CERTAIN = 0.999
"""Chance beyond which nobody asks how slow a kind may be."""
BESIDE_SECONDS = 4.0
"""What a price beside the answer may take."""

PlanT = TypeVar("PlanT", Plan, TrainingPlan)
QuestionT = TypeVar("QuestionT", ServingQuestion, TrainingQuestion)


def certain(
    plan: PlanT,
    question: ServingQuestion | TrainingQuestion,
    held_to: Callable[[Kind], float | None],
) -> PlanT:
    """Let a plan say what is known of its kinds, and how likely it is held."""
    cards = {each.candidate.accelerator for each in plan.deployments}
    known = kinds(question.catalog, question.problem, cards)
    confidence = share(question.problem.confidence)
    limits = {name: held_to(kind) for name, kind in known.items()}
    told = evidence(known, confidence, limits)
    asked = any(limit is not None for limit in limits.values())
    return replace(
        plan,
        confidence=confidence,
        evidence=told,
        probability=probability(told) if asked else None,
    )


def served_to(question: ServingQuestion, chosen: Build, kind: Kind) -> float | None:
    """Tell how many times longer than predicted steps may be, if anything says so."""
    problem = question.problem
    if problem.percentile is None:
        return min(_of_steps(question, chosen, kind), default=None)
    if problem.target or problem.ttft_seconds:
        return _of_load(question, chosen, kind)
    return None


def run_to(question: TrainingQuestion, chosen: TrainingBuild) -> float | None:
    """Tell the same of a run."""
    deadline = question.problem.deadline_seconds
    return None if deadline is None else deadline / SECONDS_PER_DAY / chosen.days


def _of_steps(question: ServingQuestion, chosen: Build, kind: Kind) -> Iterator[float]:
    """Compare steps that are all alike with each promise; redundant ones are gone."""
    problem = question.problem
    for each in chosen.deployments:
        if each.candidate.accelerator == kind.accelerator:
            if problem.target:
                user = each.evaluation.decode.tokens_per_second_per_user
                yield (user or 0.0) / problem.target
            if problem.ttft_seconds and each.evaluation.prefill.seconds:
                yield problem.ttft_seconds / each.evaluation.prefill.seconds
    if problem.throughput:
        yield chosen.tokens_per_second_left / problem.throughput


def _of_load(question: ServingQuestion, chosen: Build, kind: Kind) -> float:
    """Simulate the load with longer steps, from what is shown to hold on."""
    problem = question.problem
    judged = problem.slower.get(kind.accelerator, 1.0)
    least, most = chance(kind, judged), MOST_CERTAIN
    held = judged
    for _ in range(HALVINGS):
        between = (least + most) / 2
        longer = slower(kind, between)
        changed = {**problem.slower, kind.accelerator: longer}
        if kept_by(question.about(slower=changed), chosen, kind.accelerator):
            least, held = between, longer
        else:
            most = between
    return held


def priced(
    plan: PlanT,
    question: QuestionT,
    price_of: Callable[[QuestionT], float | None],
) -> PlanT:
    """Add prices at other confidences, where asking does not take long."""
    problem = question.problem
    if problem.objective != "cheapest" or problem.rents:
        return plan
    return replace(
        plan,
        price_usd_at_confidence_50=_price(plan, question, 0.5, price_of),
        price_usd_at_confidence_95=_price(plan, question, 0.95, price_of),
    )


def _price(
    plan: PlanT,
    question: QuestionT,
    at: float,
    price_of: Callable[[QuestionT], float | None],
) -> float | None:
    """Price at a confidence: the plan's own where that holds it, and is asked less."""
    own, price = plan.confidence, plan.price_usd or 0.0
    is_held = plan.evidence is not None and holds_at(plan.evidence, at)
    if is_held and (own is None or at >= own):
        return price
    problem = question.problem
    # Asked whatever the budget, and not for long.
    other = question.about(
        slower=factors(question.catalog, problem, at),
        budget_usd=None,
        is_brief=True,
        time_limit_seconds=min(BESIDE_SECONDS, problem.time_limit_seconds),
    )
    usd = price_of(other)
    if usd is None or own is None:
        return usd
    # Runs of the same purchase tell it apart from a late one, or do not.
    return min(usd, price) if is_held else max(usd, price) if at > own else usd
