"""What a plan promises, what it comes to in all, and where it is from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from planopt._native import __version__
from planopt.documents.evaluation import answering
from planopt.documents.facts import digest
from planopt.documents.plan import (
    Plan,
    Promise,
    Provenance,
    Totals,
    TrainingPlan,
    command,
)
from planopt.facts import facts_of
from planopt.outlays import in_racks, itemised, with_peak_parts, with_time_parts
from planopt.price_sources import today
from planopt.units import SECONDS_PER_DAY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TypeVar

    from planopt.catalog.open import Catalog
    from planopt.documents.evaluation import Deployment
    from planopt.documents.plan import PlanDocument, PromiseName
    from planopt.documents.training import TrainingDeployment

    PlanT = TypeVar("PlanT", bound=PlanDocument)

CAPITAL = ("purchase", "financing")
ROUNDING = 1e-9
"""Share by which a prediction may be off its promise: both have been divided."""


def summed_up(plan: PlanT, catalog: Catalog) -> PlanT:
    """Let a plan say what it promises and comes to."""
    hourly = plan.cost.usd_per_hour
    totals = _totals(plan)
    if isinstance(plan, (Plan, TrainingPlan)):
        plan = _with_parts(plan)
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


def _with_parts(plan: PlanT) -> PlanT:
    """Let deployments say what their times and their peak consist of."""
    if isinstance(plan, TrainingPlan):
        runs = tuple(map(with_peak_parts, plan.deployments))
        return structs.replace(plan, deployments=runs)
    assert isinstance(plan, Plan)
    judged = plan.request.percentile
    timed = tuple(with_time_parts(each, judged) for each in plan.deployments)
    return structs.replace(plan, deployments=timed)


def _promises(plan: PlanDocument) -> Iterator[Promise]:
    if isinstance(plan, TrainingPlan):
        for each in plan.deployments:
            if plan.request.deadline_seconds and each.evaluation.days is not None:
                seconds = each.evaluation.days * SECONDS_PER_DAY
                yield _most("deadline", plan.request.deadline_seconds, seconds)
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
            _most("tpot", asked, judged),
            percentile=request.percentile,
            low=times * interval.low if interval else None,
            high=times * interval.high if interval else None,
        )
    if request.ttft_seconds and request.percentile:
        waits = [
            getattr(each.evaluation.ttft_seconds, request.percentile) or 0.0
            for each in deployed
        ]
        told = _most("ttft", request.ttft_seconds, max(waits))
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
        yield _least("throughput", asked, supplied, "tok/s")
    if request.concurrency and not request.requests_per_second:
        yield _least("concurrency", request.concurrency, totals.concurrency or 0, "")


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


def _most(name: PromiseName, asked: float, predicted: float) -> Promise:
    held = predicted <= asked * (1 + ROUNDING)
    return Promise(name=name, asked=asked, predicted=predicted, unit="s", held=held)


def _least(name: PromiseName, asked: float, predicted: float, unit: str) -> Promise:
    return Promise(
        name=name,
        asked=asked,
        predicted=predicted,
        unit="tok/s" if unit else "",
        held=predicted >= asked * (1 - ROUNDING),
    )


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
