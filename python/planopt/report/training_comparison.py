"""The same training run on several accelerators, one column each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from planopt.prices import is_rough
from planopt.report.numbers import UNKNOWN, count, money, rate, watts
from planopt.report.parts import section, warning_lines
from planopt.report.style import PLAIN, Style
from planopt.report.table import table, wrapped
from planopt.report.training import days, percent

if TYPE_CHECKING:
    from planopt.documents.plan import TrainingPlan
    from planopt.documents.training import TrainingEvaluation

__all__ = ["render_training_comparison"]

_Row = tuple[str, Callable[["TrainingEvaluation"], str]]

_ROWS: tuple[_Row, ...] = (
    ("accelerators", lambda each: count(each.accelerators)),
    ("tok/s", lambda each: rate(each.tokens_per_second)),
    ("MFU", lambda each: percent(each.mfu)),
    ("goodput", lambda each: percent(each.goodput)),
    ("days", lambda each: days(each.days)),
    ("accelerator-hours", lambda each: count(each.run.accelerator_hours)),
    ("power", lambda each: watts(each.power_watts)),
    ("energy, kWh", lambda each: count(each.run.energy_kwh)),
    ("kg CO2e", lambda each: count(each.run.kg_co2e)),
    ("the run", lambda each: _whole(each.run.usd)),
)


def render_training_comparison(
    plans: Sequence[TrainingPlan], *, style: Style = PLAIN
) -> str:
    """Lay plans out side by side, the figures of each below its name."""
    cells = [
        ("layout", *map(_layout, plans)),
        *((title, *(_figure(plan, value) for plan in plans)) for title, value in _ROWS),
        ("price", *map(_price, plans)),
    ]
    header = ("", *map(_name, plans))
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


def _name(plan: TrainingPlan) -> str:
    if plan.deployments:
        return plan.deployments[0].candidate.accelerator
    return ",".join(plan.request.accelerators) or UNKNOWN


def _layout(plan: TrainingPlan) -> str:
    if not plan.deployments:
        return "no plan"
    candidate = plan.deployments[0].candidate
    return f"TP{candidate.tp} PP{candidate.pp} DP{candidate.dp}"


def _figure(plan: TrainingPlan, value: Callable[[TrainingEvaluation], str]) -> str:
    return value(plan.deployments[0].evaluation) if plan.deployments else UNKNOWN


def _price(plan: TrainingPlan) -> str:
    def price(each: TrainingEvaluation) -> str:
        usd = each.cost.price_usd
        rough = is_rough(plan.bill_of_materials)
        return money(None if usd is None else round(usd), rough=rough)

    return _figure(plan, price)


def _whole(usd: float | None) -> str:
    return money(None if usd is None else round(usd))


def _verdict(plans: Sequence[TrainingPlan], style: Style) -> list[str]:
    """Say which is cheapest to buy, and whose run costs least."""
    there = [plan for plan in plans if plan.deployments]
    if len(there) < 2:
        return []
    cheapest = min(there, key=lambda plan: plan.price_usd or 0.0)
    thrifty = min(there, key=lambda plan: plan.deployments[0].evaluation.run.usd or 0.0)
    return [
        "",
        *wrapped(
            f"Cheapest to buy: {style.good(_name(cheapest))}. "
            f"Cheapest run: {style.good(_name(thrifty))}."
        ),
    ]


def _conflicts(plans: Sequence[TrainingPlan]) -> list[str]:
    return [
        line
        for plan in plans
        if plan.infeasibility is not None
        for line in wrapped(f"{_name(plan)}: {plan.infeasibility.note}", hanging="    ")
    ]
