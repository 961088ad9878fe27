"""Column generation: covers that are worth choosing from, and the bound they prove.

Each round prices hardware and limits by the relaxed choice among the covers so far,
and adds the cheapest cover of each demand at these prices. Prices swing at first, so a
round goes half way from the best ones so far to the new ones (Wentges, 1997); where
that finds nothing, the whole way.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt.fleets.cover import Cover, cheapest
from planopt.fleets.master import Master
from planopt.procurement.solver import Effort

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planopt.fleets.cover import Prices
    from planopt.fleets.problem import Fleet
    from planopt.procurement.solver import Solver


MOST_ROUNDS = 60
ENOUGH = 1e-3
"""Share of the relaxed choice's cost that a better bound could still gain."""

RELAXED = Effort(method="linear")


@dataclass(frozen=True)
class Generated:
    """The choice among covers, and what no answer costs less than."""

    master: Master
    bound_cents: int
    by_the_clock: bool
    """Whether time ended it."""


def generate(
    fleet: Fleet, solver: Solver, known: Iterable[Cover], deadline: float
) -> Generated:
    """Generate covers from those of an answer."""
    covers = dict.fromkeys(known)
    best: Prices | None = None
    bound, stalled, by_the_clock = 0, False, False
    master = Master(fleet, tuple(covers))
    for _ in range(MOST_ROUNDS):
        left = deadline - time.monotonic()
        relaxed = solver.solve(master.relaxed, max(0.0, left), effort=RELAXED)
        if relaxed.status != "optimal":
            by_the_clock = left <= relaxed.seconds
            break
        prices = master.prices(relaxed.duals)
        straight = best is None or stalled
        if best is not None and not stalled:
            prices = best.towards(prices)
        found, cents = _priced(fleet, covers, prices)
        reached = master.bound(prices, cents)
        if best is None or reached > bound:
            best, bound = prices, max(bound, reached)
        enough = bound >= (1 - ENOUGH) * (relaxed.objective or 0)
        if enough or (straight and not found):
            break
        stalled = not found
        covers.update(dict.fromkeys(found))
        master = Master(fleet, tuple(covers))
    return Generated(master, bound, by_the_clock)


def _priced(
    fleet: Fleet, covers: Iterable[Cover], prices: Prices
) -> tuple[list[Cover], int]:
    """Find covers that cost less than all known ones, and what all cost at least."""
    known: dict[tuple[int, int], int] = {}
    for cover in covers:
        cents = cover.price_cents(fleet, prices)
        known[cover.demand] = min(cents, known.get(cover.demand, cents))
    found, total = [], 0
    for (stream, period), below in sorted(known.items()):
        cents, better = cheapest(fleet, stream, period, prices, below)
        total += cents
        if better is not None:
            found.append(better)
    return found, total
