"""From a fleet file to a problem in whole numbers, and what its numbers stand for.

Units of hardware that meet a demand are what the searches of solve and train find.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

from msgspec import structs
from msgspec.structs import replace as with_changes

from planopt.catalog.entries import CostAssumptions
from planopt.catalog.open import Catalog
from planopt.documents.evaluation import Deployment
from planopt.documents.fleet_request import (
    Bought,
    Demand,
    FleetRequest,
    Owned,
    Region,
    Rented,
    Size,
    Training,
    Workload,
)
from planopt.documents.training import TrainingDeployment
from planopt.fleets.problem import Fleet, Kit, Step, Stream, Template, Way
from planopt.market import read_market
from planopt.money import parts
from planopt.options import Asked
from planopt.procurement.model import exact
from planopt.procurement.problem import Limits, Listed
from planopt.serving.build import Build, lay_out_together
from planopt.serving.question_types import Problem
from planopt.serving.search import Aim, UnitsSought, find_together
from planopt.training.build import lay_clusters_out
from planopt.training.problem import TrainingProblem, find_clusters
from planopt.units import CENTS, HOURS_PER_YEAR, MICRO_USD, SECONDS_PER_HOUR

UTILISATION = 0.8
"""Share of what a replica can do that is asked of it at the peak, unless said: queues
grow without bound as it nears 1."""

Source = Bought | Owned | Rented


@dataclass(frozen=True)
class Unit:
    """Hosts with a model on them, all at work."""

    deployment: Deployment | TrainingDeployment
    """One unit: layout, hardware, evaluation, parts."""
    accelerators: int
    hosts: int
    power_watts: float
    rack_units: float
    price_micro_usd: int  # To buy it
    requests_per_second: float = 0.0  # What it serves at full load
    run_seconds: float = 0.0  # Time of its run

    @classmethod
    def of(
        cls,
        listed: Listed,
        row: int,
        deployment: Deployment | TrainingDeployment,
        **does: float,
    ) -> Unit:
        """Take a row of what a search found, and what the unit does."""
        return cls(
            deployment=deployment,
            accelerators=listed.accelerators[row],
            hosts=listed.hosts[row],
            power_watts=listed.power_watts[row],
            rack_units=listed.rack_units[row],
            price_micro_usd=listed.price_micro_usd[row],
            **does,
        )

    @property
    def hardware(self) -> tuple[object, ...]:
        """Hardware alone: units that share it can take each other's place."""
        at = self.deployment.hardware
        return (
            self.deployment.candidate.accelerator,
            self.accelerators,
            at.host,
            self.hosts,
            at.network,
            at.nics_per_host,
            at.switch,
        )


class Sought(NamedTuple):
    """Requests of a size, and what they may be served with."""

    workload: Workload
    size: Size
    source: Source

    @property
    def same(self) -> tuple[object, ...]:
        """What it shares with those that the same units are found for."""
        source = self.source
        where = [getattr(source, name, None) for name in ("offer", "host", "network")]
        of = self.workload.name, self.size.name, source.accelerator
        return *of, source.accelerators, *where


def serving_units(
    catalog: Catalog, request: FleetRequest, sought: Sequence[Sought]
) -> list[list[Unit]]:
    """Find the units that keep the promise for requests of a size, for each of some."""
    problems = [_serving_problem(catalog, request, each) for each in sought]
    found = find_together(catalog, [UnitsSought(each, Aim()) for each in problems])
    listed = [each.listed() for each in found]
    rows = [_whole(*each) for each in zip(sought, listed, strict=True)]
    ones = [[{row: 1} for row in each] for each in rows]
    limits = [Limits(users=0)] * len(found)
    laid = lay_out_together(list(zip(found, problems, limits, ones, strict=True)))
    return [
        list(_served(*each)) for each in zip(problems, listed, rows, laid, strict=True)
    ]


def _serving_problem(
    catalog: Catalog, request: FleetRequest, sought: Sought
) -> Problem:
    """Ask as solve does for the units of a source alone."""
    workload, size, source = sought
    promise = request.promise(workload.promise)
    options: dict[str, object] = {
        "model": workload.model,
        "weights": workload.weights,
        "target": promise.target,
        "ttft": promise.ttft_seconds,
        "isl": size.prompt,
        "osl": size.output,
        "concurrency": 1,
        # A unit's rate is that of its steps, unless a first token is promised.
        "load": "steady" if promise.ttft_seconds is None else None,
        "throughput": 1.0,  # so that each unit runs the batch that it was found with
        "accelerators": source.accelerator,
        "assumptions": request.assumptions,
        "confidence": request.confidence,
        "top": 1,
    }
    if isinstance(source, Rented):
        provider, _, region = source.offer.split("/")
        where = {"provider": provider, "region": region, "billing": source.terms}
        options |= {"procurement": "rent", "provider_class": "any", **where}
    else:
        options["host"] = source.host
    # Networks of one's own are part of what is bought, and of nothing else.
    options["network"] = _network(source)
    problem = read_market(Asked("solve", options), catalog, Problem)
    return structs.replace(problem, within_host=_network(source) is None)


