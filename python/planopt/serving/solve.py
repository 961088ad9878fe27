"""What to buy: searched by the core, bought by OR-Tools, and explained."""

from __future__ import annotations

import time
from dataclasses import dataclass
from dataclasses import replace as replace_problem
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from planopt.catalog import DEFAULT_ASSUMPTIONS, open_catalog
from planopt.errors import Interrupted
from planopt.plan import Accuracy, Alternative, Answer, Answers, Plan, Status
from planopt.prices import oldest_price
from planopt.procurement import Solver, alternatives, buy, scan
from planopt.procurement.problem import Limits, Objective, Purchase, Unit
from planopt.procurement.purchase import PurchaseInterrupted
from planopt.serving.build import Build, build
from planopt.serving.problem import Problem, read_problem
from planopt.serving.rent_or_buy import price_of_an_hourly_dollar, rent_or_buy
from planopt.serving.search import Found, find_units
from planopt.serving.sure import statement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.catalog import Catalog

__all__ = ["Question", "solve"]

MICRO_USD = 10**6
HOURS_PER_YEAR = 8760
WATTS_PER_KILOWATT = 1000
REACH = 2
"""Units are searched for up to so many times the budget or the best price known."""
FIRST_CAP_USD = 20_000.0
CAP_STEP = 5
MUCH_DEARER = 1.25
"""What another question's answer costs at most for one search to find it."""
LAST_CAP_USD = 1e8
"""Prices of a unit that are tried in turn where there is no budget."""

SIMULATED = (
    "latencies under a load are simulated: `planopt verify` holds them against each "
    "other, and does not compute them again"
)
"""What is said besides where latencies are judged."""


@dataclass
class Question:
    """A problem with what answers it: asked again whenever an explanation needs it."""

    catalog: Catalog
    problem: Problem
    solver: Solver
    first_cap_usd: float = FIRST_CAP_USD
    """Price of a unit up to which is searched first, where nothing bounds it."""

    @cached_property
    def found(self) -> Found:
        """Units that meet the speed, as far as their price can matter.

        No unit of a purchase costs more than the whole purchase. So the search stops
        somewhat beyond the budget, or beyond the price of a purchase that is known: it
        goes on for a while only to show what lies there.
        """
        problem = self.problem
        hourly = problem.acquisition.hourly
        if problem.budget_usd is not None and not hourly:
            return self.find(REACH * problem.budget_usd)
        if problem.objective != "cheapest":
            alone = problem.objective in ("cost-per-token", "latency")
            aim = problem.objective if alone and not problem.limited else None
            return find_units(self.catalog, problem, aim=aim)
        if problem.acquisition.way == "rent":
            return self.find(None)
        cost = self.catalog.native.cost_assumptions()
        reach = price_of_an_hourly_dollar(cost) if hourly else 1.0
        cap = self.first_cap_usd if reach is not None else LAST_CAP_USD
        while cap < LAST_CAP_USD:
            found = self.find(cap)
            if not found.is_cut_by_price:
                return found
            known = scan(found.builds, self.limits, "cheapest")
            if known is not None and known.price_micro_usd is not None and reach:
                enough = REACH * known.price_micro_usd / MICRO_USD * reach
                return found if enough <= cap else self.find(enough)
            cap *= CAP_STEP
        return self.find(None)

    def find(self, price_cap_usd: float | None) -> Found:
        """Search for units up to a price."""
        return find_units(self.catalog, self.problem, price_cap_usd=price_cap_usd)

    @cached_property
    def limits(self) -> Limits:
        """What a purchase must supply and stay within."""
        return self.limits_of(self.problem)

    def limits_of(self, problem: Problem) -> Limits:
        """Limits of a problem, as the purchase takes them."""
        hourly = problem.acquisition.hourly
        budget = problem.budget_usd_per_hour if hourly else problem.budget_usd
        capital = problem.budget_usd if hourly else None
        return Limits(
            users=problem.users,
            tokens_per_second=problem.throughput,
            budget_micro_usd=None if budget is None else round(budget * MICRO_USD),
            power_watts=problem.max_power_watts,
            rack_units=problem.rack_units(self.catalog),
            accelerators=problem.accelerators_in_all,
            stock=problem.stock,
            redundancy=problem.redundancy,
            capital_micro_usd=None if capital is None else round(capital * MICRO_USD),
            hourly=hourly,
        )

    def buy(self) -> Purchase:
        """Ask OR-Tools for the best purchase."""
        goal = self.problem.objective
        limit = self.problem.time_limit_seconds
        return buy(self._payable(goal), self.limits, goal, self.solver, limit)

    def _payable(self, objective: Objective) -> Sequence[Unit]:
        """Units of which not even one costs more than the whole purchase may."""
        most = self.limits.budget_micro_usd
        if objective == "cheapest":
            known = scan(self.found.builds, self.limits, "cheapest")
            most = most if known is None else known.price_micro_usd
        if most is None:
            return self.found.units
        return [unit for unit in self.found.units if unit.price_micro_usd <= most]

    def build(self, counts: dict[int, int]) -> Build:
        """Lay a purchase out."""
        return build(self.catalog, self.problem, self.found, counts)

    @property
    def as_asked(self) -> Question:
        """The same question without the care that simulations have taught."""
        return self.about(
            replace_problem(self.problem, ttft_margin=1.0, tpot_margin=1.0)
        )

    @cached_property
    def without_target(self) -> Question:
        """The same question at any speed."""
        return self.about(replace_problem(self.problem, target=0.0))

    @cached_property
    def without_ttft(self) -> Question:
        """The same question after any wait."""
        return self.about(replace_problem(self.problem, ttft_seconds=None))

    def about(self, problem: Problem) -> Question:
        """Ask another question of the same catalog and solver."""
        return Question(self.catalog, problem, self.solver)

    def beside(self, chosen: Build, problem: Problem) -> Question:
        """Ask another question whose answer costs about as much as a known one."""
        other = self.about(problem)
        if not problem.acquisition.hourly:
            about = MUCH_DEARER * chosen.price_usd
            other.first_cap_usd = max(FIRST_CAP_USD, REACH * about)
        return other

    def aiming(self, objective: Objective) -> Question:
        """Ask the same for another objective.

        Within a budget the units are the same, save for latency; without one, each
        objective looks as far as it needs to.
        """
        other = self.about(replace_problem(self.problem, objective=objective))
        both = (objective, self.problem.objective)
        if self.problem.money is not None and "latency" not in both:
            other.found = self.found
        return other

    def best(self) -> Build | None:
        """Build of the best purchase, or none if there is none."""
        purchase = self.buy()
        return self.build(purchase.counts) if purchase.counts else None


