"""Why there is no fleet: a smallest conflict, and how much more of each would do."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from planopt.documents.explanations import Change, Infeasibility, Limit
from planopt.fleets.problem import Container, Fleet
from planopt.fleets.programme import Mix
from planopt.fleets.question import PER_UNIT, SHARES_OF_A_RACK_UNIT
from planopt.procurement.purchase import minimal_conflict
from planopt.procurement.solver import Effort, Solver
from planopt.units import CENTS

SECONDS = 5.0  # For each question that an explanation asks, at most

KINDS = {
    "budget": (1000 * CENTS, CENTS, "${:,.0f}"),
    "power": (1000, 1000, "{:,.1f} kW"),
    "rack power": (1000, 1000, "{:,.1f} kW"),
    "rack units": (42 * SHARES_OF_A_RACK_UNIT, SHARES_OF_A_RACK_UNIT, "{:,.0f} U"),
}
"""In what steps more of a limit is sought, and in what it is told; single pieces where
nothing is said."""
PIECES = 1, 1, "{:,.0f}"

MOST = 10**6  # Of such steps


def explain(fleet: Fleet, solver: Solver, time_limit: float) -> Infeasibility:
    """Find a conflict that cannot be resolved within itself, and what resolves it."""
    if fleet.unserved:
        value = "the promise of its class"
        return Infeasibility(
            binding=tuple(Limit(name=name, value=value) for name in fleet.unserved),
            note="none of the hardware in the file can keep these promises: allow a "
            "lower target or a longer time to the first token, or other hardware",
        )
    return _Explanation(fleet, solver, time_limit).infeasibility()


@dataclass
class _Explanation:
    """What is asked of one fleet, and how much time there is for it."""

    fleet: Fleet
    solver: Solver
    time_limit: float
    started: float = field(default_factory=time.monotonic)
    cut_short: bool = False  # Whether something was not asked because the time was over

    def infeasibility(self) -> Infeasibility:
        names = [stream.name for stream in self.fleet.streams if stream.active]
        groups = (*names, *sorted(self.fleet.limits))
        conflict = minimal_conflict(groups, self._feasible)
        changes = [
            self._enough(name, conflict)
            for name in conflict
            if name in self.fleet.limits
        ]
        note = None if conflict else "nothing can be had even without limits"
        if self.cut_short:
            note = (
                "the time limit came first: a longer one may find a smaller conflict "
                "and more that would do"
            )
        return Infeasibility(
            binding=tuple(_limit(self.fleet, name) for name in conflict),
            nearest=tuple(change for change in changes if change is not None),
            note=note,
        )

    def _left(self) -> float:
        return max(0.0, self.started + self.time_limit - time.monotonic())

    def _feasible(self, kept: tuple[str, ...]) -> bool:
        """Whether demands and limits can hold together, as far as there is time."""
        everything = {each.name for each in self.fleet.streams if each.active}
        if everything.union(self.fleet.limits) <= set(kept):
            return False  # which is why this is asked
        left = self._left() - self.time_limit / 2
        if left <= 0:
            self.cut_short = True
            return True
        effort = Effort(first=True)
        model = Mix(_only(self.fleet, kept)).model
        outcome = self.solver.solve(model, min(SECONDS, left), effort=effort)
        return outcome.status != "infeasible"

    def _enough(self, name: str, conflict: Sequence[str]) -> Change | None:
        """Find how much of one limit is enough, all others as they are."""
        limited = [each for each in conflict if each in self.fleet.limits]
        fixes_left = len(limited) - limited.index(name)
        seconds = min(SECONDS, self._left() / fixes_left / 2)
        if seconds <= 0:
            self.cut_short = True
            return None
        step, _, _ = _kind(name)
        elastic = _without_prices(self.fleet, Container(name, {name: step}, 1, MOST))
        least = self.solver.solve(Mix(elastic).model, seconds)
        if least.objective is None:
            return None
        enough = self.fleet.limits[name] + step * least.objective
        changed = replace(self.fleet, limits={**self.fleet.limits, name: enough})
        solved = self.solver.solve(Mix(changed).model, seconds)
        if solved.objective is None:
            return None
        return Change(
            options={name: _amount(name, enough)},
            summary=f"a fleet for ${solved.objective / CENTS:,.0f} over all periods",
            note="least that does, all else as it is"
            if least.status == "optimal"
            else "it does; less may, too",
        )


def _only(fleet: Fleet, kept: tuple[str, ...]) -> Fleet:
    """Return the question with only these demands and limits."""
    streams = enumerate(fleet.streams)
    asked = fleet.asking({place for place, each in streams if each.name in kept})
    limits = {name: limit for name, limit in fleet.limits.items() if name in kept}
    return replace(asked, limits=limits)


def _without_prices(fleet: Fleet, more: Container) -> Fleet:
    """Return the question of how much more of a limit is needed, whatever it costs."""
    nothing = (0,) * len(fleet.periods)
    free = tuple(
        replace(kit, charge_cents=nothing, micro_usd_per_hour=0) for kit in fleet.kits
    )
    return replace(fleet, kits=free, containers=(more,))


def _limit(fleet: Fleet, name: str) -> Limit:
    if name in fleet.limits:
        return Limit(name=name, value=_amount(name, fleet.limits[name]))
    stream = next(each for each in fleet.streams if each.name == name)
    peak = stream.highest / PER_UNIT
    return Limit(name=name, value=f"{peak:,.3g} per second at the highest peak")


def _amount(name: str, amount: int) -> str:
    _, unit, form = _kind(name)
    return form.format(amount / unit)


def _kind(name: str) -> tuple[int, int, str]:
    return KINDS.get(name.partition(":")[0], PIECES)
