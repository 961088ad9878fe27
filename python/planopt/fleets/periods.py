"""Periods by themselves, each proven: a bound that knows whole hosts, and more covers.

The bound of `planopt.fleets.cover` shares out by fractions what is owned and what a
quota leaves. A period by itself is small enough to be proven with its limits in whole
copies, by all covers that could matter (docs/reference/fleet.md, section 5).
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from operator import itemgetter

from planopt.fleets.cover import Cover, Master, Prices, cheapest, every, generate
from planopt.fleets.problem import Fleet, Kit, Purchase
from planopt.procurement.solver import Effort, Solver

NO_LIMIT = 2**62

FIRST_ROOM = 256
"""Which part of the bound the room is at first: an answer found there tells how much of
it is needed."""
GROWING = 4
LOOKS = 6
"""How often covers are looked for, at most: in so many times the room where the answer
asks for it, in half of it where they are too many; then less is proven."""


def settle_periods(
    fleet: Fleet,
    solver: Solver,
    known: Iterable[Cover],
    deadline: float,
    effort: Effort,
) -> tuple[int, list[Cover]]:
    """Settle each period by itself, from known covers.

    Return what no answer costs less than, and covers that a good one is of.
    """
    known = tuple(known)
    bound, covers = 0, []
    for period in fleet.periods:
        there = [_moved(each, 0) for each in known if each.period == period]
        least, found = _settle(_alone(fleet, period), solver, there, deadline, effort)
        bound += least
        covers += [_moved(each, period) for each in found]
    return bound, covers


def _settle(
    fleet: Fleet,
    solver: Solver,
    known: Iterable[Cover],
    deadline: float,
    effort: Effort,
) -> tuple[int, Sequence[Cover]]:
    """Prove the best choice of one period, as far as its covers can be told."""
    generated = generate(fleet, solver, known, deadline)
    least, covers = generated.bound_cents, generated.master.covers
    bound, room, too_many = least, 1 + least // FIRST_ROOM, False
    for _ in range(LOOKS):
        found = _within(fleet, generated.prices, room)
        if found is None:
            room, too_many = room // 2, True
            continue
        covers = found
        master = Master(fleet, _unbeaten(fleet, covers), relaxing=True)
        left = max(0.0, deadline - time.monotonic())
        best = solver.solve(master.model, left, effort=effort)
        if best.status == "unknown":
            break
        proven = least + room if best.bound is None else best.bound
        bound = max(bound, min(proven, least + room))
        needed = GROWING * room
        if best.objective is not None:
            needed = min(needed, best.objective - least)
        if too_many or needed <= room:
            break
        room = needed
    return bound, covers


def _within(fleet: Fleet, prices: Prices, room: int) -> list[Cover] | None:
    """Find the covers that cost no more than the cheapest of their demand and so much.

    None if there are too many.
    """
    found: list[Cover] = []
    for stream, asked in enumerate(fleet.streams):
        for period in asked.active:
            least, _ = cheapest(fleet, stream, period, prices, NO_LIMIT)
            covers = every(fleet, stream, period, prices, least + room + 1)
            if covers is None:
                return None
            found += covers
    return found


def _unbeaten(fleet: Fleet, covers: Sequence[Cover]) -> list[Cover]:
    """Leave out of a period what costs more than another and uses no less.

    Of what is scarce alone: limits count only if all demands can exceed them together.
    """
    charges = {(kit, 0): sum(each.charge_cents) for kit, each in enumerate(fleet.kits)}
    of_demand = defaultdict(list)
    for cover in covers:
        there, uses = cover.at_peak, Counter[str]()
        for counts in (there.deployed, there.rented):
            for key, copies in counts.items():
                for name, amount in fleet.uses[key[0]].items():
                    uses[name] += amount * copies
        cents = cover.price_cents(fleet, Prices(charges, {}))
        of_demand[cover.demand].append((cents, uses, cover))
    given = {name for each in fleet.containers for name in each.gives}
    scarce = [
        name
        for name, limit in fleet.limits.items()
        if name in given
        or limit < sum(max(u[name] for _, u, _ in each) for each in of_demand.values())
    ]
    kept = []
    for each in of_demand.values():
        best: list[list[int]] = []
        for _, uses, cover in sorted(each, key=itemgetter(0)):
            mine = [uses[name] for name in scarce]
            if not any(all(map(int.__le__, other, mine)) for other in best):
                best.append(mine)
                kept.append(cover)
    return kept


def _alone(fleet: Fleet, period: int) -> Fleet:
    """Return a period as a question of its own."""
    return replace(
        fleet,
        streams=tuple(
            replace(each, periods=each.periods[period : period + 1])
            for each in fleet.streams
        ),
        kits=tuple(_at_price_of(each, period) for each in fleet.kits),
        containers=tuple(
            replace(each, charge_cents=each.charge_cents // len(fleet.periods))
            for each in fleet.containers
        ),
    )


def _at_price_of(kit: Kit, period: int) -> Kit:
    """Charge for a copy what is saved by acquiring it one period later.

    From each period on these come to no more than the charge of that period.
    """
    if kit.way == "rent":
        return kit
    ahead = [*accumulate(kit.charge_cents, min), 0]
    return replace(kit, charge_cents=(ahead[period] - ahead[period + 1],))


def _moved(cover: Cover, period: int) -> Cover:
    """Return a cover in another period."""
    copies = cover.purchase
    moved = Purchase(
        deployed={(place, period): n for (place, _), n in copies.deployed.items()},
        rented={(place, period, s): n for (place, _, s), n in copies.rented.items()},
    )
    return replace(cover, period=period, purchase=moved)
