"""The same question for several accelerators, one column each: serving or training."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    from collections.abc import Iterable, Mapping, Sequence

    from planopt.documents.evaluation import Deployment
    from planopt.documents.plan import Plan, TrainingPlan

_HOURLY = ("$/h", "from")
_SERVING = (
    *("accelerators", "layout", "price", *_HOURLY, "tok/s per user", "tok/s in total"),
    *("tok/s per $1,000", "power", "energy per token", "$/Mtok"),
)
_TRAINING = (
    *("layout", "accelerators", "tok/s", "MFU", "goodput", "days", "accelerator-hours"),
    *("power", "energy, kWh", "kg CO2e", "the run", "price"),
)


def render_comparison(plans: Sequence[Plan | TrainingPlan]) -> Report:
    """Lay plans of one kind side by side, the figures of each below its name."""
    runs = [plan for plan in plans if plan.kind == "training"]
    if runs:
        verdict = _training_verdict(runs)
        return _side_by_side(plans, _TRAINING, map(_training, runs), verdict)
    served = [plan for plan in plans if plan.kind == "serving"]
    hourly = any(plan.request.hourly for plan in served)
    titles = [title for title in _SERVING if hourly or title not in _HOURLY]
    return _side_by_side(plans, titles, map(_serving, served), _verdict(served))


def _side_by_side(
    plans: Sequence[Plan | TrainingPlan],
    titles: Sequence[str],
    columns: Iterable[Mapping[str, str]],
    verdict: str,
) -> Report:
    shown = list(columns)
    rows = [(title, *(each.get(title, UNKNOWN) for each in shown)) for title in titles]
    return Report(
        Table(("", *(f">{_name(plan)}" for plan in plans)), rows),
        Section("", Sentence(verdict)),
        Section("No plan", *listed(filter(None, map(_conflict, plans)))),
        warnings({warning: None for plan in plans for warning in plan.warnings}),
    )


def _conflict(plan: Plan | TrainingPlan) -> str | None:
    why = plan.infeasibility
    if why is None:
        return None
    limits = " and ".join(
        f"{limit.name} {limit.value}" + (f" ({limit.detail})" if limit.detail else "")
        for limit in why.binding
    )
    return f"{_name(plan)}: {why.note or '' if plan.kind == 'training' else limits}"


def _name(plan: Plan | TrainingPlan) -> str:
    """Name a column: what was bought, else what was asked for."""
    if plan.deployments:
        return plan.deployments[0].candidate.accelerator
    return ",".join(plan.request.accelerators) or UNKNOWN


# --- Serving --------------------------------------------------------------------------


def _serving(plan: Plan) -> dict[str, str]:
    """Say what a plan buys and does; little where there is none."""
    deployments, cost, power = plan.deployments, plan.cost, plan.power_watts
    if not deployments:
        return {"accelerators": "no plan"}
    number = sum(each.candidate.accelerators * each.replicas for each in deployments)
    speeds = (
        (each.evaluation.decode.tokens_per_second or 0.0) * each.replicas
        for each in deployments
    )
    total = sum(speeds) or None
    return {
        "accelerators": count(number),
        "layout": _degrees(deployments[0]),
        "price": price(plan),
        "$/h": money_per_hour(cost.usd_per_hour),
        "from": _provider(deployments),
        "tok/s per user": rate(_per_user(plan)),
        "tok/s in total": rate(total),
        "tok/s per $1,000": rate(
            total / plan.price_usd * 1000 if total and plan.price_usd else None
        ),
        "power": watts(power),
        "energy per token": (
            f"{power / total:.3g} J" if total and power is not None else UNKNOWN
        ),
        "$/Mtok": money_per_million(cost.usd_per_million_tokens),
    }


def _degrees(deployment: Deployment) -> str:
    candidate = deployment.candidate
    copies = f" x{deployment.replicas}" if deployment.replicas > 1 else ""
    beyond = {"EP": candidate.ep, "DP": candidate.dp}
    more = "".join(f" {name}{each}" for name, each in beyond.items() if each > 1)
    return f"TP{candidate.tp} PP{candidate.pp}{more}{copies}"


def _provider(deployments: Sequence[Deployment]) -> str:
    """Say who rents it out, or that it is bought."""
    hosts = {each.hardware.host or "" for each in deployments}
    names = {host.partition("/")[0] if "/" in host else "bought" for host in hosts}
    return ", ".join(sorted(names))


def _per_user(plan: Plan) -> float | None:
    if not plan.deployments:
        return None
    return plan.deployments[0].evaluation.decode.tokens_per_second_per_user


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


# --- Training -------------------------------------------------------------------------


def _training(plan: TrainingPlan) -> dict[str, str]:
    """Say what a plan buys and does; little where there is none."""
    if not plan.deployments:
        return {"layout": "no plan"}
    candidate, of = plan.deployments[0].candidate, plan.deployments[0].evaluation
    rough = is_rough(plan.bill_of_materials)
    return {
        "layout": f"TP{candidate.tp} PP{candidate.pp} DP{candidate.dp}",
        "accelerators": count(of.accelerators),
        "tok/s": rate(of.tokens_per_second),
        "MFU": percent(of.mfu),
        "goodput": percent(of.goodput),
        "days": days(of.days),
        "accelerator-hours": count(of.run.accelerator_hours),
        "power": watts(of.power_watts),
        "energy, kWh": count(of.run.energy_kwh),
        "kg CO2e": count(of.run.kg_co2e),
        "the run": money(of.run.usd, whole=True),
        "price": money(of.cost.price_usd, rough=rough, whole=True),
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
