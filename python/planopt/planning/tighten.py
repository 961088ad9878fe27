"""A plan that the closed form found: simulated, and found again if it is late."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec.structs import replace as with_changes

from planopt.serving.load import REQUESTS, simulated_deployment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt.documents.evaluation import ServingEvaluation
    from planopt.planning.question import ServingQuestion
    from planopt.procurement.problem import Purchase
    from planopt.serving.build import Build
    from planopt.serving.question_types import Problem

ATTEMPTS = 4
"""How often a late plan is looked for again with what it lacked."""
TOLERANCE = 0.01
"""By how much a simulation may miss what was promised: its own spread is larger."""


def tightened(
    question: ServingQuestion, purchase: Purchase, chosen: Build
) -> tuple[ServingQuestion, Purchase, Build]:
    """Simulate what was chosen, and choose more carefully while it is late."""
    chosen = simulated_build(question, chosen)
    for _ in range(ATTEMPTS):
        problem = question.problem
        late = dict(lateness(problem, chosen))
        if all(times <= 1 + TOLERANCE for times in late.values()):
            break
        other = question.about(
            ttft_margin=problem.ttft_margin / max(1.0, late.get("TTFT", 1.0)),
            tpot_margin=problem.tpot_margin / max(1.0, late.get("TPOT", 1.0)),
        ).near(chosen)
        other.is_told = question.is_told
        careful = other.buy()
        if not careful.counts:
            break
        question, purchase = other, careful
        chosen = simulated_build(question, question.bought(purchase))
    return question, purchase, chosen


def simulated_build(
    question: ServingQuestion,
    chosen: Build,
    *,
    prefix_hit_rate: float = 0.0,
    requests: int = REQUESTS,
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


def lateness(problem: Problem, build: Build) -> Iterator[tuple[str, float]]:
    """Give each promised latency as a multiple of what was promised, at its worst."""
    if problem.ttft_seconds is not None:
        yield (
            "TTFT",
            max(
                _at(problem, each.evaluation, "ttft_seconds") / problem.ttft_seconds
                for each in build.deployments
            ),
        )
    if problem.target:
        yield (
            "TPOT",
            max(
                _at(problem, each.evaluation, "tpot_seconds") * problem.target
                for each in build.deployments
            ),
        )


def _at(problem: Problem, evaluation: ServingEvaluation, name: str) -> float:
    """Return a latency at the promised percentile; a line that grows has none."""
    if evaluation.under_load is not None and evaluation.under_load.overloaded:
        return math.inf
    percentiles = getattr(evaluation, name)
    return getattr(percentiles, problem.percentile or "p95") or 0.0
