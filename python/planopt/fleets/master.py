"""The choice of a cover for each demand in each period: an integer programme.

It is the master programme of a column generation (Dantzig and Wolfe, 1960). Relaxed, it
prices hardware and limits; with these prices the cheapest covers add up to a bound of
all answers (`Master.bound`), whether they are among its covers or not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from planopt.fleets.cover import LIMIT_SCALE, Prices
from planopt.fleets.programme import Programme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.fleets.cover import Cover
    from planopt.fleets.problem import Fleet
    from planopt.fleets.purchase import Purchase
    from planopt.procurement.model import Model


class Master(Programme):
    """The programme of some covers, and what its variables and rows stand for."""

    def __init__(self, fleet: Fleet, covers: Sequence[Cover]) -> None:
        super().__init__(fleet)
        self._acquired: dict[tuple[int, int], int] = {}
        """Variables of the copies of a kit acquired in a period: (kit, period)."""
        for kit, entry in enumerate(fleet.kits):
            if entry.way != "rent" and fleet.of_kit[kit]:
                self._acquired.update(self.acquisitions(kit, _most(fleet, kit)))
        self.containers()
        self._covers = {self.choice(1, each.purchase): each for each in covers}
        """What there is to choose from, by variable; the last ones."""
        choices: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
        at_work: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
        for variable, cover in self._covers.items():
            choices[cover.demand][variable] = 1
            for (template, period), copies in cover.purchase.deployed.items():
                at_work[fleet.templates[template].kit, period][variable] += copies
        for (stream, _), ones in choices.items():
            self.row(fleet.streams[stream].name, ones, lower=1)
        self._kit_rows = {
            (kit, period): self.hosts(
                kit,
                [self._acquired[kit, sooner] for sooner in range(period + 1)],
                at_work[kit, period],
            )
            for kit, period in self._acquired
        }
        """Rows that ask for the copies at work of a kit in a period."""
        self._limit_rows = self.limits()
        """Rows that keep a limit in a period."""

    @property
    def relaxed(self) -> Model:
        """The programme whose duals are prices.

        A cover may be chosen more than once: a bound of 1 would take a share of the
        price of its demand.
        """
        most = max(1, len(self._covers))
        uppers = (
            most if place in self._covers else upper
            for place, upper in enumerate(self.uppers)
        )
        return replace(self.model, uppers=tuple(uppers))

    def prices(self, duals: Sequence[float]) -> Prices:
        """Read prices from the duals of the rows, rounded down."""

        def of(row: int | None, scale: int) -> int:
            return 0 if row is None else int(abs(duals[row]) * scale)

        names = sorted({name for name, _ in self._limit_rows})
        return Prices(
            {key: of(row, 1) for key, row in self._kit_rows.items()},
            {
                (name, period): of(self._limit_rows.get((name, period)), LIMIT_SCALE)
                for name in names
                for period in self.fleet.periods
            },
        )

    def bound(self, prices: Prices, covers_cents: int) -> int:
        """Tell what no answer costs less than, if covers cost that much at least.

        Whatever the prices are: paid for what is at work and used, and returned for
        what is acquired and for the limits, they cost an answer nothing (Lagrange).
        """
        fleet = self.fleet
        parts = covers_cents * LIMIT_SCALE
        for (name, _), price in prices.limits.items():
            parts -= price * fleet.limits[name]
        for (kit, period), variable in self._acquired.items():
            entry = fleet.kits[kit]
            rest = entry.charge_cents[period] * LIMIT_SCALE
            for later in fleet.periods[period:]:
                rest -= prices.kits[kit, later] * LIMIT_SCALE
                rest += prices.parts(entry.uses, later)
            parts += min(0, rest) * self.uppers[variable]
        for container in fleet.containers:
            rest = container.charge_cents * LIMIT_SCALE
            for period in fleet.periods:
                rest += prices.parts(container.uses, period)
                rest -= prices.parts(container.gives, period)
            parts += min(0, rest) * container.most
        return -(-parts // LIMIT_SCALE)

    def purchase(self, values: Sequence[int]) -> Purchase:
        """Read a choice: of several covers of a demand, the first."""
        read = list(values)
        served = set()
        for variable, cover in self._covers.items():
            if read[variable]:
                read[variable] = int(cover.demand not in served)
                served.add(cover.demand)
        return super().purchase(read)


def _most(fleet: Fleet, kit: int) -> int:
    """Count the copies of a kit that are of use: all demands met with it alone."""
    together = sum(
        fleet.copies(place, fleet.streams[fleet.templates[place].stream].highest)
        for place in fleet.of_kit[kit]
    )
    return min((together, *fleet.allowed(fleet.kits[kit].uses)))
