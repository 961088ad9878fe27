"""Covers: what serves one stream in one period; the cheapest one at given prices."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt._native import cheapest_cover
from planopt.fleet.problem import copies_for, rent_cents, reserve_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planopt.fleet.exact import Purchase
    from planopt.fleet.problem import Fleet

__all__ = ["Cover", "Prices", "cheapest", "covers_of"]

LIMIT_SCALE = 2**20
"""Prices of limits are whole numbers of these parts of a cent."""


@dataclass(frozen=True)
class Prices:
    """What hardware costs a cover in a period, in whole numbers."""

    # Cents for a copy of a kit that is at work in a period: (kit, period).
    kits: Mapping[tuple[int, int], int]
    # Parts of a cent (`LIMIT_SCALE`) for each unit of a limit: (name, period).
    limits: Mapping[tuple[str, int], int]

    def towards(self, other: Prices) -> Prices:
        """Return the prices half way to others of the same things."""
        return Prices(
            {key: (price + other.kits[key]) // 2 for key, price in self.kits.items()},
            {
                key: (price + other.limits[key]) // 2
                for key, price in self.limits.items()
            },
        )

    def parts(self, uses: Mapping[str, int], period: int) -> int:
        """Parts of a cent for what is used of limited things in a period."""
        return sum(
            amount * self.limits.get((name, period), 0) for name, amount in uses.items()
        )

    def of_copy(self, fleet: Fleet, place: int, period: int) -> int:
        """Cents for a copy of a template, rent aside; rounded down."""
        template = fleet.templates[place]
        kit = fleet.kits[template.kit]
        if kit.way == "rent":
            uses = Counter(kit.uses)
            uses.update(template.uses)
            return self.parts(uses, period) // LIMIT_SCALE
        at_work = self.parts(template.uses, period) // LIMIT_SCALE
        return self.kits[template.kit, period] + at_work


@dataclass(frozen=True)
class Cover:
    """Copies that serve a stream in a period."""

    # Whose demand.
    stream: int
    period: int
    # Templates of what is bought or owned, and copies.
    deployed: tuple[tuple[int, int], ...]
    rented: tuple[tuple[int, int, int], ...]  # Rented templates, steps and copies

    def rent_cents(self, fleet: Fleet) -> int:
        """Rent of all copies."""
        return sum(
            copies * _rent(fleet, template, self.period, step)
            for template, step, copies in self.rented
        )

    def kits(self, fleet: Fleet) -> Counter[int]:
        """Count the copies of each kit that are at work."""
        counts: Counter[int] = Counter()
        for template, copies in self.deployed:
            counts[fleet.templates[template].kit] += copies
        return counts

    def uses(self, fleet: Fleet) -> Counter[str]:
        """Add up what the copies use of limited things, their kits' share aside."""
        most: Counter[int] = Counter()
        for template, _, copies in self.rented:
            most[template] = max(most[template], copies)
        used: Counter[str] = Counter()
        for template, copies in (*self.deployed, *most.items()):
            shares = [fleet.templates[template].uses]
            if template in most:
                shares.append(fleet.kit_of(template).uses)
            for uses in shares:
                for name, amount in uses.items():
                    used[name] += copies * amount
        return used

    def price_cents(self, fleet: Fleet, prices: Prices) -> int:
        """Add up what it costs at given prices, as `cheapest` does."""
        at_peak = [*self.deployed, *((t, n) for t, step, n in self.rented if step == 0)]
        return self.rent_cents(fleet) + sum(
            copies * prices.of_copy(fleet, template, self.period)
            for template, copies in at_peak
        )


def covers_of(fleet: Fleet, purchase: Purchase) -> Iterator[Cover]:
    """Take an answer apart: a cover for each demand of each period."""
    for stream, asked in enumerate(fleet.streams):
        places = set(fleet.of_stream[stream])
        for period in asked.active:
            deployed = sorted(
                (place, copies)
                for (place, when), copies in purchase.deployed.items()
                if when == period and place in places
            )
            rented = sorted(
                (place, step, copies)
                for (place, when, step), copies in purchase.rented.items()
                if when == period and place in places
            )
            yield Cover(stream, period, tuple(deployed), tuple(rented))


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
        if fleet.kits[template.kit].way == "rent":
            rents = [_rent(fleet, place, period, step) for step in steps]
            rents[0] += cents
        most = _most(fleet, place, asked.peak(period))
        row = (template.kit, template.supply, template.loss, most, cents, rents)
        ways.append(row)
    demands = [asked.periods[period][step].demand for step in steps]
    bound, found = cheapest_cover(demands, asked.losses, ways, below)
    if found is None:
        return bound, None
    kept, rented = found
    cover = Cover(
        stream,
        period,
        tuple(sorted((places[way], copies) for way, copies in kept)),
        tuple(sorted((places[way], steps[step], n) for way, step, n in rented)),
    )
    return bound, cover


def _rent(fleet: Fleet, place: int, period: int, step: int) -> int:
    template = fleet.templates[place]
    hours = template.hours
    if hours is None:
        hours = fleet.streams[template.stream].periods[period][step].hours
    return rent_cents(fleet.kits[template.kit], hours)


def _most(fleet: Fleet, place: int, peak: int) -> int:
    """Count the copies of a template that are of use, and that the limits allow."""
    template = fleet.templates[place]
    uses = Counter(fleet.kits[template.kit].uses)
    uses.update(template.uses)
    gives = {name for container in fleet.containers for name in container.gives}
    allowed = (
        fleet.limits[name] // amount
        for name, amount in uses.items()
        if amount > 0 and name in fleet.limits and name not in gives
    )
    reserve = reserve_of(fleet.streams[template.stream], template)
    return min((copies_for(peak + reserve, template.supply), *allowed))
