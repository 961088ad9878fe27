"""From selections to the free mix: a proven start, then the best mix within the time.

docs/reference/fleet.md, section 5, says what each stage is, and how parts of a fleet go
through them. Selections mostly end at a proof; the clock stops the later stages, whose
work is fixed, only on machines that are too slow. The mixes of all and of few templates
begin where the selections end: with two solvers they run at the same time, and come to
the same.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from msgspec.structs import replace

from planopt.documents.fleet import StageNote
from planopt.errors import InternalError
from planopt.fleets.cover import Cover, Master, covers_of, generate, single_covers
from planopt.fleets.periods import settle_periods
from planopt.fleets.problem import Fleet, Purchase, cost_cents, shortfalls, total
from planopt.fleets.programme import Mix, Programme, Selection
from planopt.procurement.solver import (
    Effort,
    Outcome,
    SolveInterrupted,
    Solver,
    Status,
)
from planopt.units import CENTS

QUARTERS = 4  # Parts that a demand is divided into where two shapes share it

NEAREST = 0.1
NEAR = 0.06
"""Work of the mix of the nearest template of each pool, and of each later one, which
looks around the best so far, among twice as many."""

GENERATING = 0.45
CHOOSING = 0.35
"""Share of the time limit after which prices, and the choice among covers, are left as
they are."""
SETTLING = 0.8
"""Share of what time is left after which periods by themselves are left as they are."""

SETTLED = 0.5
"""Work of each proof of a period, and of the choice among their covers."""
MANY_PARTS = 20
"""Parts from which on there is no selection: to state it takes longer than to choose
among covers, which are of one template each to begin with."""

TWO_SHAPES = 0.2
WHOLE = 0.1
"""Work of the selection of two shapes, and of the mix of all templates. All work is a
share of the time limit, in CP-SAT's deterministic seconds, of which one takes one to
two seconds of a core. Together with the mixes near at hand they come to all of it."""
ROUNDS = round((1 - TWO_SHAPES - WHOLE - NEAREST) / NEAR)


@dataclass
class Answer:
    """The best purchase that was found until now."""

    purchase: Purchase | None = None
    cost_cents: int | None = None
    bound_cents: int | None = None  # What none costs less than
    is_proven: bool = False
    """Whether the mix of all is proven: of several that cost the least, always its."""
    is_impossible: bool = False
    by_the_clock: bool = False
    """Whether time ended the search: a faster machine may come to another answer."""
    stages: list[StageNote] = field(default_factory=list)  # How it was found

    @property
    def status(self) -> Status:
        """Proven best of all mixes; best so far; proven that there is none; neither."""
        if self.purchase is not None:
            is_best = self.bound_cents == self.cost_cents
            return "optimal" if is_best else "feasible"
        return "infeasible" if self.is_impossible else "unknown"

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to be found."""
        met = self.bound_cents is not None and self.bound_cents == self.cost_cents
        return self.is_proven or self.is_impossible or met

    @property
    def gap(self) -> float | None:
        """Share of the cost by which it may be above the best."""
        if self.cost_cents is None or self.bound_cents is None:
            return None
        return (self.cost_cents - self.bound_cents) / max(1, self.cost_cents)


def dollars(cents: int | None) -> float | None:
    """Return cents, where they are known, as dollars."""
    return None if cents is None else cents / CENTS


Progress: TypeAlias = "Callable[[Answer], None]"


@dataclass(eq=False)
class StagesInterrupted(KeyboardInterrupt):
    """The user stopped the search; its answer is the best until then."""

    answer: Answer


def solve(
    fleet: Fleet,
    solvers: Sequence[Solver],
    time_limit: float,
    progress: Progress | None = None,
) -> Answer:
    """Find the cheapest answer."""
    search = _Search(fleet, time_limit, progress)
    try:
        search.run(solvers)
    except KeyboardInterrupt:
        raise StagesInterrupted(search.known) from None
    return search.known


