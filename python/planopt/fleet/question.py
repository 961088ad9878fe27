"""From a fleet file to a problem in whole numbers, and what its numbers stand for."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from planopt.documents.fleet_request import Bought, Owned, Rented
from planopt.fleet.charges import charge_cents
from planopt.fleet.curve import FLAT, duration_curve
from planopt.fleet.problem import Fleet, Kit, Step, Stream, Template, Way
from planopt.fleet.runs import active_periods, runs_of
from planopt.fleet.supply import UTILISATION, units_of
from planopt.procurement.model import exact

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog
    from planopt.documents.fleet_request import (
        FleetRequest,
        Region,
        Size,
        Training,
        Workload,
    )
    from planopt.fleet.runs import Run
    from planopt.fleet.supply import Served


PER_UNIT = 10**6
"""Demands and supplies are counted in millionths: of a request per second, of a run."""

CENTS = 100
SHARES_OF_A_RACK_UNIT = 100

Source = Bought | Owned | Rented


@dataclass(frozen=True)
class Demanded:
    """What a stream stands for: requests of a size in a region, or a run."""

    region: str
    workload: Workload | None = None
    size: Size | None = None
    training: Training | None = None


@dataclass(frozen=True)
class Use:
    """What a template stands for: a unit of a source, at work for a stream."""

    source: Source
    unit: Served | Run


@dataclass
class Question:
    """A problem, with what its streams, kits and templates stand for."""

    fleet: Fleet
    demands: list[Demanded]
    """One for each stream."""
    uses: list[Use]
    """One for each template."""
    units: list[Served | Run]
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
    units: list[Served | Run] = field(default_factory=list)
    templates: list[Template] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    _places: dict[tuple[object, ...], int] = field(default_factory=dict)
    _known: dict[tuple[object, ...], list[Served]] = field(default_factory=dict)

    def question(self) -> Question:
        for workload in self.request.workloads:
            for size in workload.sizes:
                for demand in workload.demand:
                    self._add_serving(workload, size, demand.region)
        for training in self.request.training:
            self._add_training(training)
        fleet = Fleet(
            tuple(self.streams),
            tuple(
                _kit(self.catalog, self.request, number, source, unit, region)
                for (number, source, region), unit in zip(
                    self.kits, self.units, strict=True
                )
            ),
            tuple(self.templates),
            _limits(self.request, self._rack_units),
        )
        return Question(fleet, self.demands, self.uses, self.units)

    @property
    def _rack_units(self) -> float:
        """Height of a rack, an assumption."""
        return self.catalog.cost.rack_units

    def _add_serving(self, workload: Workload, size: Size, region: str) -> None:
        demand = next(each for each in workload.demand if each.region == region)
        share = exact(demand.requests_per_second) * exact(size.share)
        periods = []
        for period in range(self.request.periods):
            peak = share * (1 + exact(workload.growth)) ** period * PER_UNIT
            periods.append(_steps(self.request, workload.curve, peak))
        name = f"{workload.name}/{size.name}/{region}"
        stream = Stream(name, tuple(periods), workload.failures)
        place = self._add_stream(stream, Demanded(region, workload, size))
        utilisation = workload.utilisation or UTILISATION
        for number, source in self._sources(region):
            for unit in self._units(workload, size, source):
                goodput = getattr(source, "goodput", 1.0)
                supply = unit.requests_per_second * utilisation * goodput
                self._add_template(
                    place, number, source, unit, int(supply * PER_UNIT), workload
                )

    def _add_training(self, training: Training) -> None:
        """Add a run: it takes one cluster, from its start until its deadline."""
        active = active_periods(self.request, training)
        hours = Fraction(exact(self.request.period_hours))
        periods = tuple(
            (Step(PER_UNIT, hours),) if period in active else ()
            for period in range(self.request.periods)
        )
        stream = Stream(f"{training.name}/{training.region}", periods)
        place = self._add_stream(stream, Demanded(training.region, training=training))
        for number, source in self._sources(training.region):
            for run in runs_of(self.catalog, self.request, training, source):
                self._add_template(place, number, source, run, PER_UNIT, None)

    def _add_stream(self, stream: Stream, demanded: Demanded) -> int:
        self.streams.append(stream)
        self.demands.append(demanded)
        return len(self.streams) - 1

    def _sources(self, region: str) -> list[tuple[int, Source]]:
        """List what a region can be served with, each with its place in the file."""
        request = self.request
        every: tuple[Source, ...] = (*request.buy, *request.own, *request.rent)
        return [
            (number, source)
            for number, source in enumerate(every)
            if source.region in (None, region)
        ]

    def _units(self, workload: Workload, size: Size, source: Source) -> list[Served]:
        """Units of a source for requests of a size; the same in every region."""
        key = (
            workload.name,
            size.name,
            getattr(source, "offer", None)
            or (
                source.accelerator,
                getattr(source, "host", None),
                source.accelerators,
                getattr(source, "network", None),
            ),
        )
        if key not in self._known:
            found = units_of(self.catalog, self.request, workload, size, source)
            self._known[key] = list(found)
        return self._known[key]

    def _add_template(
        self,
        stream: int,
        number: int,
        source: Source,
        unit: Served | Run,
        supply: int,
        workload: Workload | None,
    ) -> None:
        if supply <= 0:
            return
        region = self.request.region(self.demands[stream].region)
        kit = self._place(number, source, unit, region)
        loss, hours = 0, None
        if workload is not None:
            peak = self.streams[stream].highest
            together = 1
            if not isinstance(source, Rented):
                height = self._rack_units
                together = _failing_together(workload.failure, region, unit, height)
            loss = _loss(workload, unit, supply, min(together, -(-peak // supply)))
        else:
            hours = unit.hours_of_a_period  # type: ignore[union-attr]  # a run
        self.templates.append(Template(stream, kit, supply, loss, hours=hours))
        self.uses.append(Use(source, unit))

    def _place(
        self, number: int, source: Source, unit: Served | Run, region: Region
    ) -> int:
        key = number, region.name, unit.hardware
        if key not in self._places:
            self._places[key] = len(self.kits)
            self.kits.append((number, source, region))
            self.units.append(unit)
        place = self._places[key]
        if unit.power_watts > self.units[place].power_watts:
            self.units[place] = unit
        return place


def _steps(
    request: FleetRequest, curve: str | None, peak: Fraction
) -> tuple[Step, ...]:
    shares = FLAT
    if curve is not None:
        day = request.curve(curve)
        shares = duration_curve(day.weekday, day.weekend)
    hours = exact(request.period_hours)
    return tuple(
        Step(math.ceil(peak * share), hours * of_hours) for share, of_hours in shares
    )


def way_of(source: Source) -> Way:
    """How hardware of a source is come by."""
    if isinstance(source, Rented):
        return "rent"
    return "own" if isinstance(source, Owned) else "buy"


def _kit(
    catalog: Catalog,
    request: FleetRequest,
    number: int,
    source: Source,
    unit: Served | Run,
    region: Region,
) -> Kit:
    way = way_of(source)
    name = " ".join(str(part) for part in unit.hardware if part is not None)
    pool = f"{source.accelerator} {region.name} {number}"
    if isinstance(source, Rented):
        quota = {f"quota:{source.offer}@{region.name}": unit.hosts}
        return Kit(
            name=f"{name} in {region.name}",
            way=way,
            pool=pool,
            charge_cents=(0,) * request.periods,
            micro_usd_per_hour=source.micro_usd_per_hour * unit.hosts,
            uses=quota,
        )
    price = unit.price_micro_usd if way == "buy" else 0
    uses = {
        f"power:{region.name}": math.ceil(unit.power_watts),
        f"rack power:{region.name}": math.ceil(unit.power_watts),
        f"rack units:{region.name}": math.ceil(unit.rack_units * SHARES_OF_A_RACK_UNIT),
        f"switch ports:{region.name}": unit.hosts,
    }
    if isinstance(source, Owned):
        uses[f"owned:{number}"] = unit.hosts
    else:
        uses["budget"] = math.ceil(Fraction(price * CENTS, 10**6))
        uses[f"stock:{number}"] = unit.accelerators
    return Kit(
        name=f"{name} in {region.name}",
        way=way,
        pool=pool,
        charge_cents=tuple(
            charge_cents(catalog, request, region, unit, price, period)
            for period in range(request.periods)
        ),
        uses=uses,
    )


def _limits(request: FleetRequest, rack_units: float) -> dict[str, int]:
    """Limits by name; those that the file does not set are absent."""
    limits: dict[str, int] = {}
    if request.budget_usd is not None:
        limits["budget"] = math.floor(exact(request.budget_usd) * CENTS)
    for region in request.regions:
        if region.power_watts is not None:
            limits[f"power:{region.name}"] = math.floor(region.power_watts)
        if region.racks is not None:
            room = region.racks * exact(rack_units) * SHARES_OF_A_RACK_UNIT
            limits[f"rack units:{region.name}"] = math.floor(room)
            if region.rack_watts is not None:
                watts = math.floor(region.racks * exact(region.rack_watts))
                limits[f"rack power:{region.name}"] = watts
        if region.switch_ports is not None:
            limits[f"switch ports:{region.name}"] = region.switch_ports
    every = (*request.buy, *request.own, *request.rent)
    for number, source in enumerate(every):
        if isinstance(source, Bought) and source.stock is not None:
            limits[f"stock:{number}"] = source.stock
        elif isinstance(source, Owned):
            limits[f"owned:{number}"] = source.hosts
        elif isinstance(source, Rented) and source.quota is not None:
            limits[f"quota:{source.offer}@{source.region}"] = source.quota
    return limits


def _loss(workload: Workload, unit: Served | Run, supply: int, together: int) -> int:
    """Tell what a failure takes of a template.

    Copies that fail together are as many as share a switch or a rack, but no more than
    meet the peak alone: a plan spreads what it has over two switches or racks. What is
    rented fails as single instances.
    """
    if workload.failure == "replica":
        return -(-supply // unit.deployment.replicas)
    return together * supply


def _failing_together(
    failure: str, region: Region, unit: Served | Run, rack_units: float
) -> int:
    """Count the copies of a unit that share a switch or a rack."""
    if failure == "switch":
        ports = region.ports_of_a_switch or region.switch_ports
        return max(1, (ports or 1) // unit.hosts)
    if failure == "rack":
        by_height = rack_units / max(unit.rack_units, 1.0)
        by_power = (region.rack_watts or math.inf) / max(unit.power_watts, 1.0)
        return max(1, math.floor(min(by_height, by_power)))
    return 1
