"""Planning a fleet: from a file to a document."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.json import decode
from msgspec.structs import replace

from planopt._native import energy_kwh
from planopt.catalog.entries import CostAssumptions, Pricing
from planopt.catalog.open import Catalog, open_for
from planopt.confidence import share
from planopt.documents.evaluation import Deployment
from planopt.documents.explanations import Infeasibility
from planopt.documents.fleet import (
    Acquisition,
    FleetDeployment,
    FleetPlan,
    FleetRun,
    OneType,
    Period,
    Rental,
    StreamSupply,
)
from planopt.documents.fleet_request import FleetRequest, Owned, Workload
from planopt.documents.parts import Assumed, BomLine, PlanWarning, Search, Sell
from planopt.documents.plan import Interrupted
from planopt.fleets.problem import Purchase, Template, supplied, undominated
from planopt.fleets.question import PER_UNIT, UTILISATION, Demanded, Question, Use, ask
from planopt.fleets.stages import Answer, StagesInterrupted, dollars, solve
from planopt.market import said_by_files
from planopt.money import bill_of
from planopt.options import Asked
from planopt.planning.space import fleet_space
from planopt.price_sources import oldest_price, sourced
from planopt.procurement.solver import Solver
from planopt.steps import Step, Steps
from planopt.summary import made_from, summed_up
from planopt.units import (
    CENTS,
    HOURS_PER_DAY,
    HOURS_PER_YEAR,
    MICRO_USD,
    SECONDS_PER_DAY,
    SECONDS_PER_HOUR,
    TOKENS_PER_MILLION,
)

if TYPE_CHECKING:
    from os import PathLike

    from typing_extensions import Unpack

    from planopt.option_types import FleetOptions


SHARE_FOR_ONE_TYPE = 0.4
"""Of the time limit, for all fleets of one type that the plan is compared with."""

SHARE_FOR_REASONS = 0.5
"""Of the time limit, for why there is no plan and what is nearest to one."""


def fleet(
    file: str | PathLike[str],
    *,
    on_progress: Callable[[Step], object] | None = None,
    **options: Unpack[FleetOptions],
) -> FleetPlan:
    """Plan what a fleet buys and rents, and when.

    Parameters
    ----------
    file : str or PathLike
        Such as ``fleet.toml``; docs/how-to/fleet.md describes it.
    on_progress : callable, optional
        Told what is being done, and how far it is: ``print`` shows a line at a time.
    **options
        As of ``planopt fleet``, with underscores. Fleets of one type of accelerator are
        planned as well, for comparison, unless ``compare=False``.

    Returns
    -------
    FleetPlan

    Raises
    ------
    InputError
        With a diagnostic for everything in the file that cannot be used.
    Interrupted
        On Ctrl-C, with the best plan so far.

    Examples
    --------
    >>> import planopt
    >>> plan = planopt.fleet("docs/how-to/fleet.toml", compare=False)
    >>> plan.total_bound_usd <= plan.total_usd
    True
    """
    asked = Asked.by_user("fleet", options)
    steps = Steps(on_progress)
    opened = open_for(asked).watched(steps)
    chosen = asked.question(opened.native, _Options)
    steps.end_in(chosen.time_limit)
    with ExitStack() as stack:
        workers = range(chosen.workers)
        solvers = [stack.enter_context(Solver()) for _ in workers]
        opened = opened.paid(Pricing.of(chosen))
        read = decode(opened.native.fleet(str(file)), type=dict[str, object])
        read |= msgspec.structs.asdict(chosen)
        read["time_limit_seconds"] = chosen.time_limit
        request = msgspec.convert(read, FleetRequest)
        named = [each.accelerator for each in request.buy]
        named += [each.accelerator for each in request.own]
        opened = opened.with_power_limits(named)
        said = tuple(said_by_files(asked))
        planning = _Planning(opened, request, solvers, steps.at, said)
        return planning.plan(compare=chosen.compare)


class _Options(Pricing, frozen=True, kw_only=True):
    """Options of ``planopt fleet`` as they were read."""

    time_limit: float
    workers: int
    compare: bool
    assumptions: str
    catalog: tuple[str, ...]
    confidence: str | None = None
    sell: dict[str, float] = msgspec.field(default_factory=dict)


@dataclass
class _Planning:
    """One file being planned."""

    catalog: Catalog
    request: FleetRequest
    solvers: list[Solver]
    progress: Callable[[str], None]
    said_by_files: tuple[Assumed, ...]
    started: float = field(default_factory=time.monotonic)

    def plan(self, *, compare: bool) -> FleetPlan:
        """Search, and lay out what is found."""
        whole = ask(self.catalog, self.request)
        question = whole.only(undominated(whole.fleet))
        self.progress(
            f"{len(whole.fleet.templates)} ways to serve "
            f"{len(whole.fleet.streams)} demands, of which "
            f"{len(question.fleet.offered)} are worth a look"
        )
        types = _types(self.request) if compare else []
        share = 1.0 - (SHARE_FOR_ONE_TYPE if types else 0.0)
        try:
            answer = self._solve(question, share)
        except StagesInterrupted as stop:
            best = self._document(question, stop.answer)
            raise Interrupted(best if stop.answer.purchase else None) from None
        plan = self._document(question, answer)
        try:
            if answer.purchase is None:
                return self._explained(question, plan)
            return self._compared(question, plan, types) if types else plan
        except (KeyboardInterrupt, StagesInterrupted):
            raise Interrupted(plan) from None

    def _solve(self, question: Question, share: float, of: str = "") -> Answer:
        """Search for a share of the time limit."""

        def tell(known: Answer) -> None:
            stage = known.stages[-1]
            found, bound = stage.total_usd, stage.bound_usd
            best = "nothing found" if found is None else f"${found:,.2f}"
            least = "" if bound is None else f", nothing below ${bound:,.2f}"
            self.progress(f"{of}{stage.name}, {stage.seconds:.1f} s: {best}{least}")

        seconds = share * self.request.time_limit_seconds
        return solve(question.fleet, self.solvers, seconds, tell)

    def _document(self, question: Question, answer: Answer) -> FleetPlan:
        offered = len(question.fleet.offered)
        search = Search(space=fleet_space(self.request), candidates_covered=offered)
        empty = FleetPlan(
            status="infeasible",
            request=self.request,
            confidence=share(self.request.confidence),
            assumed=self._assumed(),
            assumptions=self.request.assumptions,
            stages=tuple(answer.stages),
            search=self._timed(search),
            warnings=_warnings(answer),
        )
        if answer.purchase is None:
            return empty
        layout = Layout(question, answer.purchase)
        acquisitions = layout.acquisitions()
        deployments = layout.deployments()
        charge = sum(round(each.charge_usd * CENTS) for each in acquisitions)
        cost = answer.cost_cents or 0
        parts = sourced(self.catalog, layout.bill_of_materials())
        periods = layout.periods()
        plan = replace(
            empty,
            status="optimal" if answer.status == "optimal" else "feasible",
            price_usd=sum(each.price_usd for each in acquisitions),
            total_usd=cost / CENTS,
            total_bound_usd=dollars(answer.bound_cents),
            gap=answer.gap,
            charge_usd=charge / CENTS,
            rent_usd=(cost - charge) / CENTS,
            power_watts=periods[-1].power_watts if periods else 0.0,
            sell=sold(self.catalog.cost, self.request, acquisitions, cost / CENTS)
            if self.request.sell
            else None,
            kg_co2e=emitted(self.catalog.cost, self.request, acquisitions),
            bill_of_materials=parts,
            oldest_price_date=oldest_price(parts),
            deployments=deployments,
            runs=layout.runs(),
            acquisitions=acquisitions,
            streams=layout.streams(),
            periods=periods,
        )
        return made_from(summed_up(plan, self.catalog), self.catalog)

    def _timed(self, search: Search) -> Search:
        return replace(search, seconds=time.monotonic() - self.started)

    def _assumed(self) -> tuple[Assumed, ...]:
        if all(workload.utilisation for workload in self.request.workloads):
            return self.said_by_files
        value = f"{UTILISATION:.0%} of what a replica can do, at the peak"
        why = "queues grow without bound near 100 %; say `utilisation`"
        utilisation = Assumed(name="utilisation", value=value, why=why)
        return (utilisation, *self.said_by_files)

    def _compared(
        self, question: Question, plan: FleetPlan, types: Sequence[str]
    ) -> FleetPlan:
        """Add the best fleets that buy and rent one type of accelerator alone."""
        alone = {each: _alone(question, each) for each in types}
        able = [each for each in types if not alone[each].fleet.unserved]
        rows = []
        # Types that cannot serve at all come before those for which no fleet is found.
        for each, only in sorted(alone.items(), key=lambda one: one[0] in able):
            if only.fleet.unserved:
                why = f"cannot serve {', '.join(only.fleet.unserved)}"
                rows.append(OneType(accelerator=each, status="infeasible", why=why))
                continue
            share = SHARE_FOR_ONE_TYPE / len(able)
            answer = self._solve(only, share, of=f"{each} alone: ")
            rows.append(_one_type(plan, each, answer))
        rows.sort(key=lambda row: (row.total_usd is None, row.total_usd))
        return replace(plan, one_type=tuple(rows), search=self._timed(plan.search))

    def _explained(self, question: Question, plan: FleetPlan) -> FleetPlan:
        """Add why there is no plan, and what is nearest to one."""
        from planopt.fleets.nearest import explain

        if plan.stages and plan.stages[-1].status == "unknown":
            note = "neither found nor excluded within the time limit"
            return replace(plan, infeasibility=Infeasibility(note=note))
        self.progress("there is no fleet; looking for what stands in the way")
        limit = SHARE_FOR_REASONS * self.request.time_limit_seconds
        return replace(
            plan,
            infeasibility=explain(question.fleet, self.solvers[0], limit),
            search=self._timed(plan.search),
        )


_WHY_NOT_ALONE = {
    "infeasible": "the limits of the file do not allow it",
    "unknown": "neither found nor excluded in the time",
}


def _alone(question: Question, accelerator: str) -> Question:
    """Return the question with one type of accelerator, beside whatever is owned."""
    return question.only(
        [
            place
            for place in question.fleet.offered
            for source in [question.uses[place].source]
            if source.accelerator == accelerator or isinstance(source, Owned)
        ]
    )


def _one_type(plan: FleetPlan, accelerator: str, answer: Answer) -> OneType:
    total = dollars(answer.cost_cents)
    known = total is not None and plan.total_usd is not None
    return OneType(
        accelerator=accelerator,
        status=answer.status,
        total_usd=total,
        total_bound_usd=dollars(answer.bound_cents),
        more_usd=(total or 0.0) - (plan.total_usd or 0.0) if known else None,
        why=_WHY_NOT_ALONE.get(answer.status),
    )


def _types(request: FleetRequest) -> list[str]:
    """Types of accelerator that can be had, where there is more than one."""
    types = {each.accelerator for each in request.buy}
    types |= {each.accelerator for each in request.rent}
    return sorted(types) if len(types) > 1 else []


def _warnings(answer: Answer) -> tuple[PlanWarning, ...]:
    if not answer.by_the_clock:
        return ()
    return (
        PlanWarning(
            code="W011",
            message="the clock ended the search: another run may end elsewhere",
            help="a longer --time-limit ends it by the amount of work, the same "
            "everywhere",
        ),
    )


# --- Carbon dioxide, and what selling tokens leaves -----------------------------------


def emitted(
    cost: CostAssumptions, request: FleetRequest, acquisitions: Iterable[Acquisition]
) -> float | None:
    """Add up the carbon dioxide of all electricity, where it is known."""
    kilograms = []
    for one in acquisitions:
        carbon = request.region(one.region).carbon_kg_per_kwh
        carbon = cost.carbon_kg_per_kwh if carbon is None else carbon
        if carbon is None:
            return None
        pue = cost.pue if one.rack_units else 1.0
        for period, units in enumerate(one.units):
            hours = (request.periods - period) * request.period_hours
            energy = energy_kwh(one.power_watts, hours, cost.duty, pue)
            kilograms.append(units * (energy * carbon))
    return sum(kilograms)


def sold(
    cost: CostAssumptions,
    request: FleetRequest,
    acquisitions: Iterable[Acquisition],
    total_usd: float,
) -> Sell:
    """Return what the tokens of all periods come to, in the mean of their hours."""
    hours, life = request.periods * request.period_hours, cost.years * HOURS_PER_YEAR
    price, gone = 0.0, 0.0
    for each in acquisitions:
        price += each.price_usd
        lost = each.unit_price_usd * (1 - cost.residual) / life
        for period, units in enumerate(each.units):
            held = (request.periods - period) * request.period_hours
            gone += units * lost * min(held, life)
    revenue = sum(_usd_per_hour(request, each) for each in request.workloads)
    spent, earned = total_usd / hours, revenue - (total_usd - gone) / hours
    return Sell(
        revenue_usd_per_hour=revenue,
        margin_usd_per_hour=revenue - spent,
        break_even_utilisation=spent / revenue if spent <= revenue > 0 else None,
        payback_days=price / earned / HOURS_PER_DAY if earned > 0 < price else None,
    )


def _usd_per_hour(request: FleetRequest, workload: Workload) -> float:
    """Return what a workload's tokens are sold for, in the mean of all hours."""
    of_prompts, of_answers = (request.sell.get(each, 0.0) for each in ("in", "out"))
    of_request = sum(
        size.share * (size.prompt * of_prompts + size.output * of_answers)
        for size in workload.sizes
    )
    grown = [(1 + workload.growth) ** period for period in range(request.periods)]
    peak = sum(each.requests_per_second for each in workload.demand)
    busy = 1.0
    if workload.curve is not None:
        week = request.curve(workload.curve).week
        busy = sum(week) / len(week) / max(week)
    requests = peak * sum(grown) / len(grown) * busy * SECONDS_PER_HOUR
    return requests * of_request / TOKENS_PER_MILLION


