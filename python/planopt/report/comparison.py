"""The same question for several accelerators, one column each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from planopt.prices import is_rough
from planopt.report.numbers import (
    UNKNOWN,
    count,
    money,
    money_per_hour,
    money_per_million,
    rate,
    watts,
)
from planopt.report.parts import section, warning_lines
from planopt.report.style import PLAIN, Style
from planopt.report.table import table, wrapped

if TYPE_CHECKING:
    from planopt.documents.evaluation import Decode
    from planopt.documents.plan import Plan

__all__ = ["render_comparison"]

_Row = tuple[str, Callable[["Plan"], str]]


def render_comparison(plans: Sequence[Plan], *, style: Style = PLAIN) -> str:
    """Lay plans out side by side, the figures of each below its name."""
    rows: list[_Row] = [
        ("accelerators", _number),
        ("layout", _degrees),
        ("price", _price),
        *_hourly_rows(plans),
        (
            "tok/s per user",
            lambda plan: rate(_decode(plan, "tokens_per_second_per_user")),
        ),
        ("tok/s in total", lambda plan: rate(_total(plan))),
        ("tok/s per $1,000", lambda plan: rate(_per_thousand(plan))),
        ("power", lambda plan: watts(plan.power_watts)),
        ("energy per token", _energy),
        ("$/Mtok", lambda plan: money_per_million(plan.cost.usd_per_million_tokens)),
    ]
    header = ("", *map(_name, plans))
    cells = [(title, *map(value, plans)) for title, value in rows]
    warnings = {warning: None for plan in plans for warning in plan.warnings}
    return "\n".join(
        [
            *table(header, cells, "<" + ">" * len(plans), style=style),
            *_verdict(plans, style),
            *section("No plan", _conflicts(plans), style),
            *([""] if warnings else []),
            *warning_lines(warnings, style),
        ]
    )


def _hourly_rows(plans: Sequence[Plan]) -> list[_Row]:
    """Tell what an hour costs, where that is the money that was asked about."""
    if not any(plan.request.hourly for plan in plans):
        return []
    return [
        ("$/h", lambda plan: money_per_hour(plan.cost.usd_per_hour)),
        ("from", _provider),
    ]


def _provider(plan: Plan) -> str:
    """Say who rents it out, or that it is bought."""
    hosts = {each.hardware.host or "" for each in plan.deployments}
    names = {host.partition("/")[0] if "/" in host else "bought" for host in hosts}
    return ", ".join(sorted(names)) or UNKNOWN


def _name(plan: Plan) -> str:
    """Name a column: what was bought, else what was asked for."""
    if plan.deployments:
        return plan.deployments[0].candidate.accelerator
    return ",".join(plan.request.accelerators) or UNKNOWN


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


def _decode(plan: Plan, figure: str) -> float | None:
    if not plan.deployments:
        return None
    decode: Decode = plan.deployments[0].evaluation.decode
    value: float | None = getattr(decode, figure)
    return value


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


def _price(plan: Plan) -> str:
    return money(plan.price_usd, rough=is_rough(plan.bill_of_materials))


def _paid(plan: Plan) -> float | None:
    """Return what a plan costs, in the money that was asked about."""
    return plan.cost.usd_per_hour if plan.request.hourly else plan.price_usd


def _verdict(plans: Sequence[Plan], style: Style) -> list[str]:
    """Say which is cheapest, fastest and cheapest per token, and by how much."""
    paid = ((_paid(plan), index) for index, plan in enumerate(plans))
    priced = sorted((usd, index) for usd, index in paid if usd is not None)
    if len(priced) < 2:
        return []
    (lowest, first), (second, _) = priced[:2]
    less = second - lowest
    by = money_per_hour(less) if plans[first].request.hourly else money(less)
    said = [f"Cheapest: {style.good(_name(plans[first]))} by {by}."]
    fastest = max(
        plans, key=lambda plan: _decode(plan, "tokens_per_second_per_user") or 0.0
    )
    said.append(f"Fastest per user: {style.good(_name(fastest))}.")
    thrifty = [plan for plan in plans if plan.cost.usd_per_million_tokens is not None]
    if thrifty:
        best = min(thrifty, key=lambda plan: plan.cost.usd_per_million_tokens or 0.0)
        said.append(f"Lowest $/Mtok: {style.good(_name(best))}.")
    return ["", *wrapped(" ".join(said))]


def _conflicts(plans: Sequence[Plan]) -> list[str]:
    return [
        line
        for plan in plans
        if plan.infeasibility is not None
        for line in wrapped(
            f"{_name(plan)}: "
            + " and ".join(
                f"{limit.name} {limit.value}" for limit in plan.infeasibility.binding
            ),
            hanging="    ",
        )
    ]
