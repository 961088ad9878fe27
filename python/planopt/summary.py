"""What a plan promises, what its figures consist of and come to, and where it is from.

All of it follows from what the plan carries: its price, power, bill and rates
(docs/reference/model.md, section 7).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeVar

from msgspec import convert, structs

from planopt._native import __version__
from planopt.catalog.entries import CostAssumptions
from planopt.catalog.open import Catalog
from planopt.documents.evaluation import Deployment, ServingEvaluation, answering
from planopt.documents.facts import digest
from planopt.documents.parts import (
    Assumed,
    AtDuty,
    CostPart,
    Move,
    Part,
    PeakPart,
    PlanCost,
    Sell,
)
from planopt.documents.plan import (
    Plan,
    PlanDocument,
    Promise,
    PromiseName,
    Provenance,
    Totals,
    TrainingPlan,
    command,
)
from planopt.documents.training import TrainingDeployment, TrainingEvaluation
from planopt.facts import facts_of
from planopt.money import AROUND, of_deployments
from planopt.price_sources import today
from planopt.units import HOURS_PER_DAY, SECONDS_PER_DAY

PlanT = TypeVar("PlanT", bound=PlanDocument)


# --- What an hour costs, and what moves it --------------------------------------------


BAND = 0.2
"""Share by which an assumption is moved, either way; speed by its own interval."""
DUTIES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
HOURLY = ("support", "colocation", "staff", "financing")
"""Lines of what stands in racks, unless they are switched off."""
NOTHING = 1e-9  # Share of the whole below which a rest is rounding


class Outlay:
    """The parts of what an hour of a plan costs, each by what it depends on."""

    def __init__(self, plan: Plan | TrainingPlan, cost: CostAssumptions) -> None:
        self._plan, self._cost = plan, cost
        self._reserved, self._busy = _rents(plan)
        self._lines = self._priced(cost)
        self._hourly = plan.cost.usd_per_hour or 0.0

    def _priced(self, cost: CostAssumptions, price: float = 1.0) -> dict[str, float]:
        rent = self._reserved + self._busy * cost.paid_on_demand
        owned = of_deployments(cost, self._plan.deployments, price)
        return {**owned, "rent": rent}

    def parts(self) -> tuple[CostPart, ...]:
        """Return what it costs, of what there is."""
        there = [(name, usd) for name, usd in self._lines.items() if usd]
        parts = [{"name": name, "usd_per_hour": usd} for name, usd in there]
        return convert(parts, tuple[CostPart, ...])

    @property
    def left_out(self) -> tuple[str, ...]:
        """What is not counted of what is bought here."""
        counted = {line.kind for line in self._plan.bill_of_materials}
        if self._plan.request.tokens is None:
            counted.add("storage")  # Those who serve keep what they need in hosts.
        once = (name for kind, name in AROUND.items() if kind not in counted)
        return *once, *(name for name in HOURLY if not self._lines[name])

    @property
    def rack_units(self) -> float:
        """Height in racks."""
        return sum(
            each.hardware.rack_units * each.units for each in self._plan.deployments
        )

    def per_million(
        self, *, price: float = 1.0, speed: float = 1.0, **otherwise: float
    ) -> float:
        """Dollars per million tokens at so many times the price and the speed."""
        cost = structs.replace(self._cost, **otherwise)
        busier = cost.duty / self._cost.duty
        hourly = sum(self._priced(cost, price).values())
        now = self._plan.cost.usd_per_million_tokens or 0.0
        return now * hourly / self._hourly / (busier * speed)

    def moves(self) -> Iterator[Move]:
        """Yield what it costs with each assumption moved, of those that matter."""
        cost, ends = self._cost, (1 - BAND, 1 + BAND)
        if self._lines.get("purchase"):
            lines = self._plan.bill_of_materials
            yield self._moved("years", ends)
            priced = [(line.kind, line.price_usd or 0.0) for line in lines]
            cards = sum(usd for kind, usd in priced if kind == "accelerator")
            share = cards / (self._plan.price_usd or 1.0)
            for name, of in (("accelerator_price", share), ("other_prices", 1 - share)):
                if of > NOTHING:
                    prices = (1 + of * (by - 1) for by in ends)
                    costs = [self.per_million(price=price) for price in prices]
                    yield _move(name, ends, costs)
        if self._lines.get("electricity"):
            yield self._moved("electricity_usd_per_kwh", ends)
        yield self._moved("duty", (1 - BAND, min(1 + BAND, 1 / cost.duty)))
        if speeds := _speeds(self._plan):
            costs = [self.per_million(speed=speed) for speed in speeds]
            yield _move("speed", speeds, costs)

    def _moved(self, name: str, by: tuple[float, float]) -> Move:
        now = float(getattr(self._cost, name))
        ends = now * by[0], now * by[1]
        return _move(name, ends, [self.per_million(**{name: end}) for end in ends])

    def sold(self, prices: Mapping[str, float]) -> Sell:
        """Return what selling tokens comes to: those of answers, and their prompts."""
        plan, duty, regained = self._plan, self._cost.duty, self._cost.regained
        answers = self._hourly / (plan.cost.usd_per_million_tokens or 1.0)
        lengths = plan.request.prompt_tokens or 0, plan.request.output_tokens or 1
        prompts = answers * lengths[0] / lengths[1]
        revenue = answers * prices.get("out", 0.0) + prompts * prices.get("in", 0.0)
        of_use = self._lines.get("electricity", 0.0) + self._busy * duty * regained
        of_busy_hours, always = revenue - of_use, self._hourly - of_use
        even = duty * always / of_busy_hours if of_busy_hours > 0 else math.inf
        earned = revenue - (self._hourly - self._lines.get("purchase", 0.0))
        price = plan.price_usd or 0.0
        return Sell(
            revenue_usd_per_hour=revenue,
            margin_usd_per_hour=revenue - self._hourly,
            break_even_utilisation=even if even <= 1 else None,
            payback_days=price / earned / HOURS_PER_DAY if earned > 0 < price else None,
        )

    def at_duty(self) -> Iterator[AtDuty]:
        """Yield what it costs where more or fewer of the hours are busy."""
        for duty in DUTIES:
            usd = self.per_million(duty=duty)
            yield AtDuty(duty=duty, usd_per_million_tokens=usd)


def _move(name: str, ends: tuple[float, float], costs: Sequence[float]) -> Move:
    return Move(
        name=name,
        low=ends[0],
        high=ends[1],
        at_low_usd_per_million_tokens=costs[0],
        at_high_usd_per_million_tokens=costs[1],
    )


def _rents(plan: Plan | TrainingPlan) -> tuple[float, float]:
    """Add up the rent of an hour: always paid, and paid while it is busy."""
    always, busy = 0.0, 0.0
    for each in plan.deployments:
        rent = sum(line.usd_per_hour or 0.0 for line in each.bill_of_materials)
        if (each.hardware.terms or "").startswith("reserved"):
            always += rent
        else:
            busy += rent
    return always, busy


def _speeds(plan: Plan | TrainingPlan) -> tuple[float, float] | None:
    """Return the ends of the speed as shares of it, where tokens follow from it."""
    if len(plan.deployments) != 1 or plan.request.percentile is not None:
        return None
    of = plan.deployments[0].evaluation
    within = of.intervals.get("tokens_per_second")
    steps = of.decode if isinstance(of, ServingEvaluation) else of
    predicted = steps.tokens_per_second
    if within is None or not predicted:
        return None
    return within.low / predicted, within.high / predicted


def in_racks(cost: CostAssumptions) -> Iterator[Assumed]:
    """Say what is paid for what stands in racks, and how it is switched off."""
    if cost.colocation_usd_per_kw_month or cost.support_per_year or cost.wacc:
        hall = f"${cost.colocation_usd_per_kw_month:.4g} a kW and month"
        yearly = f"support {cost.support_per_year:.3g} and interest {cost.wacc:.3g}"
        once = f"freight {cost.freight:.3g} and spares {cost.spares:.3g} of the parts"
        said = f"{hall}, PUE {cost.pue:.3g}, {yearly} of the price a year, {once}"
        yield Assumed(
            name="racks",
            value=f"in racks: {said}",
            why="--cost-line LINE=off, --wacc, --pue, --staff",
        )


def itemised(
    plan: Plan | TrainingPlan, assumed: CostAssumptions
) -> tuple[PlanCost, float | None, Sell | None]:
    """Return its cost with parts, its rack units, and what selling tokens leaves."""
    cost = plan.cost
    rented = plan.request.tokens is not None and plan.request.procurement == "rent"
    if not cost.usd_per_hour or not cost.usd_per_million_tokens or rented:
        return cost, None, None
    outlay = Outlay(plan, assumed)
    whole = structs.replace(
        cost,
        parts=outlay.parts(),
        left_out=outlay.left_out,
        moves=tuple(outlay.moves()),
        at_duty=tuple(outlay.at_duty()),
    )
    prices = plan.request.sell
    return whole, outlay.rack_units, outlay.sold(prices) if prices else None


# --- Times, and the peak --------------------------------------------------------------

_CAUSES = ("compute", "memory", "communication", "offload", "host", "waiting")


def _with_parts(
    each: Deployment | TrainingDeployment, percentile: str | None
) -> Deployment | TrainingDeployment:
    """Let a deployment say what its times and its peak consist of."""
    if isinstance(each, Deployment):
        timed = tuple(_times(each, percentile))
        served = structs.replace(each.evaluation, time_parts=timed)
        return structs.replace(each, evaluation=served)
    run = structs.replace(each.evaluation, peak_parts=tuple(_peak(each.evaluation)))
    return structs.replace(each, evaluation=run)


def _times(of: Deployment, percentile: str | None) -> Iterator[Part]:
    """Say what the time of a token consists of, up to the percentile that is judged."""
    decode, judged = of.evaluation.decode, of.evaluation.tpot_seconds
    if not decode.tpot_seconds or not decode.step_seconds or of.chain:
        return
    # Steps of a token: two where batches take turns, a part of one where it is drafted.
    steps = decode.tpot_seconds / decode.step_seconds
    for cause in _CAUSES:
        if seconds := getattr(decode, f"{cause}_seconds"):
            yield Part(name=f"{cause}_seconds", seconds=seconds * steps)
    late = (getattr(judged, percentile) if percentile else None) or 0.0
    if late > decode.tpot_seconds:
        yield Part(name="load_seconds", seconds=late - decode.tpot_seconds)


def _peak(of: TrainingEvaluation) -> Iterator[PeakPart]:
    """Say what becomes of the peak: the model's arithmetic, and what keeps from it."""
    whole, used = of.step_seconds, of.mfu
    if not whole or used is None:
        return
    yield PeakPart(name="model", share=used)
    yield PeakPart(name="kernels", share=(of.compute_seconds or 0.0) / whole - used)
    yield PeakPart(name="bubble", share=(of.bubble_seconds or 0.0) / whole)
    sent = (of.exposed_communication_seconds or 0.0) / whole
    yield PeakPart(name="communication", share=sent)
    yield PeakPart(name="host", share=(of.host_seconds or 0.0) / whole)


