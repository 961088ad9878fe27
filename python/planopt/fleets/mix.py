"""The free mix: any number of copies of every template, in every period and step.

It states the problem itself. Selections are quicker to prove and give it a solution to
begin with; its bound is the bound of the plan. The failures that a stream must bear are
counted at the largest loss of the templates at work for it.

With a single period what is acquired is what is at work, and the copies of a kit need
no variables of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from planopt.fleets.programme import Programme
from planopt.fleets.purchase import Purchase, trimmed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.fleets.problem import Fleet


Key = TypeVar("Key")

AVERAGING = 1000
"""Fractions of the row for the average loss are kept to one part in so many."""

NOTHING = Purchase()


class Mix(Programme):
    """The programme of the free mix, and which variable stands for what."""

    def __init__(self, fleet: Fleet) -> None:
        super().__init__(fleet)
        self._acquired: dict[tuple[int, int], int] = {}
        self._deployed: dict[tuple[int, int], int] = {}
        self._rented: dict[tuple[int, int, int], int] = {}
        self._most_rented: dict[tuple[int, int], int] = {}
        """Copies of a template rented at the same time in a period."""
        self._in_use: dict[int, int] = {}
        """Whether copies are at work at all, by their variable."""
        self._reserves: dict[int, Mapping[int, int]] = {}
        """Of what a stream keeps for failures in a step: what they take of each of the
        copies that may be at work, by variable."""
        self._cut = {
            stream
            for stream, places in enumerate(fleet.of_stream)
            if fleet.streams[stream].losses <= 1
            and all(
                fleet.reserve(each) <= fleet.templates[each].supply for each in places
            )
        }
        """Streams of whose copies no more than the demand counts."""
        for stream in range(len(fleet.streams)):
            self._write_templates(stream)
            self._write_demand(stream)
        if len(fleet.periods) > 1:
            for kit in range(len(fleet.kits)):
                self._write_kit(kit)
        self._containers = self.containers()
        self.limits()

    def values(self, purchase: Purchase) -> tuple[int, ...]:
        """Spell an answer out as a value of each variable."""
        values = [0] * len(self.uppers)

        def enter(places: Mapping[Key, int], counts: Mapping[Key, int]) -> None:
            for key, count in counts.items():
                if key in places:
                    # Shares rounded up may come to a copy more than the whole takes.
                    values[places[key]] = min(count, self.uppers[places[key]])

        purchase = trimmed(self.fleet, purchase)
        enter(self._acquired, purchase.acquired)
        enter(self._deployed, purchase.deployed)
        enter(self._rented, purchase.rented)
        enter(self._containers, purchase.containers)
        enter(self._most_rented, purchase.most_rented)
        for copies, there in self._in_use.items():
            values[there] = int(values[copies] > 0)
        for reserve, losses in self._reserves.items():
            values[reserve] = max(
                loss for copies, loss in losses.items() if values[copies]
            )
        return tuple(values)

    def _write_templates(self, stream: int) -> None:
        """Add the copies of each template in each period, and in steps if rented."""
        fleet = self.fleet
        asked = fleet.streams[stream]
        for place in fleet.of_stream[stream]:
            kit = fleet.templates[place].kit
            for period in asked.active:
                if fleet.rents(place):
                    self._write_rented(place, period)
                    continue
                most = fleet.copies(place, asked.peak(period))
                acquired = {} if len(fleet.periods) > 1 else {(kit, period): 1}
                copy = Purchase(acquired, {(place, period): 1})
                self._deployed[place, period] = self.choice(most, copy)

    def _write_rented(self, place: int, period: int) -> None:
        fleet = self.fleet
        steps = fleet.streams[fleet.templates[place].stream].periods[period]
        limited = fleet.uses[place].keys() & fleet.limits.keys()
        if limited:
            most = self.variable(fleet.copies(place, steps[0].demand))
            self._most_rented[place, period] = most
            self.use(most, Purchase(rented={(place, period, 0): 1}))
        for step, asked in enumerate(steps):
            if not asked.demand:
                continue
            copy = Purchase(rented={(place, period, step): 1})
            upper = fleet.copies(place, asked.demand)
            variable = self.choice(upper, copy, uses=NOTHING)
            self._rented[place, period, step] = variable
            if limited:
                self.row("rented at once", {most: 1, variable: -1}, lower=0)

    def _write_demand(self, stream: int) -> None:
        """Ask that each step's demand is met, with what is kept for failures."""
        asked = self.fleet.streams[stream]
        for period in asked.active:
            for step, there in enumerate(asked.periods[period]):
                copies = self._copies(stream, period, step)
                # Where nothing is rented the peak says it all.
                if step == 0 or any(map(self.fleet.rents, copies.values())):
                    self._write_step(stream, copies, there.demand, asked.peak(period))

    def _copies(self, stream: int, period: int, step: int) -> dict[int, int]:
        """Variables of the copies at work in a step, each with its template."""
        return {
            variable: place
            for place in self.fleet.of_stream[stream]
            for variable in (
                self._deployed.get((place, period)),
                self._rented.get((place, period, step)),
            )
            if variable is not None
        }

    def _write_step(
        self, stream: int, copies: Mapping[int, int], demand: int, peak: int
    ) -> None:
        """Ask that what is at work meets a demand, failures aside."""
        asked = self.fleet.streams[stream]
        useful = {v: self._useful(place, demand) for v, place in copies.items()}
        terms = {variable: supply for variable, (supply, _) in useful.items()}
        if asked.losses and copies:
            losses = {variable: loss for variable, (_, loss) in useful.items()}
            reserve = self._write_reserve(asked.name, losses)
            self._write_average_loss(asked.name, copies, reserve, peak)
            terms[reserve] = -1
        self.row(asked.name, terms, lower=demand)

    def _useful(self, place: int, demand: int) -> tuple[int, int]:
        """Tell what of a copy's supply, and of its loss, counts towards a demand.

        What goes beyond the demand is of no use, and leaving it out makes the LP sharp.
        With one failure to be borne, a copy is two pieces, what fails at once and what
        is left of it, and of each no more than the demand counts: if any piece that
        survives is cut, it meets the demand alone; if none is, all count in full.
        Copies that fail together, as those of a rack do, are no such pieces, and beside
        them nothing is cut: their loss would count as the largest where it is not.
        """
        template = self.fleet.templates[place]
        supply, loss = template.supply, self.fleet.reserve(place)
        if template.stream not in self._cut:
            return supply, loss
        return min(supply - loss, demand) + min(loss, demand), min(loss, demand)

    def _write_reserve(self, stream: str, losses: Mapping[int, int]) -> int:
        """Add what is kept for failures: the largest loss of what is at work."""
        name = f"reserve of {stream}"
        reserve = self.variable(max(losses.values()))
        self._reserves[reserve] = losses
        self.row(name, {reserve: 1}, lower=min(losses.values()))
        for variable, loss in losses.items():
            if variable not in self._in_use:
                there = self.variable(1)
                self._in_use[variable] = there
                most = self.uppers[variable]
                self.row(name, {there: most, variable: -1}, lower=0)
            there = self._in_use[variable]
            self.row(name, {reserve: 1, there: -loss}, lower=0)
        return reserve

    def _write_average_loss(
        self, stream: str, copies: Mapping[int, int], reserve: int, peak: int
    ) -> None:
        """Ask that the average loss is kept: true anyhow, and much sharper in the LP.

        The largest loss M is no less than the average of those at work, weighted by
        supply. If all supply together is at most S, then ``S M >= sum of loss * supply
        * copies``. And S may be the peak with the largest reserve and one copy more:
        where supply is larger, a copy can be left out at the peak. In other hours there
        is no more than that: what is bought or owned is there at the peak as well, and
        as long as anything is rented it can be left out.
        """
        useful = {v: self._useful(place, peak) for v, place in copies.items()}
        supplies = {variable: supply for variable, (supply, _) in useful.items()}
        largest = max(loss for _, loss in useful.values())
        most = peak + largest + max(supplies.values())
        name = f"no more than enough of {stream}"
        self.row(name, supplies, upper=most)
        average = {
            variable: -(AVERAGING * self._reserves[reserve][variable] * supply // most)
            for variable, supply in supplies.items()
        }
        average[reserve] = AVERAGING
        self.row(f"reserve of {stream}", average, lower=0)

    def _write_kit(self, kit: int) -> None:
        """Add the copies of a kit that are acquired in each period and stay."""
        fleet = self.fleet
        if fleet.kits[kit].way == "rent" or not fleet.of_kit[kit]:
            return
        at_work = [
            {
                self._deployed[place, period]: 1
                for place in fleet.of_kit[kit]
                if (place, period) in self._deployed
            }
            for period in fleet.periods
        ]
        most = max(sum(self.uppers[copies] for copies in each) for each in at_work)
        held = []
        for period in fleet.periods:
            one = Purchase(acquired={(kit, period): 1})
            held.append(self.choice(most, one))
            self._acquired[kit, period] = held[-1]
            if at_work[period]:
                self.hosts(kit, held, at_work[period])
