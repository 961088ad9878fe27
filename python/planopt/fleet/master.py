"""The choice of a cover for each demand in each period: an integer programme.

It is the master programme of a column generation (Dantzig and Wolfe, 1960). Relaxed, it
prices hardware and limits; with these prices the cheapest covers add up to a bound of
all answers (`Master.bound`), whether they are among its covers or not.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planopt.fleet.cover import LIMIT_SCALE, Prices
from planopt.fleet.exact import Purchase
from planopt.fleet.problem import copies_for, reserve_of
from planopt.fleet.programme import Using, Writer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planopt.fleet.cover import Cover
    from planopt.fleet.problem import Fleet
    from planopt.procurement.model import Model

__all__ = ["Master"]


@dataclass(frozen=True)
class Master:
    """The programme of some covers, and what its variables and rows stand for."""

    fleet: Fleet  # The question
    covers: tuple[Cover, ...]  # What there is to choose from; its last variables
    model: Model  # To be solved
    # Variables of the copies of a kit acquired in a period: (kit, period).
    acquired: Mapping[tuple[int, int], int]
    containers: tuple[int, ...]  # Their variables
    # Rows that ask for the copies at work of a kit in a period, and that keep a limit
    # in it.
    kit_rows: Mapping[tuple[int, int], int]
    limit_rows: Mapping[tuple[str, int], int]

    @classmethod
    def of(cls, fleet: Fleet, covers: Sequence[Cover]) -> Master:
        """State the choice among some covers."""
        writer = Writer()
        using = Using(fleet, writer)
        acquired = {}
        for kit, entry in enumerate(fleet.kits):
            if entry.way == "rent" or not fleet.of_kit[kit]:
                continue
            most = _most(fleet, kit)
            for period in fleet.periods:
                variable = writer.variable(most, entry.charge_cents[period])
                acquired[kit, period] = variable
                for later in fleet.periods[period:]:
                    using.add(entry.uses, variable, later)
        containers = tuple(using.containers())
        choices: dict[tuple[int, int], dict[int, int]] = {}
        at_work: dict[tuple[int, int], dict[int, int]] = {key: {} for key in acquired}
        for cover in covers:
            variable = writer.variable(1, cover.rent_cents(fleet))
            choices.setdefault((cover.stream, cover.period), {})[variable] = 1
            for kit, copies in cover.kits(fleet).items():
                at_work[kit, cover.period][variable] = -copies
            using.add(cover.uses(fleet), variable, cover.period)
        for (stream, _), chosen in choices.items():
            writer.row(fleet.streams[stream].name, chosen, lower=1)
        kit_rows = {}
        for kit, period in acquired:
            held = {acquired[kit, sooner]: 1 for sooner in range(period + 1)}
            terms = {**held, **at_work[kit, period]}
            name = f"hosts of {fleet.kits[kit].name}"
            row = writer.row(name, terms, lower=0)
            if row is not None:
                kit_rows[kit, period] = row
        limits = using.rows()
        model = writer.model()
        return cls(fleet, tuple(covers), model, acquired, containers, kit_rows, limits)

    @property
    def relaxed(self) -> Model:
        """The programme whose duals are prices.

        A cover may be chosen more than once: a bound of 1 would take a share of the
        price of its demand.
        """
        most = max(1, len(self.covers))
        uppers = self.model.uppers[: len(self.model.uppers) - len(self.covers)]
        return replace(self.model, uppers=(*uppers, *(most for _ in self.covers)))

    def prices(self, duals: Sequence[float]) -> Prices:
        """Read prices from the duals of the rows, rounded down."""

        def of(row: int | None, scale: int) -> int:
            return 0 if row is None else int(abs(duals[row]) * scale)

        names = {name for name, _ in self.limit_rows}
        return Prices(
            {key: of(self.kit_rows.get(key), 1) for key in self.acquired},
            {
                (name, period): of(self.limit_rows.get((name, period)), LIMIT_SCALE)
                for name in sorted(names)
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
        for (kit, period), variable in self.acquired.items():
            entry = fleet.kits[kit]
            rest = entry.charge_cents[period] * LIMIT_SCALE
            for later in fleet.periods[period:]:
                rest -= prices.kits[kit, later] * LIMIT_SCALE
                rest += prices.parts(entry.uses, later)
            parts += min(0, rest) * self.model.uppers[variable]
        for container in fleet.containers:
            rest = container.charge_cents * LIMIT_SCALE
            for period in fleet.periods:
                rest += prices.parts(container.uses, period)
                rest -= prices.parts(container.gives, period)
            parts += min(0, rest) * container.most
        return -(-parts // LIMIT_SCALE)

    def purchase(self, values: Sequence[int]) -> Purchase:
        """Read a choice."""
        deployed: Counter[tuple[int, int]] = Counter()
        rented: Counter[tuple[int, int, int]] = Counter()
        first = len(self.model.uppers) - len(self.covers)
        served = set()
        for cover, chosen in zip(self.covers, values[first:], strict=True):
            demand = cover.stream, cover.period
            if not chosen or demand in served:
                continue
            served.add(demand)
            for template, copies in cover.deployed:
                deployed[template, cover.period] = copies
            for template, step, copies in cover.rented:
                rented[template, cover.period, step] = copies
        return Purchase(
            {
                key: values[place]
                for key, place in self.acquired.items()
                if values[place]
            },
            +deployed,
            +rented,
            {
                number: values[place]
                for number, place in enumerate(self.containers)
                if values[place]
            },
        )


def _most(fleet: Fleet, kit: int) -> int:
    """Count the copies of a kit that are of use: all demands met with it alone."""
    total = 0
    for place in fleet.of_kit[kit]:
        template = fleet.templates[place]
        stream = fleet.streams[template.stream]
        peak = max(map(stream.peak, fleet.periods))
        reserve = reserve_of(stream, template)
        total += copies_for(peak + reserve, template.supply)
    allowed = (
        fleet.limits[name] // amount
        for name, amount in fleet.kits[kit].uses.items()
        if amount > 0 and name in fleet.limits
    )
    gives = any(container.gives for container in fleet.containers)
    return total if gives else min((total, *allowed))