class _Search:
    """The stages of one question, and the best that they have come to."""

    def __init__(
        self, fleet: Fleet, time_limit: float, progress: Progress | None
    ) -> None:
        self.known = Answer()
        self._fleet = fleet
        self._progress = progress
        self._time_limit = time_limit
        self._deadline = time.monotonic() + time_limit
        self._lock = threading.Lock()

    def run(self, solvers: Sequence[Solver]) -> None:
        """Go through the stages."""
        parts = parts_of(self._fleet)
        many = len(parts) >= MANY_PARTS
        if not many:
            self._select(solvers[0])
        covers: Sequence[Cover] = ()
        if many or (self.known.purchase is not None and len(self._fleet.periods) > 1):
            covers = self._generate(solvers[0])
        if many:
            covers = ()
        if len(parts) < 2 or not self._mix_parts(parts, solvers, covers):
            self._settle(solvers[0], covers)
            self._mix(solvers)

    def _select(self, solver: Solver) -> None:
        """Find the best selections."""
        one, two = Selection(self._fleet), Selection(self._fleet, QUARTERS)
        outcome = self._solve(solver, "one shape", one, Effort())
        known = two.widened(one, outcome.values) if outcome.values else None
        effort = Effort(work=TWO_SHAPES * self._time_limit)
        self._solve(solver, "two shapes", two, effort, known)

    def _generate(self, solver: Solver) -> Sequence[Cover]:
        """Choose among generated covers; their prices prove a bound."""
        started = time.monotonic()
        deadline = started + GENERATING * self._time_limit
        best = self.known.purchase
        known = [] if best is None else [*covers_of(self._fleet, best)]
        if len(self._fleet.periods) == 1:
            known += single_covers(self._fleet)
        covers = generate(self._fleet, solver, known, deadline)
        self.known.by_the_clock |= covers.by_the_clock
        self._raise_bound(covers.bound_cents)
        seconds = time.monotonic() - started
        self._note("prices", "unknown", None, self.known.bound_cents, seconds)
        choosing = Effort(method="branch-and-cut")
        self._solve(solver, "covers", covers.master, choosing, share=CHOOSING)
        return covers.master.covers

    def _settle(self, solver: Solver, covers: Sequence[Cover]) -> None:
        """Prove each period by itself, and choose among the covers that come up."""
        if not covers:
            return  # Of a single period, or of many parts.
        started = time.monotonic()
        deadline = started + SETTLING * max(0.0, self._deadline - started)
        effort = Effort(work=SETTLED * self._time_limit, relaxing=True)
        bound, found = settle_periods(self._fleet, solver, covers, deadline, effort)
        self.known.by_the_clock |= time.monotonic() >= deadline
        self._raise_bound(bound)
        seconds = time.monotonic() - started
        self._note("periods", "unknown", None, bound, seconds)
        master = Master(self._fleet, tuple(dict.fromkeys([*covers, *found])))
        self._solve(solver, "covers", master, effort)

    def _mix_parts(
        self,
        parts: Sequence[Fleet],
        solvers: Sequence[Solver],
        covers: Sequence[Cover],
    ) -> bool:
        """Mix each part by itself; tell whether that settles the whole."""
        searches: list[_Search] = []
        for number, part in enumerate(parts, start=1):
            now = time.monotonic()
            left = self._deadline - now
            if left <= 0 and self.known.purchase is not None:
                self.known.by_the_clock = True
                return True
            search = _Search(part, self._time_limit / len(parts), None)
            if self.known.purchase is not None:
                search._keep_better(of_part(part, self.known.purchase))
            searches.append(search)
            search._deadline = now + max(0.0, left) / (len(parts) - number + 1)
            try:
                active = [bool(each.active) for each in part.streams]
                ours = [each for each in covers if active[each.stream]]
                search._settle(solvers[0], ours)
                search._mix(solvers)
            except KeyboardInterrupt:
                self._put_together(searches)
                raise
            of = f"part {number} of {len(parts)}"
            for stage in search.known.stages:
                self.known.stages.append(replace(stage, name=f"{of}: {stage.name}"))
                self._tell()
        self.known.by_the_clock |= any(each.known.by_the_clock for each in searches)
        self.known.is_impossible = any(each.known.is_impossible for each in searches)
        bounds = [each.known.bound_cents for each in searches]
        if None not in bounds:
            self._raise_bound(sum(each for each in bounds if each is not None))
        return self.known.is_impossible or self._put_together(searches)

    def _put_together(self, parts: Sequence[_Search]) -> bool:
        """Take what the parts buy for an answer, if it keeps the limits together."""
        bought = [each.known.purchase for each in parts]
        if None in bought:
            return False
        whole = total((each, 1) for each in bought if each is not None)
        if shortfalls(self._fleet, whole):
            return False
        self._keep_better(whole, proven=all(each.known.is_proven for each in parts))
        return True

    def _mix(self, solvers: Sequence[Solver]) -> None:
        """Mix freely, from where the selections have ended.

        Until the proof, or until the work is done that the time limit is good for.
        """
        if self.known.is_settled:
            return
        start = self.known.purchase
        if len(solvers) == 1:
            self._mix_all(solvers[0], start)
            if not self.known.is_settled:
                self._mix_near(solvers[0], start)
        else:
            self._mix_both(solvers, start)
        for done in range(1, ROUNDS + 1):
            if self.known.is_settled:
                return
            if time.monotonic() >= self._deadline:
                self.known.by_the_clock = True
                return
            self._mix_near(solvers[0], self.known.purchase, done)

    def _mix_both(self, solvers: Sequence[Solver], start: Purchase | None) -> None:
        """Mix few and all templates at the same time."""
        with ThreadPoolExecutor(2) as pool:
            both = [
                pool.submit(self._mix_near, solvers[0], start),
                pool.submit(self._mix_all, solvers[1], start),
            ]
            try:
                for each in both:
                    each.result()
            except KeyboardInterrupt:
                for solver in solvers:
                    solver.stop()
                raise

    def _mix_near(self, solver: Solver, start: Purchase | None, done: int = 0) -> None:
        """Mix few templates: in each round twice as many, around the best so far."""
        few = near(self._fleet, start, 2**done)
        free = Mix(few)
        hint = None if start is None else free.values(start)
        effort = self._work(NEAR if done else NEAREST)
        if done and hint is not None:
            effort = Effort(effort.work, improving=True, seed=done)
        name = f"mix of {len(few.offered)} templates"
        self._solve(solver, name, free, effort, hint)

    def _mix_all(self, solver: Solver, start: Purchase | None) -> None:
        free = Mix(self._fleet)
        hint = None if start is None else free.values(start)
        outcome = self._solve(solver, "mix of all", free, self._work(WHOLE), hint)
        if outcome.bound is not None:
            self._raise_bound(outcome.bound)
        self.known.is_impossible = outcome.status == "infeasible"
        if outcome.status == "optimal":
            self._keep_better(free.purchase(outcome.values), proven=True)

    def _raise_bound(self, bound: int) -> None:
        with self._lock:
            known = self.known.bound_cents
            self.known.bound_cents = bound if known is None else max(bound, known)

    def _work(self, share: float) -> Effort:
        return Effort(work=share * self._time_limit, relaxing=True)

    def _solve(
        self,
        solver: Solver,
        name: str,
        stated: Programme,
        effort: Effort,
        hint: Sequence[int] | None = None,
        share: float = 1.0,
    ) -> Outcome:
        started = time.monotonic()
        left = max(0.0, min(share * self._time_limit, self._deadline - started))
        try:
            outcome = solver.solve(stated.model, left, hint, effort)
        except SolveInterrupted as stop:
            self._keep(stop.outcome, stated)
            raise
        self._keep(outcome, stated)
        seconds = time.monotonic() - started
        with self._lock:
            unfinished = outcome.status in ("feasible", "unknown")
            self.known.by_the_clock |= unfinished and seconds >= left
            self._note(name, outcome.status, outcome.objective, outcome.bound, seconds)
        return outcome

    def _note(
        self,
        name: str,
        status: Status,
        cost: int | None,
        bound: int | None,
        seconds: float,
    ) -> None:
        """Note what a stage came to, of its own programme."""
        self.known.stages.append(
            StageNote(
                name=name,
                status=status,
                total_usd=dollars(cost),
                bound_usd=dollars(bound),
                seconds=seconds,
            )
        )
        self._tell()

    def _tell(self) -> None:
        """Tell what is known."""
        if self._progress is not None:
            self._progress(self.known)

    def _keep(self, outcome: Outcome, stated: Programme) -> None:
        """Keep a solution that is better; what the solver says is added up again."""
        if outcome.objective is None:
            return
        purchase = stated.purchase(outcome.values)
        if broken := shortfalls(self._fleet, purchase):
            if outcome.bound is None:  # Of floating point, which may miss by a little.
                return
            raise InternalError.of("E903", f"the solver's answer breaks {broken}")
        self._keep_better(purchase)

    def _keep_better(self, purchase: Purchase, *, proven: bool = False) -> None:
        """Keep what costs less; of equals, in whatever order, the first by spelling."""
        cost, known = cost_cents(self._fleet, purchase), self.known
        with self._lock:
            if known.is_proven:
                return
            if (
                proven
                or known.purchase is None
                or (cost, purchase.spelling)
                < (known.cost_cents, known.purchase.spelling)
            ):
                known.purchase, known.cost_cents = purchase, cost
            known.is_proven = proven


