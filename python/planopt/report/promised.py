"""What a plan does under the load that latencies are promised for.

The search judges a steady step at full context; a promise to a share of all requests is
kept under their load, prompts between the answers included. Where there is a promise,
these are the figures of the plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.numbers import rate, share

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planopt.documents.evaluation import Deployment, ServingEvaluation
    from planopt.documents.plan import Plan


def over_target(plan: Plan, reached: float | None) -> str:
    """Say by how much a speed exceeds what was asked for."""
    target = plan.request.target_tokens_per_second
    if not target or reached is None:
        return ""
    return f"   (target {target:.4g}, {share(reached / target - 1)})"


def promised_speed(plan: Plan, deployment: Deployment) -> str | None:
    """Say how fast the promised share of requests is; none without a promise."""
    at, evaluation = plan.request.percentile, deployment.evaluation
    load = evaluation.under_load
    seconds = None if at is None else getattr(evaluation.tpot_seconds, at)
    if load is None or not seconds:
        return None
    return (
        f"{rate(1 / seconds)} tok/s per user at {at}   "
        f"{rate(load.tokens_per_second)} tok/s in total under the load"
        f"{over_target(plan, 1 / seconds)}"
    )


def tokens_under_load(plan: Plan) -> float | None:
    """Return the output tokens per second of the whole plan under its load."""
    return _tokens(each.evaluation for each in plan.deployments)


def _tokens(evaluations: Iterable[ServingEvaluation]) -> float | None:
    loads = [each.under_load for each in evaluations]
    known = [load for load in loads if load is not None and load.by == "simulation"]
    return sum(load.tokens_per_second or 0.0 for load in known) or None
