"""What the figures of a plan consist of, and what moves its cost (model.md, section 7).

All of it follows from what the plan carries: its price, power, bill and rates.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import convert, structs

from planopt.bill import AROUND
from planopt.documents.evaluation import ServingEvaluation
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
from planopt.money import of_deployments
from planopt.units import HOURS_PER_DAY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planopt.catalog.entries import CostAssumptions
    from planopt.documents.evaluation import Deployment
    from planopt.documents.plan import Plan, TrainingPlan
    from planopt.documents.training import TrainingDeployment, TrainingEvaluation

BAND = 0.2
"""Share by which an assumption is moved, either way; speed by its own interval."""
DUTIES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
HOURLY = ("support", "colocation", "staff", "financing")
"""Lines of what stands in racks, unless they are switched off."""
NOTHING = 1e-9
"""Share of the whole below which a rest is rounding."""


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
        there = {name: usd for name, usd in self._lines.items() if usd}
        return convert(
            [{"name": name, "usd_per_hour": usd} for name, usd in there.items()],
            tuple[CostPart, ...],
        )

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
        self,
        *,
        price: float = 1.0,
        speed: float = 1.0,
        **otherwise: float,
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
    cost = PlanCost.of(plan.cost)
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


def with_time_parts(of: Deployment, percentile: str | None) -> Deployment:
    """Say what the time of a token consists of, up to the percentile that is judged."""
    decode, judged = of.evaluation.decode, of.evaluation.tpot_seconds
    if not decode.tpot_seconds or not decode.step_seconds:
        return of
    # Steps of a token: two where batches take turns, a part of one where it is drafted.
    steps = decode.tpot_seconds / decode.step_seconds
    parts = [
        Part(name=f"{cause}_seconds", seconds=seconds * steps)
        for cause in _CAUSES
        if (seconds := getattr(decode, f"{cause}_seconds"))
    ]
    late = (getattr(judged, percentile) if percentile else None) or 0.0
    if late > decode.tpot_seconds:
        rest = late - decode.tpot_seconds
        parts.append(Part(name="load_seconds", seconds=rest))
    evaluation = structs.replace(of.evaluation, time_parts=tuple(parts))
    return structs.replace(of, evaluation=evaluation)


def with_peak_parts(of: TrainingDeployment) -> TrainingDeployment:
    """Say what becomes of the peak: the model's arithmetic, and what keeps from it."""
    evaluation = structs.replace(of.evaluation, peak_parts=tuple(_peak(of.evaluation)))
    return structs.replace(of, evaluation=evaluation)


def _peak(of: TrainingEvaluation) -> Iterator[PeakPart]:
    whole, used = of.step_seconds, of.mfu
    if not whole or used is None:
        return
    yield PeakPart(name="model", share=used)
    yield PeakPart(name="kernels", share=(of.compute_seconds or 0.0) / whole - used)
    yield PeakPart(name="bubble", share=(of.bubble_seconds or 0.0) / whole)
    sent = (of.exposed_communication_seconds or 0.0) / whole
    yield PeakPart(name="communication", share=sent)
    yield PeakPart(name="host", share=(of.host_seconds or 0.0) / whole)