def _network(source: Source) -> str | None:
    return source.network if isinstance(source, Bought) else None


def _whole(sought: Sought, listed: Listed) -> list[int]:
    """Rows that are of a source, need nothing else, and have all its accelerators."""
    source = sought.source
    hosts, network = listed.hosts, _network(source)
    fitting = [
        row
        for row, host in enumerate(listed.host)
        if (hosts[row] == 1 or (network and listed.network[row] == network))
        and (not isinstance(source, Rented) or host == source.offer)
    ]
    each = source.accelerators or max(
        (listed.accelerators[row] // hosts[row] for row in fitting), default=0
    )
    return [row for row in fitting if listed.accelerators[row] == each * hosts[row]]


def _served(
    problem: Problem, listed: Listed, rows: Sequence[int], builds: Sequence[Build]
) -> Iterator[Unit]:
    """Tell what each unit serves at full load (docs/reference/fleet.md, section 2)."""
    for row, build in zip(rows, builds, strict=True):
        (deployment,) = build.deployments
        speed = deployment.evaluation.decode.tokens_per_second
        prefill = deployment.evaluation.prefill.seconds
        if not speed or prefill is None:
            continue
        seconds = prefill + problem.output_tokens / speed
        longer = problem.slower.get(deployment.candidate.accelerator, 1.0)
        served = deployment.replicas / (seconds * longer)
        yield Unit.of(listed, row, deployment, requests_per_second=served)


def training_units(
    catalog: Catalog, request: FleetRequest, training: Training, source: Source
) -> Iterator[Unit]:
    """Find the clusters of a source that end a run before its deadline.

    What is owned is used by single hosts: networks between them are not part of it.
    """
    if isinstance(source, Rented):
        return  # the core does not train on instances yet
    options = {
        "model": training.model,
        "tokens": training.tokens,
        "deadline": training.deadline_seconds,
        "seq_len": training.seq_len,
        "global_batch": training.global_batch,
        "accelerators": source.accelerator,
        "host": source.host,
        "network": _network(source),
        "assumptions": request.assumptions,
        "confidence": request.confidence,
    }
    problem = read_market(Asked("train", options), catalog, TrainingProblem)
    clusters = find_clusters(catalog, problem)
    listed = clusters.runs()
    alone = isinstance(source, Owned)
    rows = [row for row, hosts in enumerate(listed.hosts) if hosts == 1 or not alone]
    built = lay_clusters_out(clusters, Limits(users=1), rows)
    for row, build in zip(rows, built, strict=True):
        seconds = listed.run_seconds[row]
        yield Unit.of(listed, row, build.deployment, run_seconds=seconds)


# --- The problem ----------------------------------------------------------------------


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
    demands: list[Demanded]  # One for each stream
    uses: list[Use]  # One for each template
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
            shares = duration_curve(request.curve(workload.curve).week)
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


def charges_cents(
    cost: CostAssumptions,
    request: FleetRequest,
    region: Region,
    unit: Unit,
    price_micro_usd: int,
) -> tuple[int, ...]:
    """Charge for a unit acquired at the beginning of each period, to the end.

    docs/reference/fleet.md, section 4, says what for; rounded up to a cent.
    """
    own = region.electricity_usd_per_kwh
    if own is not None:
        cost = with_changes(cost, electricity_usd_per_kwh=own)
    price = price_micro_usd / MICRO_USD
    lines = parts(cost, price, unit.power_watts, unit.rack_units)
    bound = lines["purchase"] + lines["financing"]
    running, life = sum(lines.values()) - bound, cost.years * HOURS_PER_YEAR
    charges = []
    for period in range(request.periods):
        hours = (request.periods - period) * request.period_hours
        usd = bound * min(hours, life) + running * hours
        charges.append(math.ceil(round(usd * CENTS, 6)))
    return tuple(charges)


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

FLAT: tuple[tuple[Fraction, Fraction], ...] = ((Fraction(1), Fraction(1)),)
"""The same demand in every hour."""


def duration_curve(week: Sequence[float]) -> tuple[tuple[Fraction, Fraction], ...]:
    """Sort the hours of a week by demand."""
    most = Fraction(max(week))
    hours = Counter(math.ceil(Fraction(share) / most * STEPS) for share in week)
    return tuple(
        (Fraction(step, STEPS), Fraction(count, len(week)))
        for step, count in sorted(hours.items(), reverse=True)
        if step
    )
