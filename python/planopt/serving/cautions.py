"""Warnings: what to know before acting on a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.documents.parts import PlanWarning
from planopt.serving.cold import cold_plan
from planopt.warnings import (
    KNIFE_EDGE,
    licence_warnings,
    memory_warnings,
    price_warnings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt.documents.explanations import Sensitivity
    from planopt.serving.build import Build
    from planopt.serving.question import Question

__all__ = ["cautions", "flipped"]

PCIE_CHANGE = "all-reduce over PCIe"
"""How `sensitivity` calls a change of the class of a host's all-reduce."""


def cautions(question: Question, chosen: Build) -> tuple[PlanWarning, ...]:
    """Look for what a buyer should hear of.

    Parameters
    ----------
    question : Question
        What was asked.
    chosen : Build
        What would be bought.
    """
    return (
        *_context(question),
        *_knife_edge(question, chosen),
        *_late(question, chosen),
        *cold_plan(question, chosen),
        *_full_memory(chosen),
        *licence_warnings(
            question.catalog,
            {
                each.candidate.accelerator
                for each in chosen.deployments
                if not each.hardware.terms
            },
            datacenter=question.problem.datacenter,
        ),
        *_quantised(question, chosen),
        *_interruptions(chosen),
        *price_warnings(chosen.bill_of_materials),
    )


def _late(question: Question, chosen: Build) -> Iterator[PlanWarning]:
    """Warn of a latency that the simulation finds longer than promised."""
    from planopt.serving.refine import TOLERANCE, lateness

    percentile = question.problem.percentile
    if percentile is None:
        return
    for name, times in lateness(question.problem, chosen):
        if times > 1 + TOLERANCE:
            yield PlanWarning(
                code="W010",
                message=f"{percentile} {name} is {times - 1:.0%} longer than promised "
                "when it is simulated, though not by the closed form that the search "
                "used: no more careful choice has a plan",
            )


def flipped(flips: Sequence[Sensitivity]) -> tuple[PlanWarning, ...]:
    """Warn of a choice that hangs on how well a host connects its cards."""
    classes = [each for each in flips if each.change.startswith(PCIE_CHANGE)]
    if not any(each.choice_changes for each in classes):
        return ()
    return (
        PlanWarning(
            code="W004",
            message="the choice hangs on how fast cards of a host all-reduce over PCIe",
            help="measure it, then say --pcie-all-reduce slow, default or good",
        ),
    )


def _context(question: Question) -> Iterator[PlanWarning]:
    served = question.problem.served
    context = served.lengths.context
    if any(each.name == "context" for each in question.problem.assumed):
        yield PlanWarning(
            code="W005",
            message=f"context is assumed: {context} tokens per user",
            help="say --context N; memory and speed depend on it",
        )
    most = question.catalog.native.model(
        {"model": served.model, "kv_heads": served.kv_heads}
    )["max_context"]
    if context > most:
        yield PlanWarning(
            code="W007",
            message=f"{served.model} was made for {most} tokens, not {context}",
            help="quality beyond its own context is not known",
        )


def _knife_edge(question: Question, chosen: Build) -> Iterator[PlanWarning]:
    target = question.problem.target
    speed = chosen.tokens_per_second_per_user
    if target and speed < target * (1 + KNIFE_EDGE):
        yield PlanWarning(
            code="W001",
            message=(
                f"{speed:.2f} tok/s is only {speed / target - 1:.0%} above the target "
                f"of {target:g}: a knife edge"
            ),
            help="see what --target 20 % higher would cost, under sensitivity",
        )


def _full_memory(chosen: Build) -> Iterator[PlanWarning]:
    for deployment in chosen.deployments:
        memory = deployment.evaluation.memory
        if memory is not None:
            yield from memory_warnings(
                memory.total_bytes,
                memory.capacity_bytes,
                "one accelerator more, a shorter --context or fewer --users",
            )


def _quantised(question: Question, chosen: Build) -> Iterator[PlanWarning]:
    served = question.problem.served
    own = question.catalog.native.model({"model": served.model})["weights"]
    for weights in sorted({str(d.candidate.weights) for d in chosen.deployments}):
        if weights != own and not (weights in _WIDE and own in _WIDE):
            yield PlanWarning(
                code="W008",
                message=f"weights in {weights}, published in {own}: check the quality",
            )


def _interruptions(chosen: Build) -> Iterator[PlanWarning]:
    """Warn of instances that may be taken away while users are served."""
    for deployment in chosen.deployments:
        if deployment.hardware.terms == "spot":
            away = 1 - (deployment.hardware.goodput or 1.0)
            yield PlanWarning(
                code="W009",
                message=(
                    f"{deployment.hardware.host} on spot terms is away {away:.1%} of "
                    "the time, and whoever it serves waits meanwhile"
                ),
                help="--redundancy N keeps replicas to spare; an instance that goes "
                "takes all of its replicas with it",
            )


_WIDE = frozenset({"fp32", "bf16", "fp16"})
