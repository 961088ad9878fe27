"""What the answer becomes when one thing is different: asked again each time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import structs

from planopt.documents.explanations import Sensitivity
from planopt.serving.cautions import PCIE_CHANGE
from planopt.serving.load import configuration_of
from planopt.warnings import KNIFE_EDGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt.documents.evaluation import Deployment
    from planopt.serving.build import Build
    from planopt.serving.question import Question
    from planopt.serving.question_types import Problem

__all__ = ["sensitivities"]

PCIE_CLASSES = ("slow", "good")
GB = 1e9


def sensitivities(question: Question, chosen: Build) -> tuple[Sensitivity, ...]:
    """Ask what flips the choice.

    Parameters
    ----------
    question : Question
        What was asked.
    chosen : Build
        What would be bought.
    """
    return (
        *_higher_target(question, chosen),
        *_pcie_classes(question, chosen),
        *_full_pipeline(question, chosen),
    )


def _asked_again(
    question: Question, chosen: Build, change: str, problem: Problem
) -> Sensitivity:
    """Answer the question with one change."""
    other = question.beside(chosen, problem).best()
    if other is None:
        return Sensitivity(change=change, result="no plan", choice_changes=True)
    same = other.bill_of_materials == chosen.bill_of_materials
    speed = f"{other.tokens_per_second_per_user:.1f} tok/s per user"
    return Sensitivity(
        change=change,
        result=f"{'the same parts' if same else other.summary}: {speed}",
        choice_changes=not same,
        price_usd=other.price_usd,
    )


def _higher_target(question: Question, chosen: Build) -> Iterator[Sensitivity]:
    """Find the next plan that clears the target, where this one barely does."""
    problem = question.problem
    higher = problem.target * (1 + KNIFE_EDGE)
    if problem.target and chosen.tokens_per_second_per_user < higher:
        yield _asked_again(
            question,
            chosen,
            f"--target {higher:g}tok/s",
            replace(problem, target=higher),
        )


def _pcie_classes(question: Question, chosen: Build) -> Iterator[Sensitivity]:
    """Ask whether slower or faster all-reduce over PCIe changes what is bought."""
    problem = question.problem
    if problem.pcie_all_reduce is not None or problem.objective != "cheapest":
        return
    if not question.found.reduces_over_pcie:
        return
    for name in PCIE_CLASSES:
        asked = _asked_again(
            question,
            chosen,
            f"{PCIE_CHANGE} of class `{name}`",
            replace(problem, pcie_all_reduce=name),
        )
        if asked.choice_changes:
            yield asked


def _full_pipeline(question: Question, chosen: Build) -> Iterator[Sensitivity]:
    """Say what a full pipeline would do, where the question keeps it from filling."""
    for deployment in chosen.deployments:
        candidate = deployment.candidate
        if question.problem.in_flight is None or candidate.in_flight >= candidate.pp:
            continue
        stages = candidate.pp
        for batch in (candidate.batch, -(-candidate.batch // stages)):
            yield Sensitivity(
                change=f"in-flight = p = {stages}, batch {batch}",
                result=_with_in_flight(question, deployment, batch, stages),
            )


def _with_in_flight(
    question: Question, deployment: Deployment, batch: int, in_flight: int
) -> str:
    filled = structs.replace(deployment.candidate, batch=batch, in_flight=in_flight)
    one = structs.replace(deployment, candidate=filled, replicas=1)
    evaluation = question.catalog.native.evaluate_serving(
        configuration_of(question.problem, one)
    )
    users = batch * in_flight
    if not evaluation["feasible"]:
        why = evaluation["rejections"][0]["message"]
        return f"{users} users: {why}"
    decode = evaluation["decode"]
    return (
        f"{users} users at {decode['tokens_per_second_per_user']:.1f} tok/s each, "
        f"{decode['tokens_per_second']:,.0f} tok/s in all"
    )
