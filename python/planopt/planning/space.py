"""Which space an answer covers, and what that leaves out, in a buyer's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from planopt.catalog.open import LIMITED_TO
from planopt.documents.fleet_request import FleetRequest
from planopt.documents.parts import NotConsidered, Restriction, Space
from planopt.documents.plan import Plan, TrainingPlan
from planopt.planning.question import AnyQuestion, ServingQuestion


class _Limit(NamedTuple):
    """What is not searched, unless an option lifts it."""

    what: str
    options: tuple[str, ...]
    loss: float | None
    """Share of the price that lifting it took off at worst: `make audit`, whose table
    of 2026-11-27 stands in docs/explanation/promises.md, and for hosts that are shared
    34 questions of `make overlays` with `--relaxed`; none is not measured."""


UNLIKE: Final = "cards of different kinds in one replica"
CHAINS: Final = (
    "chains of two stocked kinds, in one host or a machine each on one network, cut "
    "for the most tokens"
)
SHARED: Final = "hosts shared by replicas of different layouts"
_ANY: Final[tuple[_Limit, ...]] = (
    _Limit("used cards", ("condition",), 0.109),
    _Limit("two-card hosts and others on request", ("host",), 0.0),
)
_SERVING: Final[tuple[_Limit, ...]] = (
    *_ANY,
    _Limit("cards at less than their power", ("max_power",), 0.058),
    _Limit("micro-batches in flight other than the stages", ("in_flight",), 0.0),
    _Limit("two-batch overlap", ("overlap",), 0.0),
    _Limit("stages over TCP", ("allow_odd",), 0.0),
    _Limit("weights in the host's memory", (), 0.0),
    _Limit(UNLIKE, ("own",), None),
    _Limit(SHARED, (), 0.0),
)
_TRAINING: Final[tuple[_Limit, ...]] = (
    *_ANY,
    _Limit("uneven pipelines", ("allow_odd",), 0.0),
    _Limit("optimizer and activations in the host's memory", (), 0.0),
    _Limit("cards of different kinds in one run", ("stock", "own"), None),
)


def space(
    question: AnyQuestion, plan: Plan | TrainingPlan, left_out: Sequence[NotConsidered]
) -> Space:
    """Say what was searched, and what was not."""
    problem = question.problem
    number = _kinds(question, left_out)
    kinds = "kind" if number == 1 else "kinds"
    got = {"rent": "rented", "both": f"bought {problem.condition} or rented"}
    how = got.get(problem.procurement, f"bought {problem.condition}")
    places = [
        f"{'the named' if named else 'every'} {what}"
        for what, named in (("host", problem.hosts), ("network", problem.networks))
    ]
    if isinstance(plan, Plan):
        divided = "every way to divide the model among like cards, any mix of replicas"
        pools = "one pool" if plan.pools_bound_usd is None else "one pool or two"
        ways, limits = f"{divided}, {pools}", _SERVING
        if isinstance(question, ServingQuestion) and question.asked_chains:
            ways += f", or {CHAINS}"
            limits = tuple(each for each in limits if each.what != UNLIKE)
    else:
        ways, limits = "every way to divide the run among like cards", _TRAINING
    return Space(
        text=f"{number} {kinds} of accelerators, {how}, in {' and '.join(places)} "
        f"that takes them: {ways}",
        accelerators=number,
        restrictions=tuple(
            Restriction(what=limit.what, loss=limit.loss)
            for limit in limits
            if not problem.typed.keys() & set(limit.options)
        ),
    )


_FLEETS: Final = (
    "hosts shared by several demands at a time",
    "two pools",
    UNLIKE,
    "cards at less than their power",
)


def fleet_space(request: FleetRequest) -> Space:
    """Say what of a fleet was searched, and what was not."""
    ways = {"bought": request.buy, "owned": request.own, "rented": request.rent}
    had = " or ".join(way for way, sources in ways.items() if sources)
    cards = {each.accelerator for each in request.buy}
    cards |= {each.accelerator for each in request.own}
    cards |= {each.accelerator for each in request.rent}
    counted = (
        (len(cards), "kind", "of accelerators"),
        (len(request.regions), "region", ""),
        (request.periods, "period", ""),
    )
    kinds, regions, periods = (
        f"{many} {what}{'s' * (many != 1)} {of}".rstrip() for many, what, of in counted
    )
    return Space(
        text=f"{kinds}, {had} as the file lists them, in {regions} over {periods}: "
        "each demand on any mix of units of like cards, whose hosts stay and may serve "
        "another demand in a later period",
        accelerators=len(cards),
        restrictions=tuple(Restriction(what=what) for what in _FLEETS),
    )


def _kinds(question: AnyQuestion, left_out: Sequence[NotConsidered]) -> int:
    """Count the accelerators that something could be built of."""
    problem = question.problem
    every = problem.accelerators or [
        each.id for each in question.catalog.list("accelerators")
    ]
    out = {
        name for each in left_out if each.what == "accelerators" for name in each.names
    }
    named = {each.partition(LIMITED_TO)[0] for each in every}
    return len(named - out - set(problem.exclude))