# --- Promises and totals --------------------------------------------------------------


CAPITAL = ("purchase", "financing")
ROUNDING = 1e-9
"""Share by which a prediction may be off its promise: both have been divided."""


def summed_up(plan: PlanT, catalog: Catalog) -> PlanT:
    """Let a plan say what it promises and comes to."""
    hourly = plan.cost.usd_per_hour
    totals = _totals(plan)
    if isinstance(plan, (Plan, TrainingPlan)):
        judged = plan.request.percentile
        deployments = tuple(_with_parts(each, judged) for each in plan.deployments)
        plan = structs.replace(plan, deployments=deployments)
        cost, height, sell = itemised(plan, catalog.cost)
        plan = structs.replace(plan, cost=cost, sell=sell)
        totals = structs.replace(totals, rack_units=height)
        assumed = (*plan.assumed, *(in_racks(catalog.cost) if height else ()))
        plan = structs.replace(plan, assumed=assumed)
    parts = plan.cost.parts
    running = [part.usd_per_hour for part in parts if part.name not in CAPITAL]
    return structs.replace(
        plan,
        promises=tuple(_promises(plan)),
        totals=totals,
        capex_usd=plan.price_usd,
        opex_usd_per_hour=_sum(running),
        tco_usd_per_hour=hourly,
        usd_per_million_tokens=plan.cost.usd_per_million_tokens,
    )


