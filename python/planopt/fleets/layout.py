"""From a purchase in whole numbers to what a plan says of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt.bill import merged, times
from planopt.documents.evaluation import Deployment
from planopt.documents.fleet import (
    Acquisition,
    FleetDeployment,
    FleetRun,
    Period,
    Rental,
    StreamSupply,
)
from planopt.documents.training import TrainingDeployment
from planopt.fleets.question import PER_UNIT
from planopt.units import CENTS, HOURS_PER_DAY, MICRO_USD, SECONDS_PER_HOUR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt.documents.parts import BomLine
    from planopt.fleets.problem import Template
    from planopt.fleets.purchase import Purchase
    from planopt.fleets.question import Demanded, Question, Use


@dataclass(frozen=True)
class Layout:
    """A purchase, laid out."""

    question: Question
    purchase: Purchase

    def deployments(self) -> tuple[FleetDeployment, ...]:
        """Models on units, demand by demand."""
        return tuple(
            FleetDeployment(
                stream=stream,
                model=demanded.workload.model,
                region=demanded.region.name,
                way=self.question.fleet.kit_of(place).way,
                prompt_tokens=demanded.size.prompt,
                output_tokens=demanded.size.output,
                candidate=unit.candidate,
                hardware=unit.hardware,
                evaluation=unit.evaluation,
                replicas=unit.replicas,
                requests_per_second=self._template(place).supply / PER_UNIT,
                units=self._units(place),
                rentals=self._rentals(place),
            )
            for place, stream, demanded, use in self._at_work()
            for unit in [use.unit.deployment]
            if demanded.workload and demanded.size and isinstance(unit, Deployment)
        )

    def runs(self) -> tuple[FleetRun, ...]:
        """Lay runs of training out on their clusters."""
        return tuple(
            FleetRun(
                stream=stream,
                model=demanded.training.model,
                region=demanded.region.name,
                way=self.question.fleet.kit_of(place).way,
                candidate=unit.candidate,
                hardware=unit.hardware,
                evaluation=unit.evaluation,
                days=use.unit.run_seconds / SECONDS_PER_HOUR / HOURS_PER_DAY,
                units=self._units(place),
            )
            for place, stream, demanded, use in self._at_work()
            for unit in [use.unit.deployment]
            if demanded.training and isinstance(unit, TrainingDeployment)
        )

    def acquisitions(self) -> tuple[Acquisition, ...]:
        """Hosts that are bought or put to use, kit by kit."""
        fleet = self.question.fleet
        laid = []
        for kit, entry in enumerate(fleet.kits):
            counts = [self.purchase.acquired.get((kit, p), 0) for p in fleet.periods]
            if not any(counts):
                continue
            unit = self.question.units[kit]
            each = unit.deployment
            serves = isinstance(each, Deployment)
            price = unit.price_micro_usd if entry.way == "buy" else 0
            charge = sum(n * c for n, c in zip(counts, entry.charge_cents, strict=True))
            stream = self._template(fleet.of_kit[kit][0]).stream
            laid.append(
                Acquisition(
                    region=self.question.demands[stream].region.name,
                    way=entry.way,
                    accelerator=each.candidate.accelerator,
                    accelerators=unit.accelerators,
                    host=each.hardware.host or "",
                    hosts=unit.hosts,
                    network=each.hardware.network,
                    nics_per_host=each.hardware.nics_per_host,
                    switch=each.hardware.switch,
                    tp=each.candidate.tp if serves else None,
                    cp=each.candidate.cp if serves else None,
                    dp=each.candidate.dp if serves else None,
                    pp=each.candidate.pp if serves else None,
                    replicas=each.replicas if serves else None,
                    units=tuple(counts),
                    unit_price_usd=price / MICRO_USD,
                    price_usd=price * sum(counts) / MICRO_USD,
                    power_watts=unit.power_watts,
                    rack_units=unit.rack_units,
                    charge_usd=charge / CENTS,
                    bill_of_materials=each.bill_of_materials
                    if entry.way == "buy"
                    else (),
                )
            )
        return tuple(laid)

    def bill_of_materials(self) -> tuple[BomLine, ...]:
        """Everything that is bought."""
        return merged(
            [
                times(line, sum(each.units))
                for each in self.acquisitions()
                for line in each.bill_of_materials
            ]
        )

    def streams(self) -> tuple[StreamSupply, ...]:
        """Every demand with what meets it."""
        fleet = self.question.fleet
        laid = []
        for number, stream in enumerate(fleet.streams):
            supply, left = [], []
            for period in self.question.fleet.periods:
                there = {
                    place: count
                    for place in fleet.of_stream[number]
                    if (count := self.purchase.at_peak(place, period))
                }
                total = sum(fleet.templates[p].supply * n for p, n in there.items())
                loss = max((fleet.templates[p].loss for p in there), default=0)
                supply.append(total / PER_UNIT)
                left.append((total - stream.losses * loss) / PER_UNIT)
            demand = [
                stream.peak(period) / PER_UNIT for period in self.question.fleet.periods
            ]
            laid.append(
                StreamSupply(
                    stream=stream.name,
                    demand=tuple(demand),
                    supply=tuple(supply),
                    after_failures=tuple(left),
                )
            )
        return tuple(laid)

    def periods(self) -> tuple[Period, ...]:
        """Tell what is done in each period, in words and money."""
        acquisitions, deployments = self.acquisitions(), self.deployments()
        return tuple(
            Period(
                period=period + 1,
                actions=(
                    *_acquired(acquisitions, period),
                    *_rented(deployments, period),
                ),
                purchase_usd=sum(
                    each.unit_price_usd * each.units[period] for each in acquisitions
                ),
                rent_usd=sum(
                    rental.rent_usd
                    for each in deployments
                    for rental in each.rentals
                    if rental.period == period + 1
                ),
                power_watts=sum(
                    each.power_watts * sum(each.units[: period + 1])
                    for each in acquisitions
                ),
            )
            for period in self.question.fleet.periods
        )

    def _at_work(self) -> Iterator[tuple[int, str, Demanded, Use]]:
        """Templates at work, each with its stream and what both stand for."""
        question = self.question
        keys = (*self.purchase.deployed, *self.purchase.rented)
        for place in sorted({key[0] for key in keys}):
            stream = self._template(place).stream
            name = question.fleet.streams[stream].name
            yield place, name, question.demands[stream], question.uses[place]

    def _template(self, place: int) -> Template:
        return self.question.fleet.templates[place]

    def _units(self, place: int) -> tuple[int, ...]:
        """Units of a template at work at the peak of each period."""
        periods = self.question.fleet.periods
        return tuple(self.purchase.at_peak(place, period) for period in periods)

    def _rentals(self, place: int) -> tuple[Rental, ...]:
        fleet = self.question.fleet
        laid = []
        for (rented, period, step), units in sorted(self.purchase.rented.items()):
            if rented != place or not units:
                continue
            cents = units * fleet.rent_cents(place, period, step)
            laid.append(
                Rental(
                    period=period + 1,
                    hours=float(fleet.hours(place, period, step)),
                    units=units,
                    rent_usd=cents / CENTS,
                )
            )
        return tuple(laid)


def _acquired(acquisitions: tuple[Acquisition, ...], period: int) -> list[str]:
    verbs = {"buy": "buy", "own": "use"}
    return [
        f"{verbs[each.way]} {each.units[period]} x "
        f"{'' if each.hosts == 1 else f'{each.hosts} '}{each.host} with "
        f"{each.accelerators} {each.accelerator}, {each.region}"
        for each in acquisitions
        if each.units[period]
    ]


def _rented(deployments: tuple[FleetDeployment, ...], period: int) -> list[str]:
    """Say what is rented: the most instances at once, and the hours of all."""
    most: Counter[tuple[str, str]] = Counter()
    hours: dict[tuple[str, str], float] = defaultdict(float)
    for each in deployments:
        of_it = [rental for rental in each.rentals if rental.period == period + 1]
        if of_it:
            key = each.hardware.host or "", each.region
            most[key] += max(rental.units for rental in of_it)
            hours[key] += sum(rental.units * rental.hours for rental in of_it)
    return [
        f"rent up to {count} x {host} for {hours[host, region]:,.0f} hours, {region}"
        for (host, region), count in sorted(most.items())
    ]
