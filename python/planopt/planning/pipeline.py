"""From options to a plan: read, search, buy, settle, explain; of either subject."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from planopt.catalog.open import open_catalog
from planopt.documents.plan import Interrupted, Plan, TrainingPlan
from planopt.planning.question import ServingQuestion, TrainingQuestion
from planopt.procurement import Solver
from planopt.procurement.purchase import PurchaseInterrupted
from planopt.shared_options import check_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planopt.catalog.open import Catalog
    from planopt.procurement.problem import Purchase

__all__ = ["Subject", "answer", "answered", "compared"]

QuestionT = TypeVar("QuestionT", ServingQuestion, TrainingQuestion)
BuildT = TypeVar("BuildT")
PlanT = TypeVar("PlanT", Plan, TrainingPlan)


class Subject(Protocol[QuestionT, BuildT, PlanT]):
    """What differs between serving and training."""

    def read(
        self, catalog: Catalog, options: Mapping[str, Any], solver: Solver
    ) -> QuestionT:
        """Read a question from options."""

    def settled(
        self, question: QuestionT, purchase: Purchase
    ) -> tuple[QuestionT, Purchase, BuildT]:
        """Lay a purchase out, and choose again while it does not keep its promise."""

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
    assumptions: str,
    catalog: Sequence[str],
    options: Mapping[str, Any],
) -> PlanT:
    """Answer the question that options ask."""
    with Solver() as solver:
        opened = open_catalog(catalog, assumptions, options.get("accelerators"))
        typed = {name: str(value) for name, value in options.items()}
        asked = {**options, "assumptions": assumptions, "typed": typed}
        return answer(subject, subject.read(opened, asked, solver))


def compared(
    subject: Subject[QuestionT, BuildT, PlanT],
    accelerators: str | Sequence[str] | None,
    assumptions: str,
    catalog: Sequence[str],
    options: Mapping[str, Any],
) -> list[PlanT]:
    """Answer the question that options ask for each accelerator alone."""
    with Solver() as solver:
        opened = open_catalog(catalog, assumptions, accelerators)
        typed = {name: str(value) for name, value in options.items()}
        asked = {**options, "assumptions": assumptions, "typed": typed}
        question = subject.read(opened, {**asked, "accelerators": accelerators}, solver)
        names = question.problem.accelerators
        check_named(names)
        return [answer(subject, question.about(accelerators=(each,))) for each in names]


def answer(subject: Subject[QuestionT, BuildT, PlanT], question: QuestionT) -> PlanT:
    """Answer a question with a plan."""
    started = time.monotonic()
    try:
        purchase = question.buy()
    except PurchaseInterrupted as stop:
        best = stop.purchase
        plan = subject.so_far(question, best, started) if best.counts else None
        raise Interrupted(plan) from None
    if not purchase.counts:
        return subject.infeasible(question, purchase, started)
    question, purchase, chosen = subject.settled(question, purchase)
    plan = subject.plan(question, purchase, chosen, started)
    try:
        return subject.explained(question, plan, chosen)
    except KeyboardInterrupt:
        raise Interrupted(plan) from None