def made_from(plan: PlanT, catalog: Catalog) -> PlanT:
    """Let a plan carry the facts of all that it names, and say where it comes from."""
    facts = facts_of(plan, catalog)
    fit = facts.fits.get("assumptions")
    return structs.replace(
        plan,
        facts=facts,
        provenance=Provenance(
            planopt=__version__,
            command=command(getattr(plan, "kind", "serving"), plan.request),
            date=today().isoformat(),
            catalog_digest=digest([fact.digest for fact in facts.entries.values()]),
            assumptions_digest=fit.digest if fit else None,
        ),
    )


def _promises(plan: PlanDocument) -> Iterator[Promise]:
    if isinstance(plan, TrainingPlan):
        for each in plan.deployments:
            asked = plan.request.deadline_seconds
            if asked and each.evaluation.days is not None:
                name = each.candidate.accelerator
                wait = plan.request.delivered_seconds(name, each.hardware)
                seconds = wait + each.evaluation.days * SECONDS_PER_DAY
                yield _promise("deadline", asked, seconds)
    elif isinstance(plan, Plan) and plan.deployments:
        yield from _of_serving(plan)


def _of_serving(plan: Plan) -> Iterator[Promise]:
    request, totals = plan.request, _totals(plan)
    deployed = answering(plan.deployments)
    slowest = max(deployed, key=lambda each: tpot(each, request.percentile))
    if request.target_tokens_per_second:
        asked = 1 / request.target_tokens_per_second
        interval = slowest.evaluation.intervals.get("tpot_seconds")
        judged = tpot(slowest, request.percentile)
        # An error of steps is one of all that is made of them.
        times = judged / (slowest.evaluation.decode.tpot_seconds or 1.0)
        yield structs.replace(
            _promise("tpot", asked, judged),
            percentile=request.percentile,
            low=times * interval.low if interval else None,
            high=times * interval.high if interval else None,
        )
    if request.ttft_seconds and request.percentile:
        waits = [
            getattr(each.evaluation.ttft_seconds, request.percentile) or 0.0
            for each in deployed
        ]
        told = _promise("ttft", request.ttft_seconds, max(waits))
        yield structs.replace(told, percentile=request.percentile)
    if request.requests_per_second and request.percentile:
        loads = [each.evaluation.under_load for each in deployed]
        carried = not any(load is None or load.overloaded for load in loads)
        yield Promise(
            name="request_rate",
            asked=request.requests_per_second,
            predicted=totals.requests_per_second,
            unit="1/s",
            held=carried,
        )
    elif request.throughput_tokens_per_second:
        supplied = sum(
            put_out(each) * (each.hardware.goodput or 1.0) for each in deployed
        )
        asked = request.throughput_tokens_per_second
        yield _promise("throughput", asked, supplied, "tok/s")
    if request.concurrency and not request.requests_per_second:
        there = totals.concurrency or 0
        yield _promise("concurrency", request.concurrency, there, "")


