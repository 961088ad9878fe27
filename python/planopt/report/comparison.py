"""The same question for several accelerators, one column each: serving or training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from planopt.price_sources import is_rough
from planopt.report.numbers import (
    UNKNOWN,
    count,
    days,
    money,
    money_per_hour,
    money_per_million,
    percent,
    rate,
    watts,
)
from planopt.report.parts import price, warnings
from planopt.report.style import good
from planopt.report.table import Report, Section, Sentence, Table, listed

if TYPE_CHECKING:
    from planopt.documents.explanations import Infeasibility
    from planopt.documents.plan import Plan, TrainingPlan
    from planopt.documents.training import TrainingEvaluation

_Compared = TypeVar("_Compared", bound="Plan | TrainingPlan")
_Rows = dict[str, Callable[[_Compared], str]]


def render_comparison(plans: Sequence[Plan | TrainingPlan]) -> Report:
    """Lay plans of one kind side by side, the figures of each below its name."""
    runs = [plan for plan in plans if plan.kind == "training"]
    if runs:
        verdict = _training_verdict(runs)
        return _side_by_side(runs, _TRAINING, verdict, lambda why: why.note or "")
    served = [plan for plan in plans if plan.kind == "serving"]
    hourly = any(plan.request.hourly for plan in served)
    rows = {
        title: of for title, of in _SERVING.items() if hourly or title not in _HOURLY
    }
    return _side_by_side(served, rows, _verdict(served), _binding)


def _side_by_side(
    plans: Sequence[_Compared],
    rows: _Rows[_Compared],
    verdict: str,
    conflict: Callable[[Infeasibility], str],
) -> Report:
    conflicts = (
        f"{_name(plan)}: {conflict(plan.infeasibility)}"
        for plan in plans
        if plan.infeasibility is not None
    )
    return Report(
        Table(
            ("", *(f">{_name(plan)}" for plan in plans)),
            [(title, *map(of, plans)) for title, of in rows.items()],
        ),
        Section("", Sentence(verdict)),
        Section("No plan", *listed(conflicts)),
        warnings({warning: None for plan in plans for warning in plan.warnings}),
    )


def _name(plan: Plan | TrainingPlan) -> str:
    """Name a column: what was bought, else what was asked for."""
    if plan.deployments:
        return plan.deployments[0].candidate.accelerator
    return ",".join(plan.request.accelerators) or UNKNOWN


# --- Serving --------------------------------------------------------------------------


def _number(plan: Plan) -> str:
    if not plan.deployments:
        return "no plan"
    return count(
        sum(each.candidate.accelerators * each.replicas for each in plan.deployments)
    )


def _degrees(plan: Plan) -> str:
    if not plan.deployments:
        return UNKNOWN
    deployment = plan.deployments[0]
    candidate = deployment.candidate
    copies = f" x{deployment.replicas}" if deployment.replicas > 1 else ""
    beyond = {"EP": candidate.ep, "DP": candidate.dp}
    more = "".join(f" {name}{each}" for name, each in beyond.items() if each > 1)
    return f"TP{candidate.tp} PP{candidate.pp}{more}{copies}"


def _provider(plan: Plan) -> str:
    """Say who rents it out, or that it is bought."""
    hosts = {each.hardware.host or "" for each in plan.deployments}
    names = {host.partition("/")[0] if "/" in host else "bought" for host in hosts}
    return ", ".join(sorted(names)) or UNKNOWN


def _per_user(plan: Plan) -> float | None:
    if not plan.deployments:
        return None
    return plan.deployments[0].evaluation.decode.tokens_per_second_per_user


def _total(plan: Plan) -> float | None:
    """Add up the tokens per second of all replicas."""
    each = [
        (one.evaluation.decode.tokens_per_second or 0.0) * one.replicas
        for one in plan.deployments
    ]
    return sum(each) if any(each) else None


def _per_thousand(plan: Plan) -> float | None:
    total = _total(plan)
    return total / plan.price_usd * 1000 if total and plan.price_usd else None


def _energy(plan: Plan) -> str:
    total = _total(plan)
    if not total or plan.power_watts is None:
        return UNKNOWN
    return f"{plan.power_watts / total:.3g} J"


_HOURLY = ("$/h", "from")
_SERVING: _Rows[Plan] = {
    "accelerators": _number,
    "layout": _degrees,
    "price": price,
    "$/h": lambda plan: money_per_hour(plan.cost.usd_per_hour),
    "from": _provider,
    "tok/s per user": lambda plan: rate(_per_user(plan)),
    "tok/s in total": lambda plan: rate(_total(plan)),
    "tok/s per $1,000": lambda plan: rate(_per_thousand(plan)),
    "power": lambda plan: watts(plan.power_watts),
    "energy per token": _energy,
    "$/Mtok": lambda plan: money_per_million(plan.cost.usd_per_million_tokens),
}


def _paid(plan: Plan) -> float | None:
    """Return what a plan costs, in the money that was asked about."""
    return plan.cost.usd_per_hour if plan.request.hourly else plan.price_usd


def _verdict(plans: Sequence[Plan]) -> str:
    """Say which is cheapest, fastest and cheapest per token, and by how much."""
    paid = ((_paid(plan), index) for index, plan in enumerate(plans))
    priced = sorted((usd, index) for usd, index in paid if usd is not None)
    if len(priced) < 2:
        return ""
    (lowest, first), (second, _) = priced[:2]
    less = second - lowest
    by = money_per_hour(less) if plans[first].request.hourly else money(less)
    fastest = max(plans, key=lambda plan: _per_user(plan) or 0.0)
    said = (
        f"Cheapest: {good(_name(plans[first]))} by {by}. "
        f"Fastest per user: {good(_name(fastest))}."
    )
    thrifty = [plan for plan in plans if plan.cost.usd_per_million_tokens is not None]
    if thrifty:
        best = min(thrifty, key=lambda plan: plan.cost.usd_per_million_tokens or 0.0)
        said += f" Lowest $/Mtok: {good(_name(best))}."
    return said


def _binding(why: Infeasibility) -> str:
    return " and ".join(f"{limit.name} {limit.value}" for limit in why.binding)


# --- Training -------------------------------------------------------------------------


def _training_degrees(plan: TrainingPlan) -> str:
    if not plan.deployments:
        return "no plan"
    candidate = plan.deployments[0].candidate
    return f"TP{candidate.tp} PP{candidate.pp} DP{candidate.dp}"


def _figure(
    value: Callable[[TrainingEvaluation], str],
) -> Callable[[TrainingPlan], str]:
    """Return the cell of a figure of the run, where there is one."""
    return lambda plan: (
        value(plan.deployments[0].evaluation) if plan.deployments else UNKNOWN
    )


def _training_price(plan: TrainingPlan) -> str:
    rough = is_rough(plan.bill_of_materials)
    return _figure(lambda each: money(each.cost.price_usd, rough=rough, whole=True))(
        plan
    )


_TRAINING: _Rows[TrainingPlan] = {
    "layout": _training_degrees,
    "accelerators": _figure(lambda each: count(each.accelerators)),
    "tok/s": _figure(lambda each: rate(each.tokens_per_second)),
    "MFU": _figure(lambda each: percent(each.mfu)),
    "goodput": _figure(lambda each: percent(each.goodput)),
    "days": _figure(lambda each: days(each.days)),
    "accelerator-hours": _figure(lambda each: count(each.run.accelerator_hours)),
    "power": _figure(lambda each: watts(each.power_watts)),
    "energy, kWh": _figure(lambda each: count(each.run.energy_kwh)),
    "kg CO2e": _figure(lambda each: count(each.run.kg_co2e)),
    "the run": _figure(lambda each: money(each.run.usd, whole=True)),
    "price": _training_price,
}


def _training_verdict(plans: Sequence[TrainingPlan]) -> str:
    """Say which is cheapest to buy, and whose run costs least."""
    there = [plan for plan in plans if plan.deployments]
    if len(there) < 2:
        return ""
    cheapest = min(there, key=lambda plan: plan.price_usd or 0.0)
    thrifty = min(there, key=lambda plan: plan.deployments[0].evaluation.run.usd or 0.0)
    return (
        f"Cheapest to buy: {good(_name(cheapest))}. "
        f"Cheapest run: {good(_name(thrifty))}."
    )
