"""What lies beside a training plan: other clusters, what flips it, what to know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt.documents.explanations import TrainingAlternative

if TYPE_CHECKING:
    from planopt.documents.training import TrainingEvaluation

from typing import TYPE_CHECKING

from planopt.documents.explanations import Sensitivity
from planopt.documents.parts import PlanWarning
from planopt.price_sources import dollars, is_rough
from planopt.procurement import alternatives
from planopt.training.why import held_back, span
from planopt.warnings import (
    KNIFE_EDGE,
    licence_warnings,
    memory_warnings,
    price_warnings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt.training.build import TrainingBuild
    from planopt.training.question import TrainingQuestion

__all__ = ["alternatives_of", "sensitivities", "warnings_of"]

DEADLINES = (0.8, 1.5)
"""Shares of the deadline that the question is asked again with."""
ROUNDING_USD = 1.0
"""What a price may be off by where it was added up in another order."""


# --- Other clusters -------------------------------------------------------------------


def alternatives_of(
    question: TrainingQuestion, chosen: TrainingBuild
) -> tuple[TrainingAlternative, ...]:
    """List the best cluster of each accelerator, with why it was not chosen.

    Of the accelerator that was chosen it is the next best. Accelerators that were named
    and have no cluster are listed with what keeps them from it.
    """
    units = question.found.units
    listed = alternatives(units, question.limits, len(units), over_limits=True)
    if question.problem.objective == "throughput":
        listed.sort(key=lambda each: -each.unit.tokens_per_second)
    others: dict[str, TrainingAlternative] = {}
    for each in listed:
        accelerator = each.unit.accelerator
        if accelerator in others or len(others) >= question.problem.top:
            continue
        other = question.build(each.unit)
        if other.bill_of_materials == chosen.bill_of_materials:
            continue
        why_not = "; ".join(each.why_not) or _why_not(other, chosen)
        others[accelerator] = _alternative(other, why_not)
    return *others.values(), *_without_cluster(question)


def _alternative(other: TrainingBuild, why_not: str) -> TrainingAlternative:
    deployment = other.deployment
    return alternative_of(
        other.evaluation,
        summary=other.summary,
        why_not=why_not,
        price_usd=other.price_usd,
        candidate=deployment.candidate,
        hardware=deployment.hardware,
        bill_of_materials=other.bill_of_materials,
    )


def _why_not(other: TrainingBuild, chosen: TrainingBuild) -> str:
    """Say what a cluster within all limits lacks."""
    dearer = round(other.price_usd - chosen.price_usd)
    later = other.days - chosen.days
    if dearer > 0:
        return f"${dearer:,} more" + (f", {span(later)} later" if later > 0 else "")
    money = f"${-dearer:,} less" if dearer else "same price"
    if later > 0:
        return f"{money}, {span(later)} later"
    return money if other.rented else f"{money}; more power"


def _without_cluster(question: TrainingQuestion) -> Iterator[TrainingAlternative]:
    """Say of each accelerator that was named why it has no cluster."""
    there = {unit.accelerator for unit in question.found.units}
    for name in question.problem.accelerators:
        if name not in there:
            why = held_back(question.about(accelerators=(name,)))
            yield TrainingAlternative(summary=name, why_not=why.sentence)


# --- What flips it --------------------------------------------------------------------


def sensitivities(
    question: TrainingQuestion, chosen: TrainingBuild
) -> tuple[Sensitivity, ...]:
    """Ask again with less time and with more."""
    deadline = question.problem.deadline_seconds
    if deadline is None:
        return ()
    return tuple(_asked_again(question, chosen, deadline, share) for share in DEADLINES)


def _asked_again(
    question: TrainingQuestion, chosen: TrainingBuild, deadline: float, share: float
) -> Sensitivity:
    seconds = share * deadline
    change = f"--deadline {span(seconds / 86_400)}"
    other = _best(question.about(deadline_seconds=seconds), chosen, share)
    if other is None:
        return Sensitivity(change=change, result="no plan", choice_changes=True)
    rough = is_rough(other.bill_of_materials)
    price = dollars(other.price_usd, rough=rough, whole=True)
    return Sensitivity(
        change=change,
        result=f"{other.summary}: {price}, {span(other.days)}",
        choice_changes=other.bill_of_materials != chosen.bill_of_materials,
        price_usd=other.price_usd,
    )


def _best(
    question: TrainingQuestion, chosen: TrainingBuild, share: float
) -> TrainingBuild | None:
    """Find the best cluster for a share of the time that `chosen` has.

    With more time none that is dearer is better. With less, whatever is found within a
    price is the cheapest of all; the whole search is for where nothing is.
    """
    # Twice as many accelerators in half of the time, and as much again for what they
    # lose on the way.
    near = chosen.price_usd * max(1.0, 1.0 / share**2) + ROUNDING_USD
    cheapest = question.problem.objective == "cheapest"
    found = question.up_to(near).best() if cheapest else None
    return question.best() if found is None else found


# --- What to know ---------------------------------------------------------------------


def warnings_of(
    question: TrainingQuestion, chosen: TrainingBuild
) -> tuple[PlanWarning, ...]:
    """Look for what a buyer should hear of."""
    problem, memory = question.problem, chosen.evaluation.memory
    warnings = [*_knife_edge(question, chosen)]
    if memory is not None:
        help_ = "more sharding, more stages or recomputation lowers it"
        total, capacity = memory.total_bytes, memory.capacity_bytes
        warnings += memory_warnings(total, capacity, help_)
    accelerator = chosen.deployment.candidate.accelerator
    return (
        *warnings,
        *licence_warnings(
            question.catalog, [accelerator], datacenter=problem.datacenter
        ),
        *price_warnings(chosen.bill_of_materials),
    )


def _knife_edge(
    question: TrainingQuestion, chosen: TrainingBuild
) -> Iterator[PlanWarning]:
    deadline = question.problem.deadline_seconds
    if deadline is None:
        return
    spare = deadline / (chosen.days * 86_400) - 1
    days = chosen.evaluation.intervals.get("days")
    if days is not None and days.high * 86_400 > deadline:
        yield PlanWarning(
            code="W001",
            message=(
                f"the {days.level:.0%} interval of the run, {span(days.low)} to "
                f"{span(days.high)}, straddles the deadline of "
                f"{span(deadline / 86_400)}"
            ),
            help=f"`--deadline {deadline / 86_400 / (days.high / chosen.days):.3g}d` "
            "asks for a plan whose interval clears it",
        )
    elif spare < KNIFE_EDGE:
        yield PlanWarning(
            code="W001",
            message=(
                f"{span(chosen.days)} are only {spare:.0%} below the deadline of "
                f"{span(deadline / 86_400)}: a knife edge"
            ),
            help="see what an earlier --deadline would cost, under sensitivity",
        )


def alternative_of(
    evaluation: TrainingEvaluation, **others: Any
) -> TrainingAlternative:
    """Put an evaluation up as an alternative, with what it does not say itself."""
    return TrainingAlternative(
        days=evaluation.days,
        mfu=evaluation.mfu,
        goodput=evaluation.goodput,
        run_usd=evaluation.run.usd,
        accelerators=evaluation.accelerators,
        power_watts=evaluation.power_watts,
        **others,
    )