@dataclass(frozen=True)
class Layout:
    """A purchase, laid out."""

    question: Question
    purchase: Purchase

    def deployments(self) -> tuple[FleetDeployment, ...]:
        """Models on units, demand by demand."""
        return tuple(
            FleetDeployment(
                **self._part(place, demanded, use),
                model=demanded.workload.model,
                prompt_tokens=demanded.size.prompt,
                output_tokens=demanded.size.output,
                replicas=use.unit.deployment.replicas,
                requests_per_second=self._template(place).supply / PER_UNIT,
                rentals=self._rentals(place),
            )
            for place, demanded, use in self._at_work()
            if demanded.workload and demanded.size
        )

    def runs(self) -> tuple[FleetRun, ...]:
        """Lay runs of training out on their clusters."""
        return tuple(
            FleetRun(
                **self._part(place, demanded, use),
                model=demanded.training.model,
                days=use.unit.run_seconds / SECONDS_PER_DAY,
            )
            for place, demanded, use in self._at_work()
            if demanded.training
        )

    def _part(self, place: int, demanded: Demanded, use: Use) -> dict[str, Any]:
        """Tell of a template at work what serving and training have in common."""
        fleet, periods = self.question.fleet, self.question.fleet.periods
        deployment = use.unit.deployment
        return {
            "stream": fleet.streams[fleet.templates[place].stream].name,
            "region": demanded.region.name,
            "way": fleet.kit_of(place).way,
            "candidate": deployment.candidate,
            "hardware": deployment.hardware,
            "evaluation": deployment.evaluation,
            "units": tuple(self.purchase.at_peak(place, period) for period in periods),
        }

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
                    **(_degrees(each) if isinstance(each, Deployment) else {}),
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
        return bill_of(
            (line, sum(each.units))
            for each in self.acquisitions()
            for line in each.bill_of_materials
        )

    def streams(self) -> tuple[StreamSupply, ...]:
        """Every demand with what meets it."""
        fleet, laid = self.question.fleet, []
        for place, stream in enumerate(fleet.streams):
            supply, left = zip(
                *(supplied(fleet, self.purchase, place, p) for p in fleet.periods),
                strict=True,
            )
            laid.append(
                StreamSupply(
                    stream=stream.name,
                    demand=tuple(stream.peak(p) / PER_UNIT for p in fleet.periods),
                    supply=tuple(each / PER_UNIT for each in supply),
                    after_failures=tuple(each / PER_UNIT for each in left),
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

    def _at_work(self) -> Iterator[tuple[int, Demanded, Use]]:
        """Templates at work, each with what it and its stream stand for."""
        question = self.question
        keys = (*self.purchase.deployed, *self.purchase.rented)
        for place in sorted({key[0] for key in keys}):
            demanded = question.demands[self._template(place).stream]
            yield place, demanded, question.uses[place]

    def _template(self, place: int) -> Template:
        return self.question.fleet.templates[place]

    def _rentals(self, place: int) -> tuple[Rental, ...]:
        fleet = self.question.fleet
        return tuple(
            Rental(
                period=period + 1,
                hours=float(fleet.hours(place, period, step)),
                units=units,
                rent_usd=units * fleet.rent_cents(place, period, step) / CENTS,
            )
            for (rented, period, step), units in sorted(self.purchase.rented.items())
            if rented == place and units
        )


def _degrees(of: Deployment) -> dict[str, int]:
    candidate = of.candidate
    degrees = {name: getattr(candidate, name) for name in ("tp", "cp", "dp", "pp")}
    return {**degrees, "replicas": of.replicas}


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
