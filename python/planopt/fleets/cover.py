"""Covers: what serves one stream in one period; the cheapest one at given prices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt._native import cheapest_cover
from planopt.fleets.purchase import Purchase, cost_cents

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planopt.fleets.problem import Fleet


LIMIT_SCALE = 2**20
"""Prices of limits are whole numbers of these parts of a cent."""


@dataclass(frozen=True)
class Prices:
    """What hardware costs a cover in a period, in whole numbers."""

    kits: Mapping[tuple[int, int], int]
    """Cents for a copy of a kit that is at work in a period: (kit, period)."""
    limits: Mapping[tuple[str, int], int]
    """Parts of a cent (`LIMIT_SCALE`) for each unit of a limit: (name, period)."""

    def towards(self, other: Prices) -> Prices:
        """Return the prices half way to others of the same things."""
        kits = {key: (price + other.kits[key]) // 2 for key, price in self.kits.items()}
        limits = self.limits.items()
        return Prices(
            kits, {key: (price + other.limits[key]) // 2 for key, price in limits}
        )

    def parts(self, uses: Mapping[str, int], period: int) -> int:
        """Parts of a cent for what is used of limited things in a period."""
        return sum(
            amount * self.limits.get((name, period), 0) for name, amount in uses.items()
        )

    def of_copy(self, fleet: Fleet, place: int, period: int) -> int:
        """Cents for a copy of a template, rent aside; rounded down."""
        at_work = self.parts(fleet.at_work[place], period) // LIMIT_SCALE
        if fleet.rents(place):
            return at_work
        return self.kits[fleet.templates[place].kit, period] + at_work


@dataclass(frozen=True)
class Cover:
    """Copies that serve a stream in a period."""

    stream: int
    period: int
    purchase: Purchase

    @property
    def demand(self) -> tuple[int, int]:
        """Whose demand: the stream's, in the period."""
        return self.stream, self.period

    def price_cents(self, fleet: Fleet, prices: Prices) -> int:
        """Add up what it costs at given prices, as `cheapest` does."""
        rented = self.purchase.rented.items()
        at_peak = [(place, copies) for (place, _, step), copies in rented if step == 0]
        deployed = [(place, n) for (place, _), n in self.purchase.deployed.items()]
        return cost_cents(fleet, self.purchase) + sum(
            copies * prices.of_copy(fleet, place, self.period)
            for place, copies in (*deployed, *at_peak)
        )


def covers_of(fleet: Fleet, purchase: Purchase) -> Iterator[Cover]:
    """Take an answer apart: a cover for each demand of each period."""
    for stream, asked in enumerate(fleet.streams):
        places = set(fleet.of_stream[stream])
        for period in asked.active:
            yield Cover(stream, period, purchase.at_work(places, [period]))


def cheapest(
    fleet: Fleet, stream: int, period: int, prices: Prices, below: int
) -> tuple[int, Cover | None]:
    """Find the cheapest cover of a demand that costs less than a known one.

    Limits hold for its copies by themselves. What rented copies use of limited things
    is counted at the peak.
    """
    asked = fleet.streams[stream]
    steps = [step for step, there in enumerate(asked.periods[period]) if there.demand]
    places = fleet.of_stream[stream]
    ways = []
    for place in places:
        template = fleet.templates[place]
        cents = prices.of_copy(fleet, place, period)
        rents: list[int] = []
        if fleet.rents(place):
            rents = [fleet.rent_cents(place, period, step) for step in steps]
            rents[0] += cents
        enough = fleet.copies(place, asked.peak(period))
        most = min((enough, *fleet.allowed(fleet.uses[place])))
        # Of one kit the better way replaces others, unless it has limits of its own.
        kit = len(fleet.kits) + place if template.uses else template.kit
        way = (kit, template.supply, template.loss, most, cents, rents)
        ways.append(way)
    demands = [asked.periods[period][step].demand for step in steps]
    bound, found = cheapest_cover(demands, asked.losses, ways, below)
    if found is None:
        return bound, None
    kept, rented = found
    copies = Purchase(
        deployed={(places[way], period): copies for way, copies in kept},
        rented={(places[way], period, steps[step]): n for way, step, n in rented},
    )
    return bound, Cover(stream, period, copies)
