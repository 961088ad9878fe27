"""Why there is no fleet: a smallest conflict, and how much more of each would do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planopt.fleet.mix import mix
from planopt.fleet.problem import Container, Stream
from planopt.plan import Change, Infeasibility, Limit
from planopt.procurement.conflict import minimal_conflict
from planopt.procurement.solver import Effort

if TYPE_CHECKING:
    from planopt.fleet.problem import Fleet
    from planopt.fleet.question import Question
    from planopt.procurement import Solver

__all__ = ["explain"]

SECONDS = 5.0
"""For each question that an explanation asks."""

CENTS = 100
STEPS = {
    "budget": 1000 * CENTS,
    "power": 1000,
    "rack power": 1000,
    "rack units": 42 * 100,
}
"""In what steps more of a limit is sought; single pieces where nothing is said."""

MOST_STEPS = 10**6


def explain(question: Question, solver: Solver) -> Infeasibility:
    """Find a conflict that cannot be resolved within itself, and what resolves it."""
    fleet = question.fleet
    unserved = [
        stream.name
        for place, stream in enumerate(fleet.streams)
        if stream.active and not fleet.of_stream[place]
    ]
    if unserved:
        return Infeasibility(
            binding=tuple(
                Limit(name=name, value="the promise of its class") for name in unserved
            ),
            note="none of the hardware in the file can keep these promises: allow a "
            "lower target or a longer time to the first token, or other hardware",
        )
    names = [stream.name for stream in fleet.streams if stream.active]
    groups = (*names, *sorted(fleet.limits))

    def feasible(kept: tuple[str, ...]) -> bool:
        model = mix(_only(fleet, kept)).model
        outcome = solver.solve(model, SECONDS, effort=Effort(first=True))
        return outcome.status != "infeasible"

    if feasible(groups):
        return Infeasibility(note="no plan was found within the time limit")
    conflict = minimal_conflict(groups, feasible)
    return Infeasibility(
        binding=tuple(_limit(fleet, name) for name in conflict),
        nearest=tuple(
            change
            for name in conflict
            if name in fleet.limits
            and (change := _enough(fleet, name, solver)) is not None
        ),
        note=None if conflict else "nothing can be had even without limits",
    )


def _only(fleet: Fleet, kept: tuple[str, ...]) -> Fleet:
    """Return the question with only these demands and limits."""
    streams = tuple(
        stream
        if stream.name in kept
        else Stream(stream.name, tuple(() for _ in stream.periods), stream.losses)
        for stream in fleet.streams
    )
    limits = {name: limit for name, limit in fleet.limits.items() if name in kept}
    return replace(fleet, streams=streams, limits=limits)


def _enough(fleet: Fleet, name: str, solver: Solver) -> Change | None:
    """Find how much of one limit is enough, all others as they are."""
    step = STEPS.get(name.partition(":")[0], 1)
    more = Container(f"more {name}", {name: step}, 1, MOST_STEPS)
    free = tuple(
        replace(kit, charge_cents=tuple(0 for _ in kit.charge_cents))
        if kit.way != "rent"
        else replace(kit, micro_usd_per_hour=0)
        for kit in fleet.kits
    )
    elastic = replace(fleet, kits=free, containers=(more,))
    outcome = solver.solve(mix(elastic).model, SECONDS)
    if outcome.objective is None:
        return None
    enough = fleet.limits[name] + step * outcome.objective
    changed = replace(fleet, limits={**fleet.limits, name: enough})
    free_mix = mix(changed)
    solved = solver.solve(free_mix.model, SECONDS)
    if solved.objective is None:
        return None
    return Change(
        options={name: _amount(name, enough)},
        summary=f"a fleet for ${solved.objective / CENTS:,.0f} over all periods",
        note="least that does, all else as it is"
        if outcome.status == "optimal"
        else "it does; less may, too",
    )


def _limit(fleet: Fleet, name: str) -> Limit:
    if name in fleet.limits:
        return Limit(name=name, value=_amount(name, fleet.limits[name]))
    stream = next(each for each in fleet.streams if each.name == name)
    peak = max(map(stream.peak, stream.active)) / 10**6
    return Limit(name=name, value=f"{peak:,.3g} per second at the highest peak")


def _amount(name: str, amount: int) -> str:
    kind = name.partition(":")[0]
    if kind == "budget":
        return f"${amount / CENTS:,.0f}"
    if kind in ("power", "rack power"):
        return f"{amount / 1000:,.1f} kW"
    if kind == "rack units":
        return f"{amount / 100:,.0f} U"
    return f"{amount:,}"
