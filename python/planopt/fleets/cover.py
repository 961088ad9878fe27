"""Covers: what serves one stream in one period, and the bound that their prices prove.

Column generation (Dantzig and Wolfe, 1960), as docs/reference/fleet.md, section 5, has
it. Prices swing at first, so a round goes half way from the best ones so far to the new
ones (Wentges, 1997); where that finds nothing, the whole way.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter

from msgspec import structs

from planopt._native import cheapest_cover, every_cover
from planopt.fleets.problem import Fleet, Purchase, cost_cents
from planopt.fleets.programme import Programme
from planopt.procurement.model import Model
from planopt.procurement.solver import Effort, Solver

LIMIT_SCALE = 2**20  # Prices of limits are whole numbers of these parts of a cent


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

    @cached_property
    def at_peak(self) -> Purchase:
        """What is at work at the peak."""
        rented = self.purchase.rented.items()
        return replace(self.purchase, rented={k: n for k, n in rented if k[2] == 0})

    def price_cents(self, fleet: Fleet, prices: Prices) -> int:
        """Add up what it costs at given prices, as `cheapest` does."""
        there = self.at_peak
        return cost_cents(fleet, self.purchase) + sum(
            copies * prices.of_copy(fleet, key[0], self.period)
            for counts in (there.deployed, there.rented)
            for key, copies in counts.items()
        )


def covers_of(fleet: Fleet, purchase: Purchase) -> Iterator[Cover]:
    """Take an answer apart: a cover for each demand of each period."""
    for stream, asked in enumerate(fleet.streams):
        places = set(fleet.of_stream[stream])
        for period in asked.active:
            copies = purchase.at_work(places, [period])
            # Shares rounded up may come to a copy more than the whole takes.
            deployed = {
                key: min(count, fleet.copies(key[0], asked.peak(period)))
                for key, count in copies.deployed.items()
            }
            yield Cover(stream, period, replace(copies, deployed=deployed))


def single_covers(fleet: Fleet) -> Iterator[Cover]:
    """Serve each demand with copies of one template: of each that is kept."""
    for stream, asked in enumerate(fleet.streams):
        for period in asked.active:
            for place in fleet.of_stream[stream]:
                copies = fleet.copies(place, asked.peak(period))
                if fleet.rents(place) or copies > min(
                    (copies, *fleet.allowed(fleet.uses[place]))
                ):
                    continue
                yield Cover(stream, period, Purchase({}, {(place, period): copies}))


def cheapest(
    fleet: Fleet, stream: int, period: int, prices: Prices, below: int
) -> tuple[int, Cover | None]:
    """Find the cheapest cover of a demand that costs less than a known one.

    Limits hold for its copies by themselves. What rented copies use of limited things
    is counted at the peak.
    """
    ways = _Ways(fleet, stream, period, prices)
    bound, found = cheapest_cover(*ways.asked, below)
    return bound, None if found is None else ways.cover(*found)


def every(
    fleet: Fleet, stream: int, period: int, prices: Prices, below: int
) -> list[Cover] | None:
    """Find all covers of a demand that cost less, unless they are too many.

    But for those that another one beats in all that they take.
    """
    ways = _Ways(fleet, stream, period, prices)
    found = every_cover(*ways.asked, below)
    return None if found is None else [ways.cover(*each) for each in found]


class _Ways:
    """A demand of a period, and the ways to cover it, as the core takes them."""

    def __init__(self, fleet: Fleet, stream: int, period: int, prices: Prices) -> None:
        asked = fleet.streams[stream]
        there = asked.periods[period]
        self._demand = stream, period
        self._steps = [step for step, each in enumerate(there) if each.demand]
        self._places = fleet.of_stream[stream]
        ways = []
        for place in self._places:
            template = fleet.templates[place]
            cents = prices.of_copy(fleet, place, period)
            rents: list[int] = []
            if fleet.rents(place):
                rents = [fleet.rent_cents(place, period, step) for step in self._steps]
                rents[0] += cents
            enough = fleet.copies(place, asked.peak(period))
            most = min((enough, *fleet.allowed(fleet.uses[place])))
            # Of one kit the better way replaces others, unless it has limits or hours
            # of its own.
            own = template.uses or template.hours is not None
            kit = len(fleet.kits) + place if own else template.kit
            ways.append((kit, template.supply, template.loss, most, cents, rents))
        demands = [there[step].demand for step in self._steps]
        self.asked = demands, asked.losses, ways

    def cover(
        self, kept: list[tuple[int, int]], rented: list[tuple[int, int, int]]
    ) -> Cover:
        """Read an answer of the core."""
        stream, period = self._demand
        places, steps = self._places, self._steps
        copies = Purchase(
            deployed={(places[way], period): copies for way, copies in kept},
            rented={(places[way], period, steps[step]): n for way, step, n in rented},
        )
        return Cover(stream, period, copies)


class Master(Programme):
    """The programme of some covers, and what its variables and rows stand for."""

    def __init__(
        self, fleet: Fleet, covers: Sequence[Cover], *, relaxing: bool = False
    ) -> None:
        """State it; `relaxing` counts what is rented for limits at the peak alone."""
        super().__init__(fleet)
        self._acquired: dict[tuple[int, int], int] = {}
        """Variables of the copies of a kit acquired in a period: (kit, period)."""
        for kit, entry in enumerate(fleet.kits):
            if entry.way != "rent" and fleet.of_kit[kit]:
                self._acquired.update(self.acquisitions(kit, _most(fleet, kit)))
        self.containers()
        self._covers = {
            self.choice(1, each.purchase, each.at_peak if relaxing else None): each
            for each in covers
        }
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
    def covers(self) -> list[Cover]:
        """What there is to choose from."""
        return [*self._covers.values()]

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
        return structs.replace(self.model, uppers=tuple(uppers))

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


MOST_ROUNDS = 60
ENOUGH = 1e-3  # Share of the relaxed choice's cost that a better bound could still gain

MOST_COVERS = 2000
"""Covers that there may be to choose from: of more, the cheapest of each demand."""
CHEAPEST = 3

RELAXED = Effort(method="linear")

NOTHING_COSTS = Prices(defaultdict(int), {})


@dataclass(frozen=True)
class Generated:
    """The choice among covers, and what no answer costs less than."""

    master: Master
    bound_cents: int
    by_the_clock: bool  # Whether time ended it
    prices: Prices  # By which the bound is proven


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
    if best is not None and len(covers) > MOST_COVERS:
        master = Master(fleet, _cheapest_each(fleet, covers, best))
    return Generated(master, bound, by_the_clock, best or NOTHING_COSTS)


def _cheapest_each(
    fleet: Fleet, covers: Iterable[Cover], prices: Prices
) -> tuple[Cover, ...]:
    """Keep of each demand those that cost least at given prices."""
    of_demand = defaultdict(list)
    for cover in covers:
        of_demand[cover.demand].append((cover.price_cents(fleet, prices), cover))
    ranked = (sorted(each, key=itemgetter(0)) for each in of_demand.values())
    return tuple(cover for each in ranked for _, cover in each[:CHEAPEST])


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
