"""What the figures of a plan consist of, and what moves its cost (model.md, section 7).

All of it follows from what the plan carries: its price, power, bill and rates.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import structs

from planopt.documents.evaluation import ServingEvaluation
from planopt.documents.parts import (
    AtDuty,
    CostPart,
    Move,
    Part,
    PeakPart,
    PlanCost,
    Sell,
)
from planopt.units import HOURS_PER_DAY, HOURS_PER_YEAR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from planopt.documents.evaluation import Deployment
    from planopt.documents.plan import Plan, TrainingPlan
    from planopt.documents.training import TrainingDeployment, TrainingEvaluation

    Rates = Mapping[str, float | None]

HOURS_PER_MONTH = 730
WATTS_PER_KILOWATT = 1000
BAND = 0.2
"""Share by which an assumption is moved, either way; speed by its own interval."""
DUTIES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
LEFT_OUT = ("support", "storage", "staff", "freight and integration", "spare parts")
NOTHING = 1e-9
"""Share of the whole below which a rest is rounding."""


class Outlay:
    """The parts of what an hour of a plan costs, each by what it depends on."""

    def __init__(self, plan: Plan | TrainingPlan, rates: Rates) -> None:
        known = {name: value or 0.0 for name, value in rates.items()}
        self._rates, self._plan = known, plan
        price, years = plan.price_usd or 0.0, known["years"]
        self._purchase = price * (1 - known["residual"]) / (years * HOURS_PER_YEAR)
        kilowatts = (plan.power_watts or 0.0) / WATTS_PER_KILOWATT
        draw = kilowatts * known["duty"] * known["pue"]
        self._electricity = draw * known["electricity_usd_per_kwh"]
        self._reserved, busy = _rents(plan)
        self._on_demand = busy * known["duty"]
        self._hourly = plan.cost.usd_per_hour or 0.0
        owned = self._purchase + self._electricity
        rest = self._hourly - owned - self._reserved - self._on_demand
        self._racks = rest if rest > NOTHING * self._hourly else 0.0

    def parts(self) -> Iterator[CostPart]:
        """Yield what it costs, of what there is."""
        if self._purchase:
            yield CostPart(name="purchase", usd_per_hour=self._purchase)
        if self._electricity:
            yield CostPart(name="electricity", usd_per_hour=self._electricity)
        if self._racks:
            yield CostPart(name="rack_space", usd_per_hour=self._racks)
        if rent := self._reserved + self._on_demand:
            yield CostPart(name="rent", usd_per_hour=rent)

    @property
    def rack_units(self) -> float | None:
        """Height that rack space is paid for."""
        monthly = self._rates["rack_usd_per_month"]
        if not monthly:
            return None
        return self._racks * HOURS_PER_MONTH / monthly * self._rates["rack_units"]

    def per_million(
        self,
        *,
        duty: float = 1.0,
        price: float = 1.0,
        electricity: float = 1.0,
        speed: float = 1.0,
    ) -> float:
        """Dollars per million tokens where each is so many times itself."""
        hourly = (
            self._purchase * price
            + self._electricity * electricity * duty
            + self._racks
            + self._reserved
            + self._on_demand * duty
        )
        now = self._plan.cost.usd_per_million_tokens or 0.0
        return now * hourly / self._hourly / (duty * speed)

    def moves(self) -> Iterator[Move]:
        """Yield what it costs with each assumption moved, of those that matter."""
        rates, most = self._rates, 1 / self._rates["duty"]
        ends = (1 - BAND, 1 + BAND)
        if self._purchase:
            years, lines = rates["years"], self._plan.bill_of_materials
            yield self._moved("years", years, ends, lambda by: {"price": 1 / by})
            priced = [(line.kind, line.price_usd or 0.0) for line in lines]
            cards = sum(usd for kind, usd in priced if kind == "accelerator")
            share = cards / (self._plan.price_usd or 1.0)
            for name, of in (("accelerator_price", share), ("other_prices", 1 - share)):
                if of > NOTHING:
                    yield self._moved(name, 1.0, ends, _share_of_price(of))
        if self._electricity:
            usd = rates["electricity_usd_per_kwh"]
            name = "electricity_usd_per_kwh"
            yield self._moved(name, usd, ends, lambda by: {"electricity": by})
        busy = (1 - BAND, min(1 + BAND, most))
        yield self._moved("duty", rates["duty"], busy, lambda by: {"duty": by})
        if speeds := _speeds(self._plan):
            yield self._moved("speed", 1.0, speeds, lambda by: {"speed": by})

    def sold(self, prices: Mapping[str, float]) -> Sell:
        """Return what selling tokens comes to: those of answers, and their prompts."""
        plan, duty = self._plan, self._rates["duty"]
        answers = self._hourly / (plan.cost.usd_per_million_tokens or 1.0)
        lengths = plan.request.prompt_tokens or 0, plan.request.output_tokens or 1
        prompts = answers * lengths[0] / lengths[1]
        revenue = answers * prices.get("out", 0.0) + prompts * prices.get("in", 0.0)
        of_busy_hours = revenue - self._electricity - self._on_demand
        always = self._purchase + self._racks + self._reserved
        even = duty * always / of_busy_hours if of_busy_hours > 0 else math.inf
        earned = revenue - (self._hourly - self._purchase)
        price = plan.price_usd or 0.0
        return Sell(
            revenue_usd_per_hour=revenue,
            margin_usd_per_hour=revenue - self._hourly,
            break_even_utilisation=even if even <= 1 else None,
            payback_days=price / earned / HOURS_PER_DAY if earned > 0 < price else None,
        )

    def _moved(
        self,
        name: str,
        now: float,
        ends: tuple[float, float],
        how: Callable[[float], dict[str, float]],
    ) -> Move:
        low, high = ends
        return Move(
            name=name,
            low=now * low,
            high=now * high,
            at_low_usd_per_million_tokens=self.per_million(**how(low)),
            at_high_usd_per_million_tokens=self.per_million(**how(high)),
        )

    def at_duty(self) -> Iterator[AtDuty]:
        """Yield what it costs where more or fewer of the hours are busy."""
        for duty in DUTIES:
            usd = self.per_million(duty=duty / self._rates["duty"])
            yield AtDuty(duty=duty, usd_per_million_tokens=usd)


def _share_of_price(of: float) -> Callable[[float], dict[str, float]]:
    return lambda by: {"price": 1 + of * (by - 1)}


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


def itemised(
    plan: Plan | TrainingPlan, rates: Rates
) -> tuple[PlanCost, float | None, Sell | None]:
    """Return its cost with parts, its rack units, and what selling tokens leaves."""
    cost = PlanCost.of(plan.cost)
    rented = plan.request.tokens is not None and plan.request.procurement == "rent"
    if not cost.usd_per_hour or not cost.usd_per_million_tokens or rented:
        return cost, None, None
    outlay = Outlay(plan, rates)
    whole = structs.replace(
        cost,
        parts=tuple(outlay.parts()),
        left_out=LEFT_OUT,
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
