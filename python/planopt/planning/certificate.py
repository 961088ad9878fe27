"""The certificate that an optimal plan carries."""

from __future__ import annotations

import math
from typing import Literal

import msgspec
from msgspec.structs import replace

from planopt.documents.certificate import Certificate, Proven
from planopt.documents.facts import digest
from planopt.documents.plan import Plan
from planopt.planning.question import ServingQuestion
from planopt.procurement.problem import Offer


def certified(plan: Plan, question: ServingQuestion) -> Plan:
    """Put the certificate into a plan that is proven cheapest."""
    if plan.status != "optimal" or plan.objective != "cheapest":
        return plan
    chained = any(each.chain for each in plan.deployments)
    if plan.transfer or chained or question.problem.own:
        return plan
    proven = question.proven or Proven()
    if question.problem.percentile is None:
        demand, dual = _dual(question.found.offered.offers["cheapest"])
    else:
        demand = "throughput" if question.limits.tokens_per_second else "concurrency"
        dual = math.floor(proven.least_per_demand or 0.0)
    certificate = Certificate(
        demand=demand, dual_micro_usd=dual, refused=proven.refused, digest=""
    )
    return replace(
        plan, certificate=replace(certificate, digest=digest_of(plan, certificate))
    )


def digest_of(plan: Plan, certificate: Certificate) -> str:
    """Return the digest of a certificate and of the bound that it proves."""
    said = msgspec.to_builtins(replace(certificate, digest=""))
    return digest([said, plan.bound_usd, plan.bound_usd_per_hour])


def _dual(offer: Offer) -> tuple[Literal["concurrency", "throughput"], int]:
    """Return the demand that bounds the price best, and what a unit of it costs."""
    users = _least(offer.price_micro_usd, offer.users)
    tokens = _least(offer.price_micro_usd, offer.tokens_per_second)
    if tokens * offer.demand.tokens_per_second > users * offer.demand.users:
        return "throughput", tokens
    return "concurrency", users


def _least(prices: tuple[int, ...], supplies: tuple[float, ...]) -> int:
    each = (
        price / supply for price, supply in zip(prices, supplies, strict=True) if supply
    )
    return math.floor(min(each, default=0.0))
