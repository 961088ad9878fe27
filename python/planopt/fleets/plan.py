"""Planning a fleet: from a file to a document."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from msgspec.json import decode
from msgspec.structs import replace

from planopt.catalog.entries import Pricing
from planopt.catalog.open import open_for
from planopt.confidence import share
from planopt.documents.explanations import Infeasibility
from planopt.documents.fleet import FleetPlan, OneType, StageNote
from planopt.documents.fleet_request import FleetRequest, Owned
from planopt.documents.parts import Assumed, BillOfMaterials, PlanWarning, Search
from planopt.documents.plan import Interrupted
from planopt.fleets.charges import kg_co2e
from planopt.fleets.layout import Layout
from planopt.fleets.problem import undominated
from planopt.fleets.question import ask
from planopt.fleets.sold import sold
from planopt.fleets.stages import StagesInterrupted, solve
from planopt.fleets.units import UTILISATION
from planopt.market import said_by_files
from planopt.options import Asked
from planopt.price_sources import oldest_price, sourced
from planopt.procurement.solver import Solver
from planopt.steps import Steps
from planopt.summary import made_from, summed_up
from planopt.units import CENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from typing_extensions import Unpack

    from planopt.catalog.open import Catalog
    from planopt.documents.fleet import Acquisition
    from planopt.fleets.question import Question
    from planopt.fleets.stages import Answer
    from planopt.option_types import FleetOptions
    from planopt.steps import Step


SHARE_FOR_ONE_TYPE = 0.4
"""Of the time limit, for all fleets of one type that the plan is compared with."""

SHARE_FOR_REASONS = 0.5
"""Of the time limit, for why there is no plan and what is nearest to one."""


def plan_fleet(
    file: str | Path,
    *,
    on_progress: Callable[[Step], object] | None = None,
    **options: Unpack[FleetOptions],
) -> FleetPlan:
    """Plan what a fleet buys and rents, and fleets of one type beside it."""
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
        request = msgspec.convert(
            {
                **read,
                **msgspec.structs.asdict(Pricing.of(chosen)),
                "assumptions": chosen.assumptions,
                "confidence": chosen.confidence,
                "catalog": chosen.catalog,
                "sell": chosen.sell,
                "time_limit_seconds": chosen.time_limit,
            },
            FleetRequest,
        )
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
            found, bound = _dollars(stage.cost_cents), _dollars(stage.bound_cents)
            best = "nothing found" if found is None else f"${found:,.2f}"
            least = "" if bound is None else f", nothing below ${bound:,.2f}"
            self.progress(f"{of}{stage.name}, {stage.seconds:.1f} s: {best}{least}")

        seconds = share * self.request.time_limit_seconds
        return solve(question.fleet, self.solvers, seconds, tell)

    def _document(self, question: Question, answer: Answer) -> FleetPlan:
        notes = tuple(
            StageNote(
                name=stage.name,
                status=stage.status,
                total_usd=_dollars(stage.cost_cents),
                bound_usd=_dollars(stage.bound_cents),
                seconds=stage.seconds,
            )
            for stage in answer.stages
        )
        empty = FleetPlan(
            status="infeasible",
            request=self.request,
            confidence=share(self.request.confidence),
            assumed=self._assumed(),
            assumptions=self.request.assumptions,
            stages=notes,
            search=Search(
                candidates_covered=len(question.fleet.offered),
                seconds=time.monotonic() - self.started,
            ),
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
            total_bound_usd=_dollars(answer.bound_cents),
            gap=answer.gap,
            charge_usd=charge / CENTS,
            rent_usd=(cost - charge) / CENTS,
            power_watts=periods[-1].power_watts if periods else 0.0,
            sell=sold(self.catalog.cost, self.request, acquisitions, cost / CENTS)
            if self.request.sell
            else None,
            kg_co2e=self._kg_co2e(acquisitions),
            bill_of_materials=BillOfMaterials(parts),
            oldest_price_date=oldest_price(parts),
            deployments=deployments,
            runs=layout.runs(),
            acquisitions=acquisitions,
            streams=layout.streams(),
            periods=periods,
        )
        return made_from(summed_up(plan, self.catalog), self.catalog)

    def _kg_co2e(self, acquisitions: Sequence[Acquisition]) -> float | None:
        """Add up the carbon dioxide of all electricity, where it is known."""
        cost, kilograms = self.catalog.cost, []
        for one in acquisitions:
            region = self.request.region(one.region)
            for period, units in enumerate(one.units):
                of_one = kg_co2e(cost, self.request, region, one, period)
                if units and of_one is None:
                    return None
                kilograms.append(units * (of_one or 0.0))
        return sum(kilograms)

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
        unserved = {each: alone[each].fleet.unserved for each in types}
        able = [each for each in types if not unserved[each]]
        rows = [
            OneType(
                accelerator=each,
                status="infeasible",
                why=f"cannot serve {', '.join(unserved[each])}",
            )
            for each in types
            if unserved[each]
        ]
        for each in able:
            share = SHARE_FOR_ONE_TYPE / len(able)
            answer = self._solve(alone[each], share, of=f"{each} alone: ")
            rows.append(_one_type(plan, each, answer))
        rows.sort(key=lambda row: (row.total_usd is None, row.total_usd))
        return replace(
            plan,
            one_type=tuple(rows),
            search=replace(plan.search, seconds=time.monotonic() - self.started),
        )

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
            search=replace(plan.search, seconds=time.monotonic() - self.started),
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
    total = _dollars(answer.cost_cents)
    known = total is not None and plan.total_usd is not None
    return OneType(
        accelerator=accelerator,
        status=answer.status,
        total_usd=total,
        total_bound_usd=_dollars(answer.bound_cents),
        more_usd=(total or 0.0) - (plan.total_usd or 0.0) if known else None,
        why=_WHY_NOT_ALONE.get(answer.status),
    )


def _types(request: FleetRequest) -> list[str]:
    """Types of accelerator that can be had, where there is more than one."""
    types = {each.accelerator for each in request.buy}
    types |= {each.accelerator for each in request.rent}
    return sorted(types) if len(types) > 1 else []


def _dollars(cents: int | None) -> float | None:
    return None if cents is None else cents / CENTS


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
