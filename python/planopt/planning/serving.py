"""What only serving has: how its question is read, and the sections of its plan."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from planopt.documents.explanations import (
    Alternative,
    Answer,
    Answers,
    Infeasibility,
)
from planopt.documents.parts import (
    Accuracy,
    BillOfMaterials,
    PlanCost,
    Status,
)
from planopt.documents.plan import Plan
from planopt.market import read_market
from planopt.money import at_load
from planopt.planning.alternatives import other_builds
from planopt.planning.certainty import certain, priced, served_to
from planopt.planning.nearest import unproven, why_no_purchase
from planopt.planning.pools import better_of
from planopt.planning.question import REACH, TOLD, ServingQuestion
from planopt.planning.rent_or_buy import rent_or_buy
from planopt.planning.scenarios import with_scenarios
from planopt.planning.sensitivity import is_wide, sensitivities, steps
from planopt.planning.settle import missed, settled
from planopt.planning.uncertainty import uncertainty
from planopt.planning.warnings import flipped, serving_warnings
from planopt.price_sources import dollars, is_rough, oldest_price
from planopt.procurement.problem import check
from planopt.serving.build import lay_out_together
from planopt.serving.prediction_interval import statement
from planopt.serving.question_types import Problem
from planopt.summary import made_from
from planopt.traffic import read_traffic
from planopt.units import MICRO_USD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.catalog.open import Catalog
    from planopt.documents.parts import Cost
    from planopt.options import Asked
    from planopt.procurement.problem import Objective, Purchase
    from planopt.procurement.solver import Solver
    from planopt.serving.build import Build

SIMULATED = (
    "latencies under a load are simulated: `planopt verify` holds them against each "
    "other, and does not compute them again"
)
"""What is said besides where latencies are judged."""


class Serving:
    """The subject of `planopt solve`."""

    def read(self, asked: Asked, catalog: Catalog, solver: Solver) -> ServingQuestion:
        """Read a question, and the file of traffic that it names."""
        traffic = read_traffic(asked)
        if traffic is not None:
            traffic.add_to(asked)
        problem = read_market(asked, catalog, Problem)
        if traffic is not None:
            problem = replace(problem, sizes=traffic.sizes)
        return ServingQuestion(
            problem.counted(catalog), problem, solver, asked, is_told=True
        )

    def settled(
        self, question: ServingQuestion, purchase: Purchase
    ) -> tuple[ServingQuestion, Purchase, Build] | None:
        """Lay a purchase out; where latencies are promised, what is shown to hold."""
        if question.problem.percentile is not None:
            choice = settled(question, purchase)
            choice, question.pools = better_of(question, choice)
            if choice is not None:
                choice.question.pools = question.pools
            return choice
        if question.problem.objective == "latency":
            purchase = question.hastened(purchase)
        if not purchase.counts:
            return None
        return question, purchase, question.bought(purchase)

    def plan(
        self,
        question: ServingQuestion,
        purchase: Purchase,
        chosen: Build,
        started: float,
    ) -> Plan:
        """Put a purchase into a plan, without what needs further questions."""
        if violations := missed(question.problem, chosen):
            return self._none_holds(question, purchase, chosen, violations, started)
        hourly = question.problem.hourly
        bound = None
        if purchase.bound_micro_usd is not None:
            # An hour of a unit is rounded up to a millionth of a dollar.
            bound = purchase.bound_micro_usd / MICRO_USD
            bound = min(bound, chosen.usd_per_hour) if hourly else bound
        plan = Plan(
            status="optimal" if purchase.status == "optimal" else "feasible",
            objective=question.problem.objective,
            price_usd=chosen.price_usd,
            bound_usd=None if hourly else bound,
            bound_usd_per_hour=bound if hourly else None,
            gap=purchase.gap,
            why=purchase.why,
            request=question.problem.request(),
            bill_of_materials=BillOfMaterials(chosen.bill_of_materials),
            oldest_price_date=oldest_price(chosen.bill_of_materials),
            deployments=chosen.deployments,
            failures=chosen.failures,
            transfer=chosen.transfer,
            pools_bound_usd=_of_price(question, question.pools.bound),
            cost=PlanCost.of(_cost(chosen, question.catalog.cost.duty)),
            power_watts=None if chosen.rented else chosen.power_watts,
            kg_co2e_per_year=chosen.kg_co2e_per_year,
            warnings=serving_warnings(question, chosen),
            search=replace(
                question.found.search,
                seconds=time.monotonic() - started,
                simulations=question.simulated[0],
                requests=question.simulated[1],
            ),
            assumed=question.problem.assumed,
            assumptions=question.problem.assumptions,
            accuracy=Accuracy(statement=_statement(question, chosen)),
        )
        return certain(plan, question, lambda kind: served_to(question, chosen, kind))

    def so_far(
        self, question: ServingQuestion, purchase: Purchase, started: float
    ) -> Plan:
        """Put what was best until an interruption into a plan."""
        return self.plan(question, purchase, question.bought(purchase), started)

    def explained(self, question: ServingQuestion, plan: Plan, chosen: Build) -> Plan:
        """Add what lies beside the answer: other aims, other builds, what flips it."""
        if plan.status == "infeasible":
            return plan
        reach = REACH * chosen.price_usd
        flips = sensitivities(question, chosen, lambda other: self._held(other, reach))
        answers, others = _alternatives(question, plan.status, chosen)
        plan = replace(
            plan,
            answers=answers,
            alternatives=others,
            disaggregated=None if chosen.transfer else question.pools.told,
            rent_or_buy=rent_or_buy(question, chosen),
            steps=steps(question, chosen),
            uncertainty=uncertainty(question, chosen, others),
            sensitivity=flips,
            warnings=(*plan.warnings, *flipped(flips)),
        )
        plan = with_scenarios(made_from(plan, question.catalog), question)
        if is_wide(question):
            return plan
        return priced(plan, question, lambda other: self._price(other, reach))

    def _price(self, question: ServingQuestion, reach: float) -> float | None:
        """Price of what is held, where that is found in time; first within `reach`."""
        held = self._held(question, reach)
        return None if held is None else held.price_usd

    def _held(self, question: ServingQuestion, reach: float) -> Build | None:
        """Find what is held, where that is found in time; first within `reach`."""
        question.first_cap_usd = reach
        found = self.settled(question, question.buy())
        if (
            found is None
            or found[1].why == "time"
            or missed(question.problem, found[2])
        ):
            return None
        return found[2]

    def _none_holds(
        self,
        question: ServingQuestion,
        purchase: Purchase,
        chosen: Build,
        violations: Mapping[str, float],
        started: float,
    ) -> Plan:
        """Say that no plan was found that holds, and what the nearest misses."""
        problem = question.problem
        none = "no plan keeps its promises when it is simulated"
        if purchase.why == "time":
            none = (
                "none was shown to keep its promises in time: more of it may find one"
            )
        price = dollars(
            chosen.price_usd, rough=is_rough(chosen.bill_of_materials), whole=True
        )
        nearest = (
            f"{none}; the nearest, {chosen.summary} for {price}: "
            f"{missing(problem.percentile, violations)}"
        )
        plan = _no_plan(question, Infeasibility(note=nearest), started)
        accuracy = Accuracy(statement=_statement(question, chosen))
        why = "time" if purchase.why == "time" else None
        return replace(plan, why=why, accuracy=accuracy)

    def infeasible(
        self, question: ServingQuestion, purchase: Purchase, started: float
    ) -> Plan:
        """Say why there is no plan, and what is nearest to one."""
        if question.looked_up_to is None:
            why = why_no_purchase(question, purchase, question.until)
        else:
            why = Infeasibility(note=unproven(purchase))
        plan = _no_plan(question, why, started)
        return replace(plan, why="time") if purchase.status == "unknown" else plan


def _no_plan(question: ServingQuestion, why: Infeasibility, started: float) -> Plan:
    problem, seconds = question.problem, time.monotonic() - started
    return Plan(
        status="infeasible",
        objective=problem.objective,
        request=problem.request(),
        infeasibility=why,
        disaggregated=question.pools.told,
        search=replace(question.found.search, seconds=seconds),
        assumed=problem.assumed,
        assumptions=problem.assumptions,
        accuracy=Accuracy(statement="no plan: nothing was predicted"),
    )


def _cost(chosen: Build, duty: float) -> Cost:
    """Cost of the tokens under the load; of a steady step where none is judged."""
    loads = [(each.evaluation.under_load, each.hardware) for each in chosen.deployments]
    tokens = sum(
        (load.tokens_per_second or 0.0) * (hardware.goodput or 1.0)
        for load, hardware in loads
        if load is not None
    )
    return at_load(chosen.cost, tokens, duty)


def missing(percentile: str | None, violations: Mapping[str, float]) -> str:
    """Say by how much promised latencies are missed, as multiples of them."""
    return " and ".join(
        f"{name} at {percentile} is {times - 1:.0%} longer than promised"
        if times > 1
        else f"{name} is too near its promise at {percentile} to be held for certain"
        for name, times in violations.items()
    )


def _statement(question: ServingQuestion, chosen: Build) -> str:
    """Say within what the figures lie, and which are of a simulation."""
    interval = statement(each.evaluation for each in chosen.deployments)
    return f"{interval}; {SIMULATED}" if question.problem.percentile else interval


def _of_price(question: ServingQuestion, bound: float | None) -> float | None:
    """Return a bound where it is one of the price."""
    return bound if question.problem.objective == "cheapest" else None


def _alternatives(
    question: ServingQuestion, status: Status, chosen: Build
) -> tuple[Answers, tuple[Alternative, ...]]:
    """Tell what is best by the other objectives, and builds of other hardware."""
    # The other two are best for a budget: without one, they are told if asked for.
    own, budget = question.problem.objective, question.problem.money
    told = TOLD if budget is not None else ("cheapest",)
    asked = [question.aiming(objective) for objective in told if objective != own]
    bought = [
        (each, each.buy())
        for each in asked
        if question.may_ask_again and not each.found.summary.is_cut_by_time
    ]
    bought = [(each, purchase) for each, purchase in bought if purchase.counts]
    listed = [{each.row: each.count} for each in question.offered.builds]
    *best, builds = lay_out_together(
        [
            (each.found, each.problem, each.limits, [purchase.counts])
            for each, purchase in bought
        ]
        + [(question.found, question.problem, question.limits, listed)]
    )
    answers = {own: _answer(own, status, chosen)}
    for (each, purchase), (other,) in zip(bought, best, strict=True):
        check(other.broken)
        objective = each.problem.objective
        proven: Status = "optimal" if purchase.status == "optimal" else "feasible"
        answers[objective] = _answer(objective, proven, other)
    return (
        Answers(
            cheapest=answers.get("cheapest"),
            throughput=answers.get("throughput"),
            cost_per_token=answers.get("cost-per-token"),
        ),
        other_builds(
            question, chosen, [*filter(None, (question.pools.beaten,)), *builds]
        ),
    )


def _answer(objective: Objective, status: Status, best: Build) -> Answer:
    return Answer(
        objective=objective,
        status=status,
        price_usd=best.price_usd,
        usd_per_hour=best.usd_per_hour,
        usd_per_million_tokens=best.cost.usd_per_million_tokens,
        tokens_per_second=best.tokens_per_second,
        tokens_per_second_per_user=best.tokens_per_second_per_user,
        users=best.users,
        summary=best.summary,
        bill_of_materials=best.bill_of_materials,
    )
