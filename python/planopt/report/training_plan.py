"""A training plan on the screen: the answer first, then why, then what else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.prices import is_rough
from planopt.report.infeasible import infeasible_lines
from planopt.report.numbers import count, money
from planopt.report.parts import bill_lines, oldest, purchase, section
from planopt.report.style import PLAIN, Style
from planopt.report.table import table, wrapped
from planopt.report.terminal import epilogue, proof, sensitivity_lines
from planopt.report.training import (
    days,
    percent,
    run_lines,
    speed_line,
    step_and_memory,
    training_layout,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from planopt.documents.explanations import TrainingAlternative
    from planopt.documents.plan import TrainingPlan
    from planopt.documents.training import Renting

__all__ = ["render_training_plan"]

_SECONDS_PER_DAY = 86_400
TOGETHER = "All of them in one run"


def render_training_plan(
    plan: TrainingPlan, *, style: Style = PLAIN, saved: str | Path | None = None
) -> str:
    """Lay a training plan out for a terminal.

    Parameters
    ----------
    plan : TrainingPlan
        The plan, feasible or not.
    style : Style
        Whether to paint.
    saved : path, optional
        Where the plan has been saved to.
    """
    if plan.status == "infeasible":
        rented = renting_lines(plan.renting, style)
        body = [
            *infeasible_lines(plan, style),
            *section(TOGETHER, _clusters(plan.together, style, last="limits"), style),
            *section("Rented instead, on demand", rented, style),
        ]
    else:
        body = _feasible_lines(plan, style)
    return "\n".join([*body, *epilogue(plan, style, saved)])


def _feasible_lines(plan: TrainingPlan, style: Style) -> list[str]:
    return [
        *_headline(plan, style),
        *(
            line
            for each in plan.deployments
            for line in (
                "",
                *step_and_memory(each.evaluation),
                *run_lines(each.evaluation),
            )
        ),
        "",
        *bill_lines(plan.bill_of_materials, style),
        *section("Next best by hardware", _clusters(plan.alternatives, style), style),
        *section(TOGETHER, _clusters(plan.together, style, last="limits"), style),
        *section(
            "Rented instead, on demand", renting_lines(plan.renting, style), style
        ),
        *section("If things were different", sensitivity_lines(plan), style),
    ]


def renting_lines(renting: Renting | None, style: Style) -> list[str]:
    """Show the cheapest rented run of each accelerator, and when owning pays off."""
    if renting is None:
        return []
    if not renting.runs:
        return ["  no offer finishes in time"]
    rows = [
        (
            f"{count(run.instances)}x {run.instance}",
            f"{count(run.accelerators)}x {run.accelerator}",
            days(run.days),
            money(round(run.usd_per_hour)),
            money(round(run.run_usd)),
        )
        for run in renting.runs
    ]
    header = ("", "accelerators", "days", "an hour", "the run")
    runs = renting.break_even_runs
    paid = (
        "owning never pays off against the cheapest of these"
        if runs is None
        else f"owning pays off after {runs:.1f} runs like the cheapest of these"
    )
    return [*table(header, rows, "<<>>>", style=style), f"  {paid}"]


def _headline(plan: TrainingPlan, style: Style) -> list[str]:
    bought = wrapped(purchase(plan.bill_of_materials), indent="", hanging="      ")
    first, *rest = bought or ["nothing"]
    lines = [style.head("Plan  ") + style.head(first), *rest]
    for each in plan.deployments:
        layout = f"{each.model}, {training_layout(each.candidate)}"
        lines += wrapped(layout, indent="      ", hanging="      ")
    price = money(plan.price_usd, rough=is_rough(plan.bill_of_materials))
    budget = plan.request.budget_usd
    of = " for the run" if plan.request.acquire == "rent" else ""
    of += f" of {money(budget)}" if budget is not None else ""
    lines.append(
        f"      {style.head(price + of)}   {proof(plan, style)}"
        f"{oldest(plan.oldest_price_date)}"
    )
    lines += [
        f"      {speed_line(each.evaluation)}{_deadline(plan)}"
        for each in plan.deployments
    ]
    return lines


def _deadline(plan: TrainingPlan) -> str:
    seconds = plan.request.deadline_seconds
    return f" (deadline {days(seconds / _SECONDS_PER_DAY)})" if seconds else ""


def _clusters(
    clusters: Sequence[TrainingAlternative], style: Style, last: str = "why not"
) -> list[str]:
    rows = [
        (
            each.summary,
            count(each.accelerators),
            money(
                each.price_usd and round(each.price_usd),
                rough=is_rough(each.bill_of_materials),
            ),
            days(each.days),
            percent(each.mfu),
            money(each.run_usd and round(each.run_usd)),
            each.why_not,
        )
        for each in clusters
    ]
    if not rows:
        return []
    header = ("", "number", "price", "days", "MFU", "the run", last)
    return table(header, rows, "<>>>>><", style=style)