def tpot(deployment: Deployment, percentile: str | None) -> float:
    """Return the time per output token that is judged."""
    evaluation = deployment.evaluation
    judged = getattr(evaluation.tpot_seconds, percentile) if percentile else None
    return judged or evaluation.decode.tpot_seconds or 0.0


def put_out(deployment: Deployment) -> float:
    """Return the tokens per second of all replicas: of their run, or of their steps."""
    load = deployment.evaluation.under_load
    if load is not None and load.tokens_per_second is not None:
        return load.tokens_per_second
    return (deployment.evaluation.decode.tokens_per_second or 0.0) * deployment.replicas


def _promise(
    name: PromiseName,
    asked: float,
    predicted: float,
    unit: Literal["s", "tok/s", ""] = "s",
) -> Promise:
    """Promise a time at most, and anything else at least."""
    short, ample = asked * (1 + ROUNDING), asked * (1 - ROUNDING)
    held = predicted <= short if unit == "s" else predicted >= ample
    return Promise(name=name, asked=asked, predicted=predicted, unit=unit, held=held)


def _totals(plan: PlanDocument) -> Totals:
    if not isinstance(plan, (Plan, TrainingPlan)):
        return Totals()
    whole = Totals(
        accelerators=_bought(plan.deployments),
        hosts=sum(each.hardware.hosts * each.units for each in plan.deployments),
        replicas=sum(each.replicas for each in plan.deployments),
        power_watts=plan.power_watts,
    )
    if isinstance(plan, TrainingPlan):
        speeds = (each.evaluation.tokens_per_second for each in plan.deployments)
        return structs.replace(whole, tokens_per_second=_sum(speeds))
    if not plan.deployments:
        return Totals()
    loads = [each.evaluation.under_load for each in plan.deployments]
    return structs.replace(
        whole,
        tokens_per_second=_sum(map(put_out, answering(plan.deployments))),
        requests_per_second=_sum(load.requests_per_second for load in loads if load),
        concurrency=sum(each.users for each in plan.deployments),
        co2_kg_per_year=plan.kg_co2e_per_year,
    )


def _bought(deployments: Sequence[Deployment | TrainingDeployment]) -> int:
    """Count accelerators of the bill, else those of machines and instances."""
    counts = []
    for each in deployments:
        lines = (one for one in each.bill_of_materials if one.kind == "accelerator")
        used = (each.evaluation.accelerators or 0) * each.replicas
        counts.append((sum(line.quantity for line in lines), used))
    if any(getattr(each, "role", "colocated") != "colocated" for each in deployments):
        # One of two pools brings what is bought for both.
        return max(map(sum, zip(*counts, strict=True)))
    return sum(bought or used for bought, used in counts)


def _sum(figures: Iterable[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known else None
