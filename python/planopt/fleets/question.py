"""From a fleet file to a problem in whole numbers, and what its numbers stand for."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from planopt.documents.fleet_request import Bought, Owned, Rented
from planopt.fleets.charges import charges_cents
from planopt.fleets.problem import Fleet, Kit, Step, Stream, Template, Way
from planopt.fleets.units import UTILISATION, Sought, serving_units, training_units
from planopt.procurement.model import exact
from planopt.units import CENTS, MICRO_USD, SECONDS_PER_HOUR

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt.catalog.open import Catalog
    from planopt.documents.fleet_request import (
        Demand,
        FleetRequest,
        Region,
        Size,
        Training,
        Workload,
    )
    from planopt.fleets.units import Source, Unit


PER_UNIT = 10**6
"""Demands and supplies are counted in millionths: of a request per second, of a run."""

SHARES_OF_A_RACK_UNIT = 100


@dataclass(frozen=True)
class Demanded:
    """What a stream stands for: requests of a size in a region, or a run."""

    region: Region
    workload: Workload | None = None
    size: Size | None = None
    training: Training | None = None


@dataclass(frozen=True)
class Use:
    """What a template stands for: a unit of a source, at work for a stream."""

    source: Source
    unit: Unit


@dataclass(frozen=True)
class Question:
    """A problem, with what its streams, kits and templates stand for."""

    fleet: Fleet
    demands: list[Demanded]
    """One for each stream."""
    uses: list[Use]
    """One for each template."""
    units: list[Unit]
    """One for each kit: of the units on it the one that draws most power, which is what
    the kit is charged for."""

    def only(self, templates: list[int]) -> Question:
        """Return the same question with only some of its templates."""
        return replace(self, fleet=self.fleet.only(templates))


def ask(catalog: Catalog, request: FleetRequest) -> Question:
    """Put a fleet file as a problem."""
    return _Asking(catalog, request).question()


@dataclass
class _Asking:
    """The problem as it grows, demand by demand."""

    catalog: Catalog
    request: FleetRequest
    demands: list[Demanded] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    kits: list[tuple[int, Source, Region]] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    templates: list[Template] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    _places: dict[tuple[object, ...], int] = field(default_factory=dict)

    def question(self) -> Question:
        requests = [
            (workload, size, demand)
            for workload in self.request.workloads
            for size in workload.sizes
            for demand in workload.demand
        ]
        # The units are the same in every region: they are searched for once, together.
        sought = {
            each.same: each
            for workload, size, demand in requests
            for _, source in self._sources(demand.region)
            for each in [Sought(workload, size, source)]
        }
        units = serving_units(self.catalog, self.request, [*sought.values()])
        known = dict(zip(sought, units, strict=True))
        for workload, size, demand in requests:
            self._add_requests(workload, size, demand)
            for number, source in self._sources(demand.region):
                for unit in known[Sought(workload, size, source).same]:
                    self._add_serving(workload, number, Use(source, unit))
        for training in self.request.training:
            self._add_run(training)
            for number, source in self._sources(training.region):
                self._add_training(training, number, source)
        kits = zip(self.kits, self.units, strict=True)
        fleet = Fleet(
            tuple(self.streams),
            tuple(self._kit(*kit, unit) for kit, unit in kits),
            tuple(self.templates),
            dict(_limits(self.request, self.catalog.cost.rack_units)),
        )
        return Question(fleet, self.demands, self.uses, self.units)

    def _add_requests(self, workload: Workload, size: Size, demand: Demand) -> None:
        """Ask for requests of a size in a region, in the hours of its curve."""
        request = self.request
        share = exact(demand.requests_per_second) * exact(size.share) * PER_UNIT
        shares = FLAT
        if workload.curve is not None:
            day = request.curve(workload.curve)
            shares = duration_curve(day.weekday, day.weekend)
        hours = exact(request.period_hours)
        peaks = [
            share * (1 + exact(workload.growth)) ** period
            for period in range(request.periods)
        ]
        periods = (
            tuple(Step(math.ceil(peak * part), hours * of) for part, of in shares)
            for peak in peaks
        )
        name = f"{workload.name}/{size.name}/{demand.region}"
        self.streams.append(Stream(name, tuple(periods), workload.failures))
        region = request.region(demand.region)
        self.demands.append(Demanded(region, workload, size))

    def _add_run(self, training: Training) -> None:
        """Ask for a run: it takes one cluster, from its start until its deadline."""
        active = self._active(training)
        whole = (Step(PER_UNIT, Fraction(exact(self.request.period_hours))),)
        periods = (whole if p in active else () for p in range(self.request.periods))
        name = f"{training.name}/{training.region}"
        self.streams.append(Stream(name, tuple(periods)))
        region = self.request.region(training.region)
        self.demands.append(Demanded(region, training=training))

    def _active(self, training: Training) -> range:
        """Periods from the start of a run to its deadline."""
        hours = training.deadline_seconds / SECONDS_PER_HOUR
        first = training.start - 1
        last = first + math.ceil(hours / self.request.period_hours)
        return range(first, min(last, self.request.periods))

    def _sources(self, region: str) -> Iterator[tuple[int, Source]]:
        """List what a region can be served with, each with its place in the file."""
        for number, source in enumerate(_every(self.request)):
            if source.region in (None, region):
                yield number, source

    def _add_serving(self, workload: Workload, number: int, use: Use) -> None:
        """Add a way of serving the last stream."""
        source, unit = use.source, use.unit
        utilisation = workload.utilisation or UTILISATION
        goodput = source.goodput if isinstance(source, Rented) else 1.0
        full = unit.requests_per_second * utilisation * goodput
        supply = int(full * PER_UNIT)
        if supply <= 0:
            return
        # What is rented fails as single instances.
        rented = isinstance(source, Rented)
        together = 1 if rented else self._failing_together(workload.failure, unit)
        # A plan spreads what it has over two switches or racks.
        together = min(together, -(-self.streams[-1].highest // supply))
        loss = together * supply
        if workload.failure == "replica":
            loss = -(-supply // unit.deployment.replicas)
        self._add_template(number, use, supply, loss)

    def _add_training(self, training: Training, number: int, source: Source) -> None:
        """Add the ways of training the last stream."""
        periods = max(1, len(self._active(training)))
        for unit in training_units(self.catalog, self.request, training, source):
            hours = exact(unit.run_seconds) / SECONDS_PER_HOUR / periods
            self._add_template(number, Use(source, unit), PER_UNIT, hours=hours)

    def _add_template(
        self,
        number: int,
        use: Use,
        supply: int,
        loss: int = 0,
        hours: Fraction | None = None,
    ) -> None:
        stream, region = len(self.streams) - 1, self.demands[-1].region
        key = number, region.name, use.unit.hardware
        place = self._places.setdefault(key, len(self.kits))
        if place == len(self.kits):
            self.kits.append((number, use.source, region))
            self.units.append(use.unit)
        if use.unit.power_watts > self.units[place].power_watts:
            self.units[place] = use.unit
        self.templates.append(Template(stream, place, supply, loss, hours=hours))
        self.uses.append(use)

    def _failing_together(self, failure: str, unit: Unit) -> int:
        """Count the copies of a unit that share a switch or a rack."""
        region = self.demands[-1].region
        if failure == "switch":
            ports = region.ports_of_a_switch or region.switch_ports
            return max(1, (ports or 1) // unit.hosts)
        if failure == "rack":
            by_height = self.catalog.cost.rack_units / max(unit.rack_units, 1.0)
            by_power = (region.rack_watts or math.inf) / max(unit.power_watts, 1.0)
            return max(1, math.floor(min(by_height, by_power)))
        return 1

    def _kit(self, number: int, source: Source, region: Region, unit: Unit) -> Kit:
        hardware = " ".join(str(part) for part in unit.hardware if part is not None)
        name = f"{hardware} in {region.name}"
        pool = f"{source.accelerator} {region.name} {number}"
        if isinstance(source, Rented):
            return Kit(
                name,
                "rent",
                pool,
                charge_cents=(0,) * self.request.periods,
                micro_usd_per_hour=source.micro_usd_per_hour * unit.hosts,
                uses={f"quota:{source.offer}@{region.name}": unit.hosts},
            )
        way: Way = "own" if isinstance(source, Owned) else "buy"
        price = 0 if way == "own" else unit.price_micro_usd
        height = math.ceil(unit.rack_units * SHARES_OF_A_RACK_UNIT)
        uses = {
            f"power:{region.name}": math.ceil(unit.power_watts),
            f"rack power:{region.name}": math.ceil(unit.power_watts),
            f"rack units:{region.name}": height,
            f"switch ports:{region.name}": unit.hosts,
        }
        if way == "own":
            uses[f"owned:{number}"] = unit.hosts
        else:
            uses["budget"] = math.ceil(Fraction(price * CENTS, MICRO_USD))
            uses[f"stock:{number}"] = unit.accelerators
        charges = charges_cents(self.catalog.cost, self.request, region, unit, price)
        return Kit(name, way, pool, charges, uses=uses)


def _every(request: FleetRequest) -> tuple[Source, ...]:
    """All hardware of a file, in its order."""
    return (*request.buy, *request.own, *request.rent)


def _limits(request: FleetRequest, rack_units: float) -> Iterator[tuple[str, int]]:
    """Limits by name; those that the file does not set are absent."""
    if request.budget_usd is not None:
        yield "budget", math.floor(exact(request.budget_usd) * CENTS)
    for region in request.regions:
        if region.power_watts is not None:
            yield f"power:{region.name}", math.floor(region.power_watts)
        if region.racks is not None:
            room = region.racks * exact(rack_units) * SHARES_OF_A_RACK_UNIT
            yield f"rack units:{region.name}", math.floor(room)
            if region.rack_watts is not None:
                watts = math.floor(region.racks * exact(region.rack_watts))
                yield f"rack power:{region.name}", watts
        if region.switch_ports is not None:
            yield f"switch ports:{region.name}", region.switch_ports
    for number, source in enumerate(_every(request)):
        if isinstance(source, Bought) and source.stock is not None:
            yield f"stock:{number}", source.stock
        elif isinstance(source, Owned):
            yield f"owned:{number}", source.hosts
        elif isinstance(source, Rented) and source.quota is not None:
            yield f"quota:{source.offer}@{source.region}", source.quota


STEPS = 8
"""Shares of the peak are rounded up to eighths: a plan has a little too much in an hour
rather than too little, and as few kinds of hours as a schedule of scaling has."""

WEEKDAYS = 5
WEEKEND_DAYS = 2
HOURS_OF_A_WEEK = 168

FLAT: tuple[tuple[Fraction, Fraction], ...] = ((Fraction(1), Fraction(1)),)
"""The same demand in every hour."""


def duration_curve(
    weekday: Sequence[float], weekend: Sequence[float]
) -> tuple[tuple[Fraction, Fraction], ...]:
    """Sort the hours of a week by demand."""
    most = max((*weekday, *weekend))
    hours: Counter[int] = Counter()
    for shares, days in ((weekday, WEEKDAYS), (weekend, WEEKEND_DAYS)):
        for share in shares:
            hours[math.ceil(Fraction(share) / Fraction(most) * STEPS)] += days
    return tuple(
        (Fraction(step, STEPS), Fraction(count, HOURS_OF_A_WEEK))
        for step, count in sorted(hours.items(), reverse=True)
        if step
    )
