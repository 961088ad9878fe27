"""Selection: for each stream, which template carries which share of its demand.

How many copies a share takes is known beforehand, rounded up, with a reserve: so the
programme only selects. A column is one of

* *base*: a template that is bought or owned, from a period on, for a share of each
  period's demand (bought as the demand grows);
* *peak*: a template rented in one period for the topmost share of its demand, in the
  hours that reach up there.

The shares of what is at work in a period add up to the whole. With one part the
columns carry all or nothing (one shape of hardware for a stream at a time); with four,
quarters, of at most two shapes. Every selection is an answer of the whole problem
(`lift`), which adds freer mixes (`planopt.fleet.mix`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt.fleet.exact import Purchase
from planopt.fleet.problem import copies_for, rent_cents, reserve_of
from planopt.fleet.programme import Using, Writer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt.fleet.problem import Fleet
    from planopt.procurement.model import Model

__all__ = ["Column", "Selection", "select"]

MOST_SHAPES = 2
"""Templates at work for a stream in a period, where demand is divided into parts."""


@dataclass(frozen=True, slots=True)
class Column:
    """A template with a share of a stream's demand."""

    template: int  # Which
    parts: int  # Its share of the demand, in parts of the selection
    start: int  # First period
    # Copies at work in each period from the first; of a peak, rented in each step of
    # the first.
    copies: tuple[int, ...]
    cost_cents: int  # What they cost together


@dataclass(frozen=True)
class Selection:
    """The programme of a selection, and what its variables stand for."""

    fleet: Fleet
    model: Model  # To be solved
    # What its first variables stand for; those after them count containers.
    columns: tuple[Column, ...]

    def widened(self, one_shape: Sequence[Column]) -> tuple[int, ...]:
        """Spell a selection of whole demands out as one of parts of them."""
        whole = {(column.template, column.start) for column in one_shape}
        most = max((column.parts for column in self.columns), default=0)
        values = [
            int(column.parts == most and (column.template, column.start) in whole)
            for column in self.columns
        ]
        return (*values, *self.model.uppers[len(values) :])

    def chosen(self, values: Sequence[int]) -> list[Column]:
        """Columns of a solution."""
        pairs = zip(self.columns, values, strict=False)
        return [column for column, value in pairs if value]

    def lift(self, values: Sequence[int]) -> Purchase:
        """Spell a solution out."""
        acquired: Counter[tuple[int, int]] = Counter()
        deployed: Counter[tuple[int, int]] = Counter()
        rented: Counter[tuple[int, int, int]] = Counter()
        for column, chosen in zip(self.columns, values, strict=False):
            if not chosen:
                continue
            kit = self.fleet.templates[column.template].kit
            if self.fleet.kits[kit].way == "rent":
                for step, count in enumerate(column.copies):
                    rented[column.template, column.start, step] += count
                continue
            for period, count in _additions(column):
                acquired[kit, period] += count
            for after, count in enumerate(column.copies):
                deployed[column.template, column.start + after] += count
        counts = values[len(self.columns) :]
        return Purchase(
            +acquired, +deployed, +rented, +Counter(dict(enumerate(counts)))
        )


def select(fleet: Fleet, parts: int = 1) -> Selection:
    """State the selection of shares of so many parts."""
    writer = Writer()
    using = Using(fleet, writer)
    columns: list[Column] = []
    for stream in range(len(fleet.streams)):
        _write_stream(fleet, stream, parts, writer, using, columns)
    using.containers()
    using.rows()
    return Selection(fleet, writer.model(), tuple(columns))


def _write_stream(
    fleet: Fleet,
    stream: int,
    parts: int,
    writer: Writer,
    using: Using,
    columns: list[Column],
) -> None:
    """Add a stream's columns, and the rows that they share its demand out."""
    asked = fleet.streams[stream]
    at_work: dict[int, dict[int, int]] = defaultdict(dict)
    peaks: dict[int, list[int]] = defaultdict(list)
    for column in _columns(fleet, stream, parts):
        variable = writer.variable(1, column.cost_cents)
        columns.append(column)
        template = fleet.templates[column.template]
        kit = fleet.kits[template.kit]
        if kit.way == "rent":
            peaks[column.start].append(variable)
            at_work[column.start][variable] = column.parts
            for uses in (kit.uses, template.uses):
                using.add(uses, variable, column.start, max(column.copies))
            continue
        held = 0
        for period, copies in enumerate(column.copies, column.start):
            held = max(held, copies)
            using.add(kit.uses, variable, period, held)
            using.add(template.uses, variable, period, copies)
            at_work[period][variable] = column.parts
    name = asked.name
    for period in asked.active:
        shares = at_work[period]
        writer.row(name, shares, lower=parts, upper=parts)
        if parts > 1:
            ones = dict.fromkeys(shares, 1)
            writer.row(f"shapes of {name}", ones, upper=MOST_SHAPES)
            rented = dict.fromkeys(peaks[period], 1)
            writer.row(f"peaks of {name}", rented, upper=1)


def _columns(fleet: Fleet, stream: int, parts: int) -> Iterator[Column]:
    places = fleet.of_stream[stream]
    active = fleet.streams[stream].active
    rents = any(fleet.kit_of(place).way == "rent" for place in places)
    for place in places:
        for share in range(1, parts + 1):
            if fleet.kit_of(place).way == "rent":
                for period in active:
                    yield _peak(fleet, place, period, share, parts)
            else:
                # Before a later start somebody else must be at work.
                for period in active if rents else active[:1]:
                    yield _base(fleet, place, period, share, parts)


def _base(fleet: Fleet, place: int, start: int, share: int, parts: int) -> Column:
    template = fleet.templates[place]
    stream = fleet.streams[template.stream]
    reserve = reserve_of(stream, template) * parts
    copies = []
    for period in fleet.periods[start:]:
        demand = stream.peak(period) * share
        there = demand + reserve if demand else 0
        copies.append(copies_for(there, template.supply, parts))
    column = Column(place, share, start, tuple(copies), 0)
    charges = fleet.kits[template.kit].charge_cents
    cost = sum(count * charges[period] for period, count in _additions(column))
    return Column(place, share, start, column.copies, cost)


def _additions(column: Column) -> Iterator[tuple[int, int]]:
    """Count the copies that are acquired in each period for a base."""
    held = 0
    for period, copies in enumerate(column.copies, column.start):
        if copies > held:
            yield period, copies - held
            held = copies


def _peak(fleet: Fleet, place: int, period: int, share: int, parts: int) -> Column:
    template = fleet.templates[place]
    stream = fleet.streams[template.stream]
    kit = fleet.kits[template.kit]
    reserve = reserve_of(stream, template) * parts
    below = stream.peak(period) * (parts - share)
    copies, cost = [], 0
    for step in stream.periods[period]:
        above = step.demand * parts - below
        there = above + reserve if above > 0 else 0
        count = copies_for(there, template.supply, parts)
        copies.append(count)
        hours = step.hours if template.hours is None else template.hours
        cost += count * rent_cents(kit, hours)
    return Column(place, share, period, tuple(copies), cost)