def parts_of(fleet: Fleet) -> list[Fleet]:
    """Divide a fleet; places of streams, kits and templates stay what they are.

    Demands are in one part if some hardware can serve them both, one after the other:
    in a single period none can. Containers serve all.
    """
    if fleet.containers:
        return [fleet]
    groups = [{place} for place, each in enumerate(fleet.streams) if each.active]
    if len(fleet.periods) > 1:
        for templates in fleet.of_kit:
            linked = {fleet.templates[place].stream for place in templates}
            apart = [group for group in groups if not group & linked]
            joined = [group for group in groups if group & linked]
            groups = [*apart, set().union(*joined)] if joined else apart
    return [fleet.asking(group) for group in sorted(groups, key=min)]


def of_part(part: Fleet, purchase: Purchase) -> Purchase:
    """Take from an answer of the whole what is for a part."""
    asked = [place for place, each in enumerate(part.streams) if each.active]
    templates = {template for place in asked for template in part.of_stream[place]}
    copies = purchase.at_work(templates, part.periods)
    kits = {part.templates[template].kit for template, _ in copies.deployed}
    acquired = {key: n for key, n in purchase.acquired.items() if key[0] in kits}
    return Purchase(acquired, copies.deployed, copies.rented)


def near(fleet: Fleet, known: Purchase | None, each: int) -> Fleet:
    """Keep what a known answer is of, and so many of each pool that cost least.

    Of thousands of templates a good mix uses a dozen, and these are most of them: a
    small problem, whose answers are answers of the whole.
    """
    kept: set[int] = set()
    if known is not None:
        kept |= {key[0] for key in (*known.deployed, *known.rented)}
    pools: dict[tuple[int, str], list[tuple[Fraction, int]]] = defaultdict(list)
    for place in fleet.offered:
        kit = fleet.kit_of(place)
        cost = kit.micro_usd_per_hour if kit.way == "rent" else kit.charge_cents[0]
        template = fleet.templates[place]
        ranked = Fraction(cost, template.supply), place
        pools[template.stream, kit.pool].append(ranked)
    for pool in pools.values():
        kept |= {place for _, place in sorted(pool)[:each]}
    return fleet.only(sorted(kept))
