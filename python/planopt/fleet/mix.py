"""The free mix: any number of copies of every template, in every period and step.

It states the problem itself. Selections are quicker to prove and give it a solution to
begin with; its bound is the bound of the plan. The failures that a stream must bear are
counted at the largest loss of the templates at work for it.

With a single period what is acquired is what is at work, and the copies of a kit need
no variables of their own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from planopt.fleet.exact import Purchase, trimmed
from planopt.fleet.problem import copies_for, rent_cents, reserve_of
from planopt.fleet.programme import Using, Writer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planopt.fleet.problem import Fleet, Stream, Template
    from planopt.procurement.model import Model

__all__ = ["Mix", "mix"]

Key = TypeVar("Key")

AVERAGING = 1000
"""Fractions of the row for the average loss are kept to one part in so many."""


@dataclass(frozen=True)
class Reserve:
    """What a stream keeps for failures in a step, and what asks for it."""

    variable: int  # Of what is kept
    # What failures take of each of the copies that may be at work, by variable.
    losses: Mapping[int, int]


@dataclass(frozen=True)
class Places:
    """Which variable stands for what, by the keys of `Purchase`."""

    acquired: dict[tuple[int, int], int] = field(default_factory=dict)
    deployed: dict[tuple[int, int], int] = field(default_factory=dict)
    rented: dict[tuple[int, int, int], int] = field(default_factory=dict)
    most_rented: dict[tuple[int, int], int] = field(default_factory=dict)
    """Copies of a template rented at the same time in a period."""
    in_use: dict[int, int] = field(default_factory=dict)
    """Whether copies are at work at all, by their variable."""
    reserves: list[Reserve] = field(default_factory=list)
    containers: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Mix:
    """The programme of the free mix, and what its variables stand for."""

    fleet: Fleet
    model: Model
    places: Places

    def purchase(self, values: Sequence[int]) -> Purchase:
        """Read a solution."""

        def there(places: Mapping[Key, int]) -> dict[Key, int]:
            return {
                key: values[place] for key, place in places.items() if values[place]
            }

        deployed = there(self.places.deployed)
        acquired = there(self.places.acquired)
        if not self.places.acquired:
            acquired = _as_at_work(self.fleet, deployed)
        rented, containers = there(self.places.rented), there(self.places.containers)
        return Purchase(acquired, deployed, rented, containers)

    def values(self, purchase: Purchase) -> tuple[int, ...]:
        """Spell an answer out as a value of each variable."""
        values = [0] * len(self.model.uppers)

        def enter(places: Mapping[Key, int], counts: Mapping[Key, int]) -> None:
            for key, count in counts.items():
                if key in places:
                    place = places[key]
                    # Shares rounded up may come to a copy more than the whole takes.
                    values[place] = min(
                        max(values[place], count), self.model.uppers[place]
                    )

        purchase = trimmed(self.fleet, purchase)
        enter(self.places.acquired, purchase.acquired)
        enter(self.places.deployed, purchase.deployed)
        enter(self.places.rented, purchase.rented)
        enter(self.places.containers, purchase.containers)
        for (template, period, _), count in purchase.rented.items():
            enter(self.places.most_rented, {(template, period): count})
        for copies, there in self.places.in_use.items():
            values[there] = int(values[copies] > 0)
        for reserve in self.places.reserves:
            values[reserve.variable] = max(
                loss for copies, loss in reserve.losses.items() if values[copies]
            )
        return tuple(values)


def mix(fleet: Fleet) -> Mix:
    """State the free mix of a question."""
    statement = _Statement(fleet)
    for stream in range(len(fleet.streams)):
        statement.write_templates(stream)
        statement.write_demand(stream)
    if len(fleet.periods) > 1:
        for kit in range(len(fleet.kits)):
            statement.write_kit(kit)
    return statement.finished()


def _as_at_work(
    fleet: Fleet, deployed: Mapping[tuple[int, int], int]
) -> dict[tuple[int, int], int]:
    """Acquire of each kit what is at work of it."""
    acquired: Counter[tuple[int, int]] = Counter()
    for (template, period), count in deployed.items():
        acquired[fleet.templates[template].kit, period] += count
    return dict(acquired)


def _useful(stream: Stream, template: Template, demand: int) -> tuple[int, int]:
    """Tell what of a copy's supply, and of its loss, counts towards a demand.

    What goes beyond the demand is of no use, and leaving it out makes the LP sharp.
    With one failure to be borne, a copy is two pieces, what fails at once and what is
    left of it, and of each no more than the demand counts: if any piece that survives
    is cut, it meets the demand alone; if none is, all count in full. Copies that fail
    together, as those of a rack do, are no such pieces.
    """
    supply, loss = template.supply, reserve_of(stream, template)
    if stream.losses > 1 or loss > supply:
        return supply, loss
    return min(supply - loss, demand) + min(loss, demand), min(loss, demand)


class _Statement:
    """The programme as it is written, stream by stream."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._writer = Writer()
        self._using = Using(fleet, self._writer)
        self._lasting = len(fleet.periods) > 1
        self._places = Places()

    def finished(self) -> Mix:
        """Add what all share, and hand the programme over."""
        self._places.containers.update(enumerate(self._using.containers()))
        self._using.rows()
        return Mix(self._fleet, self._writer.model(), self._places)

    def write_templates(self, stream: int) -> None:
        """Add the copies of each template in each period, and in steps if rented."""
        asked = self._fleet.streams[stream]
        for place in self._fleet.of_stream[stream]:
            template = self._fleet.templates[place]
            kit = self._fleet.kits[template.kit]
            for period in asked.active:
                if kit.way == "rent":
                    self._write_rented(place, period)
                    continue
                most = self._enough(place, asked.peak(period))
                cost = 0 if self._lasting else kit.charge_cents[period]
                variable = self._writer.variable(most, cost)
                self._places.deployed[place, period] = variable
                self._using.add(template.uses, variable, period)
                if not self._lasting:
                    self._using.add(kit.uses, variable, period)

    def _write_rented(self, place: int, period: int) -> None:
        template = self._fleet.templates[place]
        kit = self._fleet.kits[template.kit]
        steps = self._fleet.streams[template.stream].periods[period]
        limited = {**kit.uses, **template.uses}.keys() & self._fleet.limits.keys()
        if limited:
            most = self._writer.variable(self._enough(place, steps[0].demand))
            self._places.most_rented[place, period] = most
            self._using.add(kit.uses, most, period)
            self._using.add(template.uses, most, period)
        for step, asked in enumerate(steps):
            if not asked.demand:
                continue
            hours = asked.hours if template.hours is None else template.hours
            upper = self._enough(place, asked.demand)
            variable = self._writer.variable(upper, rent_cents(kit, hours))
            self._places.rented[place, period, step] = variable
            if limited:
                self._writer.row("rented at once", {most: 1, variable: -1}, lower=0)

    def _enough(self, place: int, demand: int) -> int:
        """Count the copies that meet a demand alone, whatever fails.

        More of one template is never needed: with so many, all others can be left out.
        """
        template = self._fleet.templates[place]
        reserve = reserve_of(self._fleet.streams[template.stream], template)
        return copies_for(demand + reserve, template.supply)

    def write_demand(self, stream: int) -> None:
        """Ask that each step's demand is met, with what is kept for failures."""
        asked = self._fleet.streams[stream]
        for period in asked.active:
            for step, there in enumerate(asked.periods[period]):
                copies = self._copies(stream, period, step)
                rents = any(
                    (place, period, step) in self._places.rented
                    for place in copies.values()
                )
                # Where nothing is rented the peak says it all.
                if rents or step == 0:
                    self._write_step(asked, copies, there.demand, asked.peak(period))

    def _copies(self, stream: int, period: int, step: int) -> dict[int, int]:
        """Variables of the copies at work in a step, each with its template."""
        places = self._places
        return {
            variable: place
            for place in self._fleet.of_stream[stream]
            for variable in (
                places.deployed.get((place, period)),
                places.rented.get((place, period, step)),
            )
            if variable is not None
        }

    def _write_step(
        self, asked: Stream, copies: Mapping[int, int], demand: int, peak: int
    ) -> None:
        """Ask that what is at work meets a demand, failures aside."""
        supplies, losses = {}, {}
        for variable, place in copies.items():
            template = self._fleet.templates[place]
            supplies[variable], losses[variable] = _useful(asked, template, demand)
        terms = dict(supplies)
        if asked.losses and copies:
            terms[self._write_reserve(asked, losses)] = -1
            self._write_average_loss(asked, copies, losses, peak)
        self._writer.row(asked.name, terms, lower=demand)

    def _write_reserve(self, asked: Stream, losses: Mapping[int, int]) -> int:
        """Add what is kept for failures: the largest loss of what is at work."""
        name = f"reserve of {asked.name}"
        reserve = self._writer.variable(max(losses.values()))
        self._places.reserves.append(Reserve(reserve, losses))
        self._writer.row(name, {reserve: 1}, lower=min(losses.values()))
        for variable, loss in losses.items():
            if variable not in self._places.in_use:
                there = self._writer.variable(1)
                self._places.in_use[variable] = there
                most = self._writer.uppers[variable]
                self._writer.row(name, {there: most, variable: -1}, lower=0)
            there = self._places.in_use[variable]
            self._writer.row(name, {reserve: 1, there: -loss}, lower=0)
        return reserve

    def _write_average_loss(
        self,
        asked: Stream,
        copies: Mapping[int, int],
        losses: Mapping[int, int],
        peak: int,
    ) -> None:
        """Ask that the average loss is kept: true anyhow, and much sharper in the LP.

        The largest loss M is no less than the average of those at work, weighted by
        supply. If all supply together is at most S, then ``S M >= sum of loss * supply
        * copies``. And S may be the peak with the largest reserve and one copy more:
        where supply is larger, a copy can be left out at the peak. In other hours there
        is no more than that: what is bought or owned is there at the peak as well, and
        as long as anything is rented it can be left out.
        """
        templates = [self._fleet.templates[place] for place in copies.values()]
        useful = [_useful(asked, each, peak) for each in templates]
        supplies = {
            variable: supply
            for variable, (supply, _) in zip(copies, useful, strict=True)
        }
        reserve = self._places.reserves[-1].variable
        largest = max(loss for _, loss in useful)
        most = peak + largest + max(supplies.values())
        self._writer.row(f"no more than enough of {asked.name}", supplies, upper=most)
        average = {
            variable: -(AVERAGING * losses[variable] * supply // most)
            for variable, supply in supplies.items()
        }
        average[reserve] = AVERAGING
        self._writer.row(f"reserve of {asked.name}", average, lower=0)

    def write_kit(self, kit: int) -> None:
        """Add the copies of a kit that are acquired in each period and stay."""
        entry = self._fleet.kits[kit]
        if entry.way == "rent" or not self._fleet.of_kit[kit]:
            return
        at_work = [
            {
                variable: -1
                for place in self._fleet.of_kit[kit]
                for variable in (self._places.deployed.get((place, period)),)
                if variable is not None
            }
            for period in self._fleet.periods
        ]
        uppers = self._writer.uppers
        most = max(sum(uppers[variable] for variable in each) for each in at_work)
        held: dict[int, int] = {}
        for period in self._fleet.periods:
            variable = self._writer.variable(most, entry.charge_cents[period])
            self._places.acquired[kit, period] = variable
            held[variable] = 1
            for later in self._fleet.periods[period:]:
                self._using.add(entry.uses, variable, later)
            if at_work[period]:
                terms = {**held, **at_work[period]}
                self._writer.row(f"hosts of {entry.name}", terms, lower=0)
