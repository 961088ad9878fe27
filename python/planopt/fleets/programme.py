"""An integer programme of a fleet: each of its variables stands for a purchase.

A variable costs what its purchase costs and uses what that uses; a solution is the sum
of the purchases. What a selection, the choice of covers and the free mix ask beyond
that, they write as rows of their own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from planopt.errors import InternalError
from planopt.fleets.problem import Fleet, Purchase, cost_cents, total, trimmed, used
from planopt.procurement.model import MAX_ACTIVITY, Model, Row


class Programme:
    """Variables with what they stand for, and rows, as they are written."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.uppers: list[int] = []
        self._costs: list[int] = []
        self._rows: list[Row] = []
        self._stands_for: dict[int, Purchase] = {}
        self._uses: dict[tuple[str, int], dict[int, int]] = {}

    def variable(self, upper: int, cost: int = 0) -> int:
        """Add a whole variable from 0 to `upper`."""
        self.uppers.append(upper)
        self._costs.append(cost)
        return len(self.uppers) - 1

    def choice(
        self, upper: int, purchase: Purchase, uses: Purchase | None = None
    ) -> int:
        """Add a variable for so many times a purchase; what it uses, unless said."""
        variable = self.variable(upper, cost_cents(self.fleet, purchase))
        self._stands_for[variable] = purchase
        self.use(variable, purchase if uses is None else uses)
        return variable

    def use(self, variable: int, purchase: Purchase) -> None:
        """Note that a variable uses what a purchase does."""
        for key, amount in used(self.fleet, purchase).items():
            self._uses.setdefault(key, {})[variable] = amount

    def acquisitions(self, kit: int, most: int) -> dict[tuple[int, int], int]:
        """Add a variable for the copies of a kit that are acquired in each period."""
        return {
            (kit, period): self.choice(most, Purchase(acquired={(kit, period): 1}))
            for period in self.fleet.periods
        }

    def containers(self) -> dict[int, int]:
        """Add a variable for the number of each container."""
        return {
            place: self.choice(container.most, Purchase(containers={place: 1}))
            for place, container in enumerate(self.fleet.containers)
        }

    def row(
        self,
        group: str,
        terms: Mapping[int, int],
        *,
        lower: int | None = None,
        upper: int | None = None,
    ) -> int | None:
        """Add a row and return its place; what always holds is left out."""
        known = {place: factor for place, factor in terms.items() if factor}
        ends = [factor * self.uppers[place] for place, factor in known.items()]
        if sum(map(abs, ends)) >= MAX_ACTIVITY:
            raise InternalError.of("E903", f"the row {group} exceeds the solver")
        if upper is not None and sum(end for end in ends if end > 0) <= upper:
            upper = None
        if lower is not None and sum(end for end in ends if end < 0) >= lower:
            lower = None
        if lower is None and upper is None:
            return None
        row = Row(group, tuple(known.values()), lower, upper, tuple(known))
        self._rows.append(row)
        return len(self._rows) - 1

    def hosts(
        self, kit: int, acquired: Iterable[int], at_work: Mapping[int, int]
    ) -> int | None:
        """Ask that what is at work of a kit was acquired until then."""
        terms = {**dict.fromkeys(acquired, 1), **{v: -n for v, n in at_work.items()}}
        return self.row(f"hosts of {self.fleet.kits[kit].name}", terms, lower=0)

    def limits(self) -> dict[tuple[str, int], int]:
        """Write a row for each limit, and tell their places; of equal ones, one."""
        written: set[tuple[str, frozenset[tuple[int, int]]]] = set()
        places = {}
        for name, period in sorted(self._uses):
            terms = self._uses[name, period]
            known = name, frozenset(terms.items())
            if known not in written:
                written.add(known)
                row = self.row(name, terms, upper=self.fleet.limits[name])
                if row is not None:
                    places[name, period] = row
        return places

    @property
    def model(self) -> Model:
        """The programme written so far."""
        return Model(tuple(self.uppers), tuple(self._rows), tuple(self._costs))

    def purchase(self, values: Sequence[int]) -> Purchase:
        """Read a solution."""
        return total(
            (purchase, values[place])
            for place, purchase in self._stands_for.items()
            if values[place]
        )


# --- Selections -----------------------------------------------------------------------


MOST_SHAPES = 2
"""Templates at work for a stream in a period, where demand is divided into parts."""


@dataclass(frozen=True, slots=True)
class Column:
    """A template with a share of a stream's demand, in parts of the selection."""

    template: int
    share: int
    start: int  # First period


class Selection(Programme):
    """For each stream, which template carries which share of its demand.

    How many copies a share takes is known beforehand, rounded up, with a reserve: so
    the programme only selects. What is bought or owned carries a share of the demand
    from a period on, and is bought as that grows; what is rented the topmost share of a
    period, in the hours that reach up there. With one part columns carry all or
    nothing, with four quarters, of at most two shapes.
    """

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


Key = TypeVar("Key")

# --- The free mix ---------------------------------------------------------------------


AVERAGING = 1000
"""Fractions of the row for the average loss are kept to one part in so many."""

NOTHING = Purchase()


class Mix(Programme):
    """The free mix: any number of copies of each template, in each period and step.

    It states the problem itself. Selections are quicker to prove and give it a solution
    to begin with; its bound is the bound of the plan. The failures that a stream must
    bear are counted at the largest loss of the templates at work for it.

    With a single period what is acquired is what is at work, and the copies of a kit
    need no variables of their own.
    """

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
        acquired = self.acquisitions(kit, most)
        self._acquired |= acquired
        for period in fleet.periods:
            if at_work[period]:
                held = [acquired[kit, sooner] for sooner in range(period + 1)]
                self.hosts(kit, held, at_work[period])
