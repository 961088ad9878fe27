"""From options to a plan: read, search, buy, settle, explain; of either subject."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec.structs import replace

from planopt.catalog.open import open_for
from planopt.documents.plan import Interrupted, Plan, TrainingPlan
from planopt.planning.not_considered import not_considered
from planopt.planning.question import ServingQuestion, TrainingQuestion
from planopt.procurement.purchase import PurchaseInterrupted
from planopt.procurement.solver import Solver
from planopt.steps import Steps
from planopt.summary import made_from, summed_up

if TYPE_CHECKING:
    from collections.abc import Callable

    from planopt.catalog.open import Catalog
    from planopt.options import Asked
    from planopt.procurement.problem import Purchase
    from planopt.steps import Step

QuestionT = TypeVar("QuestionT", ServingQuestion, TrainingQuestion)
BuildT = TypeVar("BuildT")
PlanT = TypeVar("PlanT", Plan, TrainingPlan)


class Subject(Protocol[QuestionT, BuildT, PlanT]):
    """What differs between serving and training."""

    def read(self, asked: Asked, catalog: Catalog, solver: Solver) -> QuestionT:
        """Read a question from options."""

    def settled(
        self, question: QuestionT, purchase: Purchase
    ) -> tuple[QuestionT, Purchase, BuildT] | None:
        """Lay out what keeps its promises, if anything is known to."""

    def plan(
        self, question: QuestionT, purchase: Purchase, chosen: BuildT, started: float
    ) -> PlanT:
        """Put a purchase into a plan, without what needs further questions."""

    def so_far(self, question: QuestionT, purchase: Purchase, started: float) -> PlanT:
        """Put what was best until an interruption into a plan."""

    def explained(self, question: QuestionT, plan: PlanT, chosen: BuildT) -> PlanT:
        """Add what lies beside the answer."""

    def infeasible(
        self, question: QuestionT, purchase: Purchase, started: float
    ) -> PlanT:
        """Say why there is no plan, and what is nearest to one."""


def answered(
    subject: Subject[QuestionT, BuildT, PlanT],
    asked: Asked,
    on_progress: Callable[[Step], object] | None = None,
) -> PlanT:
    """Answer the question that options ask."""
    steps = Steps(on_progress)
    with Solver() as solver:
        question = subject.read(asked, open_for(asked).watched(steps), solver)
        return whole(subject, question, steps)


def compared(
    subject: Subject[QuestionT, BuildT, PlanT],
    asked: Asked,
    on_progress: Callable[[Step], object] | None = None,
) -> list[PlanT]:
    """Answer the question that options ask for each accelerator alone."""
    steps, plans = Steps(on_progress), []
    with Solver() as solver:
        question = subject.read(asked, open_for(asked).watched(steps), solver)
        for each in question.problem.accelerators:
            steps.of = f"{each}: "
            plans.append(whole(subject, question.alone(each), steps))
    return plans


def whole(
    subject: Subject[QuestionT, BuildT, PlanT],
    question: QuestionT,
    steps: Steps,
) -> PlanT:
    """Answer a question with a plan, and say what could not be part of any."""
    plan = answer(subject, question, steps)
    return replace(plan, not_considered=not_considered(question))


def answer(
    subject: Subject[QuestionT, BuildT, PlanT],
    question: QuestionT,
    steps: Steps,
) -> PlanT:
    """Answer a question with a plan."""
    question.started = started = time.monotonic()
    steps.end_in(question.problem.time_limit_seconds)
    covered = question.found.search.candidates_covered
    steps.at(f"{covered:,} configurations, {len(question.found)} worth buying")
    try:
        purchase = question.buy()
    except PurchaseInterrupted as stop:
        best = stop.purchase
        if not best.counts:
            raise Interrupted from None
        plan = subject.so_far(question, best, started)
        told = made_from(summed_up(plan, question.catalog), question.catalog)
        raise Interrupted(told) from None
    if purchase.counts:
        steps.at("judging what is best")
    else:
        steps.at("no purchase: what would help", is_counted=False)
    settled = subject.settled(question, purchase)
    if settled is None:
        return subject.infeasible(question, purchase, started)
    asked = question
    question, purchase, chosen = settled
    question.started, question.took = started, time.monotonic() - started
    question.had_time = asked.had_time = question.may_ask_again
    plan = subject.plan(question, purchase, chosen, started)
    plan = summed_up(plan, question.catalog)
    steps.at("what would change the choice", is_counted=False)
    try:
        return subject.explained(question, plan, chosen)
    except KeyboardInterrupt:
        raise Interrupted(made_from(plan, question.catalog)) from None