def solve(
    *,
    assumptions: str = DEFAULT_ASSUMPTIONS,
    catalog: Sequence[str] = (),
    **options: Any,
) -> Plan:
    """Find what to buy to serve a model.

    Parameters
    ----------
    assumptions : str
        Name, or path of a TOML file.
    catalog : sequence of str
        Folders laid over the bundled catalog.
    **options
        As of ``planopt solve``, with underscores: text with units (``"5tok/s"``) or
        numbers in SI units.

    Returns
    -------
    Plan
        Also where there is none: then its status is ``infeasible``, with why and the
        nearest changes.

    Raises
    ------
    InputError
        With a diagnostic for each option or file that cannot be used.
    Interrupted
        On Ctrl-C, with the best plan so far.

    Examples
    --------
    >>> import planopt
    >>> plan = planopt.solve(target="5tok/s", budget=20_000)
    >>> plan.status
    'optimal'
    """
    with Solver() as solver:
        opened = open_catalog(catalog, assumptions, options.get("accelerators"))
        typed = {name: str(value) for name, value in options.items()}
        problem = read_problem(opened, assumptions=assumptions, typed=typed, **options)
        return answer(Question(problem.counted(opened), problem, solver))


def answer(question: Question) -> Plan:
    """Answer a question with a plan."""
    started = time.monotonic()
    try:
        purchase = question.buy()
    except PurchaseInterrupted as stop:
        best = stop.purchase
        raise Interrupted(
            _plan(question, best, question.build(best.counts), started)
            if best.counts
            else None
        ) from None
    if not purchase.counts:
        from planopt.serving.nearest import infeasible_plan

        return infeasible_plan(question, purchase, started)
    chosen = question.build(purchase.counts)
    if question.problem.percentile is not None:
        from planopt.serving.refine import refined

        question, purchase, chosen = refined(question, purchase, chosen)
    plan = _plan(question, purchase, chosen, started)
    try:
        return _explained(question, plan, chosen)
    except KeyboardInterrupt:
        raise Interrupted(plan) from None


def _plan(
    question: Question, purchase: Purchase, chosen: Build, started: float
) -> Plan:
    """Put a purchase into a plan, without what needs further questions."""
    from planopt.serving.cautions import cautions

    hourly = question.problem.acquisition.hourly
    bound = None
    if purchase.bound_micro_usd is not None:
        # An hour of a unit is rounded up to a millionth of a dollar.
        bound = purchase.bound_micro_usd / MICRO_USD
        bound = min(bound, chosen.usd_per_hour) if hourly else bound
    return Plan(
        status="optimal" if purchase.status == "optimal" else "feasible",
        objective=question.problem.objective,
        price_usd=chosen.price_usd,
        bound_usd=None if hourly else bound,
        bound_usd_per_hour=bound if hourly else None,
        gap=purchase.gap,
        request=question.problem.request(),
        bill_of_materials=chosen.bill_of_materials,
        oldest_price_date=oldest_price(chosen.bill_of_materials),
        deployments=chosen.deployments,
        cost=chosen.cost,
        power_watts=None if chosen.rented else chosen.power_watts,
        kg_co2e_per_year=_kg_co2e_per_year(question, chosen),
        warnings=cautions(question, chosen),
        search=replace(question.found.search, seconds=time.monotonic() - started),
        assumed=question.problem.assumed,
        assumptions=question.problem.assumptions,
        accuracy=Accuracy(statement=_statement(question, chosen)),
    )


