"""From a purchase in whole numbers to what a plan says of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt.bill import merged
from planopt.documents.fleet import (
    Acquisition,
    FleetDeployment,
    FleetRun,
    Period,
    Rental,
    StreamSupply,
)
from planopt.fleet.question import PER_UNIT
from planopt.fleet.runs import SECONDS_PER_HOUR, Run

if TYPE_CHECKING:
    from planopt.documents.parts import BomLine
    from planopt.fleet.purchase import Purchase
    from planopt.fleet.question import Demanded, Question, Use


CENTS = 100
MICRO_USD = 10**6
HOURS_PER_DAY = 24


@dataclass(frozen=True)
class Layout:
    """A purchase, laid out."""

    question: Question
    purchase: Purchase

    @property
    def _periods(self) -> range:
        return self.question.fleet.periods

    def deployments(self) -> tuple[FleetDeployment, ...]:
        """Models on units, demand by demand."""
        laid = []
        for place in self._at_work():
            demanded, use = self._meaning(place)
            unit = use.unit
            if demanded.workload is None or demanded.size is None:
                continue
            if isinstance(unit, Run):
                continue
            template = self.question.fleet.templates[place]
            laid.append(
                FleetDeployment(
                    stream=self.question.fleet.streams[template.stream].name,
                    model=demanded.workload.model,
                    region=demanded.region,
                    way=self.question.fleet.kit_of(place).way,
                    prompt_tokens=demanded.size.prompt,
                    output_tokens=demanded.size.output,
                    candidate=unit.deployment.candidate,
                    hardware=unit.deployment.hardware,
                    evaluation=unit.deployment.evaluation,
                    replicas=unit.deployment.replicas,
                    requests_per_second=template.supply / PER_UNIT,
                    units=tuple(self.purchase.at_peak(place, p) for p in self._periods),
                    rentals=self._rentals(place),
                )
            )
        return tuple(laid)

    def runs(self) -> tuple[FleetRun, ...]:
        """Lay runs of training out on their clusters."""
        laid = []
        for place in self._at_work():
            demanded, use = self._meaning(place)
            if demanded.training is None or not isinstance(use.unit, Run):
                continue
            template = self.question.fleet.templates[place]
            laid.append(
                FleetRun(
                    stream=self.question.fleet.streams[template.stream].name,
                    model=demanded.training.model,
                    region=demanded.region,
                    way=self.question.fleet.kit_of(place).way,
                    candidate=use.unit.deployment.candidate,
                    hardware=use.unit.deployment.hardware,
                    evaluation=use.unit.deployment.evaluation,
                    days=use.unit.run_seconds / SECONDS_PER_HOUR / HOURS_PER_DAY,
                    units=tuple(self.purchase.at_peak(place, p) for p in self._periods),
                )
            )
        return tuple(laid)

    def acquisitions(self) -> tuple[Acquisition, ...]:
        """Hosts that are bought or put to use, kit by kit."""
        fleet = self.question.fleet
        laid = []
        for kit, entry in enumerate(fleet.kits):
            counts = [self.purchase.acquired.get((kit, p), 0) for p in self._periods]
            if not any(counts):
                continue
            unit = self.question.units[kit]
            at = unit.deployment.hardware
            busiest = None if isinstance(unit, Run) else unit.deployment.candidate
            price = unit.price_micro_usd if entry.way == "buy" else 0
            charge = sum(n * c for n, c in zip(counts, entry.charge_cents, strict=True))
            laid.append(
                Acquisition(
                    region=self._meaning(fleet.of_kit[kit][0])[0].region,
                    way=entry.way,
                    accelerator=unit.deployment.candidate.accelerator,
                    accelerators=unit.accelerators,
                    host=at.host or "",
                    hosts=unit.hosts,
                    network=at.network,
                    nics_per_host=at.nics_per_host,
                    switch=at.switch,
                    tp=None if busiest is None else busiest.tp,
                    cp=None if busiest is None else busiest.cp,
                    dp=None if busiest is None else busiest.dp,
                    pp=None if busiest is None else busiest.pp,
                    replicas=None if busiest is None else unit.deployment.replicas,
                    units=tuple(counts),
                    unit_price_usd=price / MICRO_USD,
                    price_usd=price * sum(counts) / MICRO_USD,
                    power_watts=unit.power_watts,
                    rack_units=unit.rack_units,
                    charge_usd=charge / CENTS,
                    bill_of_materials=unit.parts if entry.way == "buy" else (),
                )
            )
        return tuple(laid)

    def bill_of_materials(self) -> tuple[BomLine, ...]:
        """Everything that is bought."""
        return merged(
            [
                _times(line, sum(each.units))
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
            for period in self._periods:
                there = {
                    place: count
                    for place in fleet.of_stream[number]
                    if (count := self.purchase.at_peak(place, period))
                }
                total = sum(fleet.templates[p].supply * n for p, n in there.items())
                loss = max((fleet.templates[p].loss for p in there), default=0)
                supply.append(total / PER_UNIT)
                left.append((total - stream.losses * loss) / PER_UNIT)
            demand = [stream.peak(period) / PER_UNIT for period in self._periods]
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
            for period in self._periods
        )

    def _at_work(self) -> list[int]:
        keys = (*self.purchase.deployed, *self.purchase.rented)
        return sorted({key[0] for key in keys})

    def _meaning(self, place: int) -> tuple[Demanded, Use]:
        template = self.question.fleet.templates[place]
        return self.question.demands[template.stream], self.question.uses[place]

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


def _times(line: BomLine, count: int) -> BomLine:
    from msgspec.structs import replace

    price = round((line.unit_price_usd or 0.0) * MICRO_USD) * line.quantity * count
    return replace(line, quantity=line.quantity * count, price_usd=price / MICRO_USD)


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
