"""What to buy: searched by the core, bought by OR-Tools, and explained."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from planopt.catalog.open import DEFAULT_ASSUMPTIONS, open_catalog
from planopt.documents.explanations import Alternative, Answer, Answers
from planopt.documents.parts import Accuracy, Status
from planopt.documents.plan import Interrupted, Plan
from planopt.price_sources import oldest_price
from planopt.procurement import Solver, alternatives
from planopt.procurement.purchase import PurchaseInterrupted
from planopt.serving.problem import read_problem
from planopt.serving.question import MICRO_USD, Question
from planopt.serving.rent_or_buy import rent_or_buy
from planopt.serving.sure import statement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.procurement.problem import Objective, Purchase
    from planopt.serving.build import Build


__all__ = ["solve"]

HOURS_PER_YEAR = 8760
WATTS_PER_KILOWATT = 1000

SIMULATED = (
    "latencies under a load are simulated: `planopt verify` holds them against each "
    "other, and does not compute them again"
)
"""What is said besides where latencies are judged."""


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