def _kg_co2e_per_year(question: Question, chosen: Build) -> float | None:
    """Carbon dioxide of a year's electricity of what is bought, where it is known."""
    assumptions = question.catalog.native.cost_assumptions()
    carbon = assumptions["carbon_kg_per_kwh"]
    if chosen.rented or carbon is None:
        return None
    kilowatts = chosen.power_watts / WATTS_PER_KILOWATT
    hours = HOURS_PER_YEAR * assumptions["duty"] * assumptions["pue"]
    return float(kilowatts * hours * carbon)


def _statement(question: Question, chosen: Build) -> str:
    """Say how sure the figures are, and which are of a simulation."""
    sure = statement(
        (each.evaluation for each in chosen.deployments),
        question.problem.served.engine_name,
    )
    return f"{sure}; {SIMULATED}" if question.problem.percentile else sure


def _explained(question: Question, plan: Plan, chosen: Build) -> Plan:
    """Add what lies beside the answer: other aims, other builds, what flips it."""
    from planopt.serving.cautions import flipped
    from planopt.serving.pools import disaggregated
    from planopt.serving.price_ranges import uncertainty
    from planopt.serving.sensitivity import sensitivities
    from planopt.serving.steps import steps

    flips = sensitivities(question, chosen)
    others = _alternatives(question, chosen)
    return replace(
        plan,
        answers=_answers(question, plan.status, chosen),
        alternatives=others,
        disaggregated=disaggregated(
            question.as_asked, chosen.deployments[0].candidate.weights
        ),
        rent_or_buy=rent_or_buy(question, chosen),
        steps=steps(question, chosen),
        uncertainty=uncertainty(question, chosen, others),
        sensitivity=flips,
        warnings=(*plan.warnings, *flipped(flips)),
    )


def _answers(question: Question, status: Status, chosen: Build) -> Answers:
    """Give the three answers: cheapest, most throughput, least dollars per token."""

    def best(objective: Objective) -> Answer | None:
        if objective == question.problem.objective:
            return _answer(objective, status, chosen)
        other = question.aiming(objective)
        purchase = other.buy()
        if not purchase.counts:
            return None
        proven: Status = "optimal" if purchase.status == "optimal" else "feasible"
        return _answer(objective, proven, other.build(purchase.counts))

    # The other two are best for a budget: without one, they are told if asked for.
    own, budget = question.problem.objective, question.problem.money
    return Answers(
        cheapest=best("cheapest"),
        throughput=None
        if budget is None and own != "throughput"
        else best("throughput"),
        cost_per_token=None
        if budget is None and own != "cost-per-token"
        else best("cost-per-token"),
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


def _alternatives(question: Question, chosen: Build) -> tuple[Alternative, ...]:
    """List builds of other hardware, by price, with why each was not chosen."""
    top = question.problem.top
    listed = alternatives(
        question.found.builds, question.limits, 2 * top, over_limits=True
    )
    others: list[Alternative] = []
    # A machine with NICs of two networks is the same purchase on either.
    seen = {chosen.bill_of_materials}
    for each in listed:
        other = question.build({each.unit.index: each.count})
        if other.bill_of_materials in seen or len(others) == top:
            continue
        seen.add(other.bill_of_materials)
        deployment = other.deployments[0]
        others.append(
            Alternative(
                summary=other.summary,
                why_not="; ".join(each.why_not)
                or _why_not(other, chosen, hourly=question.limits.hourly),
                price_usd=other.price_usd,
                usd_per_hour=other.usd_per_hour,
                tokens_per_second_per_user=other.tokens_per_second_per_user,
                tokens_per_second=other.tokens_per_second,
                usd_per_million_tokens=other.cost.usd_per_million_tokens,
                users=other.users,
                power_watts=None if other.rented else other.power_watts,
                replicas=deployment.replicas,
                candidate=deployment.candidate,
                hardware=deployment.hardware,
                bill_of_materials=other.bill_of_materials,
            )
        )
    return tuple(others)


def _why_not(other: Build, chosen: Build, *, hourly: bool) -> str:
    """Say what a build within all limits lacks."""
    if hourly:
        dearer = other.usd_per_hour - chosen.usd_per_hour
        said = f"${abs(dearer):,.3g}/h"
    else:
        dearer = other.price_usd - chosen.price_usd
        said = f"${abs(dearer):,.0f}"
    if dearer > 0:
        return f"{said} more"
    if dearer < 0:
        return f"{said} less, but not best at what was asked for"
    return "same price; more dollars per token, more power or later by name"
