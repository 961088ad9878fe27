"""No plan for a run: the limits that cannot hold together, and what would."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace as with_fields

from planopt.acquisition import BUYING
from planopt.documents.explanations import Change, Infeasibility, Limit
from planopt.documents.parts import Accuracy
from planopt.documents.plan import TrainingPlan
from planopt.price_sources import is_rough
from planopt.procurement import minimal_conflict
from planopt.training.problem import LARGEST_CLUSTER
from planopt.training.renting import renting
from planopt.training.together import together
from planopt.training.why import held_back, span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt.training.build import TrainingBuild
    from planopt.training.problem import TrainingProblem
    from planopt.training.question import TrainingQuestion

__all__ = ["infeasible_plan"]

SECONDS_PER_DAY = 86_400
BUDGET_STEP_USD = 1000
"""Budgets are proposed in whole thousands of dollars, upwards."""

Drop = dict[str, Any]
_ANYWHERE: Drop = {"providers": (), "regions": ()}


def infeasible_plan(question: TrainingQuestion, started: float) -> TrainingPlan:
    """Say why there is no plan, and what is nearest to one.

    Parameters
    ----------
    question : TrainingQuestion
        What was asked.
    started : float
        When it was asked, on the monotonic clock.
    """
    problem = question.problem
    why = Infeasibility(
        binding=tuple(_conflict(question)),
        nearest=tuple(_nearest(question)),
        note=held_back(question).sentence,
    )
    seconds = time.monotonic() - started
    return TrainingPlan(
        status="infeasible",
        objective=problem.objective,
        request=problem.request(),
        infeasibility=why,
        together=together(question),
        renting=renting(question.catalog, problem, None),
        search=with_fields(question.found.search, seconds=seconds),
        assumed=problem.assumed,
        assumptions=problem.assumptions,
        accuracy=Accuracy(statement="no plan: nothing was predicted"),
    )


# --- The conflict ---------------------------------------------------------------------


def _drops(problem: TrainingProblem) -> dict[str, Drop]:
    """List the limits that are set, with what the question is without each."""
    dropped: dict[str, Drop] = {
        "deadline": {"deadline_seconds": None},
        "budget": {"budget_usd": None},
        "power": {"max_power_watts": None},
        "racks": {"max_racks": None},
        "stock": {"stock": {}},
        "accelerators": {"accelerators": (), "exclude": ()},
        "hosts": {"hosts": ()},
        "networks": {"networks": ()},
        "max-accelerators": {"max_accelerators": LARGEST_CLUSTER},
        "redundancy": {"redundancy": None},
        "places": {"acquisition": replace(problem.acquisition, **_ANYWHERE)},
    }
    if not problem.acquisition.providers and not problem.acquisition.regions:
        del dropped["places"]
    return {
        name: drop
        for name, drop in dropped.items()
        if any(getattr(problem, field) not in (None, (), {}) for field in drop)
    }


def _conflict(question: TrainingQuestion) -> Iterator[Limit]:
    """Find the limits without any one of which there would be a plan."""
    problem = question.problem
    drops = _drops(problem)

    def feasible(kept: tuple[str, ...]) -> bool:
        changes: Drop = {}
        for name, drop in drops.items():
            if name not in kept:
                changes |= drop
        return question.about(**changes).best() is not None

    if feasible(()):
        for name in minimal_conflict(tuple(drops), feasible):
            yield Limit(name=name, value=_value(problem, name))
    known = question.catalog.native.model(
        {"model": problem.model, "kv_heads": problem.kv_heads}
    )
    billions = known["parameters"] / 1e9
    yield Limit(
        name="model",
        value=(
            f"{problem.model}, {billions:.1f}e9 parameters, {problem.tokens:.3g} "
            f"tokens, {problem.global_batch} sequences of {problem.seq_len} a step"
        ),
    )


def _value(problem: TrainingProblem, name: str) -> str:
    if name == "stock":
        return ", ".join(f"{count} of {part}" for part, count in problem.stock.items())
    if name == "accelerators":
        without = ", ".join(f"not {each}" for each in problem.exclude)
        return ", ".join(problem.accelerators) or without
    limits = {
        "deadline": span((problem.deadline_seconds or 0.0) / SECONDS_PER_DAY),
        "budget": problem.budget_usd,
        "power": problem.max_power_watts,
        "racks": problem.max_racks,
        "hosts": ", ".join(problem.hosts),
        "networks": ", ".join(problem.networks),
        "max-accelerators": problem.max_accelerators,
        "redundancy": problem.redundancy,
        "places": ", ".join(
            (*problem.acquisition.providers, *problem.acquisition.regions)
        ),
    }
    forms = {
        "deadline": "<= {}",
        "budget": "<= ${:,.0f}",
        "power": "<= {:,.0f} W",
        "racks": "<= {:g} racks",
        "max-accelerators": "<= {:,}",
        "redundancy": "{} spare hosts",
    }
    return forms.get(name, "{}").format(limits[name])


# --- The nearest changes --------------------------------------------------------------


def _nearest(question: TrainingQuestion) -> Iterator[Change]:
    """Propose changes, each asked again and found to have a plan."""
    problem = question.problem
    if problem.deadline_seconds is not None:
        yield from _later(question)
    if problem.budget_usd is not None:
        yield from _dearer(question)
    for option, field in (("max_power", "max_power_watts"), ("max_racks", "max_racks")):
        if getattr(problem, field) is not None:
            yield from _asked(question, {option: ""}, "without it", **{field: None})
    if problem.stock:
        yield from _asked(question, {"stock": ""}, "without this limit", stock={})
    if problem.redundancy is not None:
        note = "as many spare hosts as the assumptions ask for"
        yield from _asked(question, {"redundancy": ""}, note, redundancy=None)
    if problem.acquisition.providers or problem.acquisition.regions:
        yield from _asked(
            question,
            {"provider": "", "region": ""},
            "from anybody, anywhere",
            acquisition=replace(problem.acquisition, **_ANYWHERE),
        )
    if problem.rented:
        note = "a cluster that is still there after the run"
        yield from _asked(question, {"acquire": "buy"}, note, acquisition=BUYING)
    yield from _more_accelerators(question)
    if problem.accelerators:
        yield from _other_accelerators(question)
    for option, field in (("host", "hosts"), ("network", "networks")):
        if getattr(problem, field):
            yield from _asked(question, {option: ""}, "any other", **{field: ()})
    if problem.precision is None:
        note = "changes the numerics of training: check its quality"
        yield from _asked(question, {"precision": "fp8"}, note, precision="fp8")
    larger = 4 * problem.global_batch
    note = "a larger batch lets more replicas work; check that training converges"
    options = {"global_batch": f"{larger}"}
    yield from _asked(question, options, note, global_batch=larger)


def _asked(
    question: TrainingQuestion, options: dict[str, str], note: str, **changes: Any
) -> Iterator[Change]:
    """Ask with other options; a change only if there is a plan then."""
    build = question.about(**changes).best()
    if build is not None:
        yield _change(options, build, note)


def _change(options: dict[str, str], build: TrainingBuild, note: str) -> Change:
    return Change(
        options=options,
        summary=build.summary,
        price_usd=build.price_usd,
        price_is_rough=is_rough(build.bill_of_materials),
        days=build.days,
        note=note,
    )


def _later(question: TrainingQuestion) -> Iterator[Change]:
    """Find the earliest deadline that the other limits allow, and ask again with it."""
    fastest = held_back(question).build
    if fastest is None:
        return
    days = math.ceil(fastest.days)
    yield from _asked(
        question,
        {"deadline": f"{days}d"},
        "the earliest that the other limits allow",
        deadline_seconds=float(days * SECONDS_PER_DAY),
    )


def _dearer(question: TrainingQuestion) -> Iterator[Change]:
    """Find the budget that is needed, and ask again with it."""
    cheapest = question.about(budget_usd=None, objective="cheapest").best()
    if cheapest is None:
        return
    budget = math.ceil(cheapest.price_usd / BUDGET_STEP_USD) * BUDGET_STEP_USD
    yield from _asked(
        question,
        {"budget": f"{budget}"},
        "keeps every other limit",
        budget_usd=float(budget),
    )


def _more_accelerators(question: TrainingQuestion) -> Iterator[Change]:
    """Find how many accelerators are needed, and ask again with them."""
    more = question.about(max_accelerators=LARGEST_CLUSTER).best()
    if more is None:
        return
    needed = sum(
        line.quantity for line in more.bill_of_materials if line.kind == "accelerator"
    )
    needed = max(needed, more.evaluation.accelerators or 0)
    yield from _asked(
        question,
        {"max_accelerators": f"{needed}"},
        "keeps every other limit",
        max_accelerators=needed,
    )


def _other_accelerators(question: TrainingQuestion) -> Iterator[Change]:
    """Ask for any accelerator, and propose the one that is best."""
    other = question.about(accelerators=()).best()
    if other is not None:
        name = other.deployment.candidate.accelerator
        note = f"in {span(other.days)}"
        yield _change({"accelerators": name}, other, note)
