"""A plan on the screen: the answer first, then why, then what else was possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.prices import is_rough
from planopt.report.infeasible import infeasible_lines
from planopt.report.numbers import (
    count,
    money,
    money_per_hour,
    money_per_million,
    rate,
    share,
)
from planopt.report.parts import (
    assumed_lines,
    bill_lines,
    cost_line,
    deployment_line,
    figure_lines,
    latency_lines,
    oldest,
    purchase,
    section,
    speed,
    warning_lines,
)
from planopt.report.pools import pool_lines
from planopt.report.promised import promised_speed, usd_per_million_under_load
from planopt.report.renting import price_lines, rent_or_buy_lines, step_lines
from planopt.report.style import PLAIN, Style
from planopt.report.table import table, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from planopt.documents.evaluation import Deployment
    from planopt.documents.explanations import Alternative, Answer
    from planopt.documents.plan import Plan, PlanDocument
    from planopt.errors import Diagnostic

__all__ = [
    "epilogue",
    "proof",
    "render_plan",
    "render_verification",
    "sensitivity_lines",
]

_PROVEN = {
    "cheapest": "PROVEN CHEAPEST",
    "throughput": "PROVEN MOST THROUGHPUT",
    "cost-per-token": "PROVEN LOWEST COST PER TOKEN",
    "latency": "PROVEN FASTEST PER USER",
}


STEADY = (
    "speeds and $/Mtok of this table and the next are those of a steady step at full "
    "context, without prompts between; the plan's own above are under its load"
)


def render_plan(
    plan: Plan, *, style: Style = PLAIN, saved: str | Path | None = None
) -> str:
    """Lay a plan out for a terminal.

    Parameters
    ----------
    plan : Plan
        The plan, feasible or not.
    style : Style
        Whether to paint.
    saved : path, optional
        Where the plan has been saved to.
    """
    body = (
        [
            *infeasible_lines(plan, style),
            *section("Aggregated or disaggregated", pool_lines(plan, style), style),
        ]
        if plan.status == "infeasible"
        else _feasible_lines(plan, style)
    )
    return "\n".join([*body, *epilogue(plan, style, saved)])


def _feasible_lines(plan: Plan, style: Style) -> list[str]:
    return [
        *_headline(plan, style),
        *_figures(plan),
        "",
        *bill_lines(plan.bill_of_materials, style),
        *cost_line(
            plan.cost,
            plan.power_watts,
            under_load=usd_per_million_under_load(plan),
            rented=plan.price_usd == 0,
            kg_co2e_per_year=plan.kg_co2e_per_year,
        ),
        *section("A step of each limit", step_lines(plan, style), style),
        *section("If prices or assumptions move", price_lines(plan), style),
        *section("Rent or buy", rent_or_buy_lines(plan.rent_or_buy, style), style),
        *section("Aggregated or disaggregated", pool_lines(plan, style), style),
        *section("Three answers", _answers(plan, style), style),
        *section("Next best", _alternatives(plan, style), style),
        *section("If things were different", sensitivity_lines(plan), style),
    ]


def _headline(plan: Plan, style: Style) -> list[str]:
    bought = wrapped(purchase(plan.bill_of_materials), indent="", hanging="      ")
    first, *rest = bought or ["nothing"]
    lines = [style.head("Plan  ") + style.head(first), *rest]
    lines += [
        f"      {deployment_line(each, plan.request.engine_name)}"
        for each in plan.deployments
    ]
    lines.append(
        f"      {style.head(_cost_of_budget(plan))}   {proof(plan, style)}"
        f"{oldest(plan.oldest_price_date)}"
    )
    for each in plan.deployments:
        steady = f"{speed(each.evaluation, each.replicas)}{_over_target(plan)}"
        lines.append(f"      {promised_speed(plan, each) or steady}")
        lines.append(f"      {_served(plan, each)}")
    return lines


def _cost_of_budget(plan: Plan) -> str:
    """Say what it costs, in the money that was asked about, and of what budget."""
    request = plan.request
    price = money(plan.price_usd, rough=is_rough(plan.bill_of_materials))
    if not request.hourly:
        budget = request.budget_usd
        return price + (f" of {money(budget)}" if budget else "")
    said = money_per_hour(plan.cost.usd_per_hour)
    if request.budget_usd_per_hour:
        said += f" of {money_per_hour(request.budget_usd_per_hour)}"
    if plan.price_usd:
        said += f", of it a purchase of {price}"
        said += f" of {money(request.budget_usd)}" if request.budget_usd else ""
    return said


def _served(plan: Plan, deployment: Deployment) -> str:
    """Say for how many users at once, and with how much context each."""
    users = deployment.users
    context = plan.request.context_tokens
    full = f" with {count(context)} tokens of context each" if context else ""
    return f"{count(users)} users at the same time{full}"


def _over_target(plan: Plan) -> str:
    """Say by how much the speed exceeds what was asked for."""
    target = plan.request.target_tokens_per_second
    reached = plan.deployments[0].evaluation.decode.tokens_per_second_per_user
    if not target or reached is None:
        return ""
    return f"   (target {target:.4g}, {share(reached / target - 1)})"


def proof(plan: PlanDocument, style: Style) -> str:
    """Say what is proven of the choice."""
    if plan.status == "optimal":
        return style.good(_PROVEN[plan.objective])
    if plan.gap is None:
        return style.warn("BEST FOUND, NOT PROVEN")
    said = style.warn(f"BEST FOUND, WITHIN {plan.gap:.1%} OF THE BEST POSSIBLE")
    if plan.bound_usd is not None:
        said += f", no purchase is below {money(plan.bound_usd)}"
    if plan.bound_usd_per_hour is not None:
        said += f", nothing is below {money_per_hour(plan.bound_usd_per_hour)}"
    return said


def _figures(plan: Plan) -> list[str]:
    several, engine = len(plan.deployments) > 1, plan.request.engine_name
    return [
        line
        for deployment in plan.deployments
        for line in [
            "",
            *([f" {deployment_line(deployment, engine)}"] if several else []),
            *figure_lines(deployment.evaluation),
            *latency_lines(deployment.evaluation),
        ]
    ]


def _paid(each: Answer | Alternative, *, hourly: bool) -> str:
    if hourly:
        return money_per_hour(each.usd_per_hour)
    return money(each.price_usd, rough=is_rough(each.bill_of_materials))


def _answers(plan: Plan, style: Style) -> list[str]:
    answers, hourly = plan.answers, plan.request.hourly
    titled = (
        ("cheapest", answers.cheapest),
        ("most throughput", answers.throughput),
        ("lowest cost per token", answers.cost_per_token),
    )
    rows = [
        (
            title,
            _paid(answer, hourly=hourly),
            rate(answer.tokens_per_second_per_user),
            rate(answer.tokens_per_second),
            money_per_million(answer.usd_per_million_tokens),
            answer.summary
            or purchase(answer.bill_of_materials)
            or "no purchase meets the question",
        )
        for title, answer in titled
        if answer is not None
    ]
    if not rows:
        return []
    header = (
        "",
        "cost" if hourly else "price",
        "tok/s/user",
        "tok/s",
        "$/Mtok",
        "with",
    )
    lines = table(header, rows, "<>>>><", style=style)
    if plan.request.percentile is not None:
        lines += wrapped(STEADY)
    return lines


def _alternatives(plan: Plan, style: Style) -> list[str]:
    rows = [
        (
            each.summary,
            _paid(each, hourly=plan.request.hourly),
            rate(each.tokens_per_second_per_user),
            rate(each.tokens_per_second),
            each.why_not,
        )
        for each in plan.alternatives
    ]
    if not rows:
        return []
    paid = "cost" if plan.request.hourly else "price"
    header = ("", paid, "tok/s/user", "tok/s", "why not")
    return table(header, rows, "<>>><", style=style)


def sensitivity_lines(plan: PlanDocument) -> list[str]:
    """List what the answer becomes when one thing is different."""
    return [
        line
        for each in plan.sensitivity
        for line in wrapped(f"{each.change}: {each.result}", hanging="    ")
    ]


def epilogue(plan: PlanDocument, style: Style, saved: str | Path | None) -> list[str]:
    """Say what was assumed, how sure it is, and what was looked at."""
    warnings = warning_lines(plan.warnings, style)
    accuracy = [plan.accuracy.statement] if plan.accuracy else []
    return [
        *section("Assumed", assumed_lines(plan.assumed), style),
        *section(
            "How sure",
            [line for text in accuracy for line in wrapped(text)],
            style,
        ),
        *([""] if warnings else []),
        *warnings,
        "",
        *_done(plan, saved),
    ]


def _done(plan: PlanDocument, saved: str | Path | None) -> list[str]:
    search = plan.search
    sentence = f"Done: {count(search.candidates_covered)} candidates covered"
    details = [f"{count(search.candidates_evaluated)} evaluated"]
    if search.candidates_pruned:
        details.append(f"{count(search.candidates_pruned)} pruned")
    details += [
        f"{count(number)} rejected for {reason}"
        for reason, number in sorted(search.rejected.items(), key=lambda each: -each[1])
    ]
    if search.seconds is not None:
        details.append(f"{search.seconds:.2f} s")
    if plan.assumptions:
        details.append(f"assumptions `{plan.assumptions}`")
    lines = wrapped(f"{sentence} ({', '.join(details)}).", indent="", hanging="  ")
    return [*lines, f"Saved {saved}."] if saved is not None else lines


def render_verification(
    plan: str | Path, problems: Sequence[Diagnostic], *, style: Style = PLAIN
) -> str:
    """Say whether a saved plan holds."""
    if problems:
        found = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        return f"{plan}: {style.bad('NOT VERIFIED')}, {found}"
    return f"{plan}: {style.good('VERIFIED')}, every figure computed again agrees"
