"""Selection: for each stream, which template carries which share of its demand.

How many copies a share takes is known beforehand, rounded up, with a reserve: so the
programme only selects. A column is one of

* *base*: a template that is bought or owned, from a period on, for a share of each
  period's demand (bought as the demand grows);
* *peak*: a template rented in one period for the topmost share of its demand, in the
  hours that reach up there.

The shares of what is at work in a period add up to the whole. With one part the
columns carry all or nothing (one shape of hardware for a stream at a time); with four,
quarters, of at most two shapes. Every selection is an answer of the whole problem,
which adds freer mixes (`planopt.fleets.mix`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt.fleets.programme import Programme
from planopt.fleets.purchase import Purchase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt.fleets.problem import Fleet


MOST_SHAPES = 2
"""Templates at work for a stream in a period, where demand is divided into parts."""


@dataclass(frozen=True, slots=True)
class Column:
    """A template with a share of a stream's demand, in parts of the selection."""

    template: int
    share: int
    start: int
    """First period."""


class Selection(Programme):
    """The programme of a selection of shares of so many parts."""

    def __init__(self, fleet: Fleet, parts: int = 1) -> None:
        super().__init__(fleet)
        self.columns: list[Column] = []
        """What the first variables stand for."""
        for stream in range(len(fleet.streams)):
            self._write_stream(stream, parts)
        self.containers()
        self.limits()

    def widened(self, one: Selection, values: Sequence[int]) -> tuple[int, ...]:
        """Spell a selection of whole demands out as one of parts of them."""
        pairs = zip(one.columns, values, strict=False)
        whole = {(each.template, each.start) for each, chosen in pairs if chosen}
        most = max((column.share for column in self.columns), default=0)
        chosen = [
            int(column.share == most and (column.template, column.start) in whole)
            for column in self.columns
        ]
        return (*chosen, *self.uppers[len(chosen) :])

    def _write_stream(self, stream: int, parts: int) -> None:
        """Add a stream's columns, and the rows that they share its demand out."""
        fleet, asked = self.fleet, self.fleet.streams[stream]
        shares: dict[int, dict[int, int]] = defaultdict(dict)
        peaks: dict[int, list[int]] = defaultdict(list)
        for column in _columns(fleet, stream, parts):
            self.columns.append(column)
            rented = fleet.rents(column.template)
            copies = (_peak if rented else _base)(fleet, column, parts)
            variable = self.choice(1, copies)
            if rented:
                peaks[column.start].append(variable)
                shares[column.start][variable] = column.share
            else:
                for period in fleet.periods[column.start :]:
                    shares[period][variable] = column.share
        name = asked.name
        for period in asked.active:
            self.row(name, shares[period], lower=parts, upper=parts)
            if parts > 1:
                ones = dict.fromkeys(shares[period], 1)
                self.row(f"shapes of {name}", ones, upper=MOST_SHAPES)
                self.row(f"peaks of {name}", dict.fromkeys(peaks[period], 1), upper=1)


def _columns(fleet: Fleet, stream: int, parts: int) -> Iterator[Column]:
    places = fleet.of_stream[stream]
    active = fleet.streams[stream].active
    rents = any(map(fleet.rents, places))
    for place in places:
        # Before a later start somebody else must be at work.
        starts = active if rents else active[:1]
        for share in range(1, parts + 1):
            for period in starts:
                yield Column(place, share, period)


def _base(fleet: Fleet, column: Column, parts: int) -> Purchase:
    template = fleet.templates[column.template]
    stream = fleet.streams[template.stream]
    acquired: Counter[tuple[int, int]] = Counter()
    deployed = {}
    held = 0
    for period in fleet.periods[column.start :]:
        demand = stream.peak(period) * column.share
        copies = fleet.copies(column.template, demand, parts)
        deployed[column.template, period] = copies
        if copies > held:
            acquired[template.kit, period] = copies - held
            held = copies
    return Purchase(acquired, deployed)


def _peak(fleet: Fleet, column: Column, parts: int) -> Purchase:
    place, period = column.template, column.start
    steps = fleet.streams[fleet.templates[place].stream].periods[period]
    below = steps[0].demand * (parts - column.share)
    return Purchase(
        rented={
            (place, period, step): fleet.copies(
                place, asked.demand * parts - below, parts
            )
            for step, asked in enumerate(steps)
        }
    )
