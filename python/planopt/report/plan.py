"""A plan on the screen, serving or training: the answer, why, and what else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.infeasible import infeasible
from planopt.report.numbers import (
    count,
    days,
    money,
    money_per_hour,
    money_per_million,
    percent,
    rate,
)
from planopt.report.parts import (
    assumed,
    bill,
    cost,
    deployment_line,
    figures,
    latencies,
    not_considered,
    oldest,
    price,
    purchase,
    speed,
    warnings,
)
from planopt.report.pools import pools
from planopt.report.promised import (
    over_target,
    promised_speed,
)
from planopt.report.renting import prices, rent_or_buy, rented_runs, steps
from planopt.report.style import bad, good, head, warn
from planopt.report.table import Report, Section, Sentence, Table, listed
from planopt.report.training import (
    run,
    training_figures,
    training_layout,
    training_speed,
)
from planopt.units import SECONDS_PER_DAY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from planopt.documents.evaluation import Deployment
    from planopt.documents.explanations import Alternative, Answer, TrainingAlternative
    from planopt.documents.plan import Plan, PlanDocument, TrainingPlan
    from planopt.errors import Diagnostic
    from planopt.report.table import Block

_PROVEN = {
    "cheapest": "PROVEN CHEAPEST",
    "throughput": "PROVEN MOST THROUGHPUT",
    "cost-per-token": "PROVEN LOWEST COST PER TOKEN",
    "latency": "PROVEN FASTEST PER USER",
}

_STEADY = (
    "speeds and $/Mtok of this table and the next are those of a steady step at full "
    "context, without prompts between; the plan's own above are under its load"
)

_MARGIN = " " * 6


def render_plan(
    plan: Plan | TrainingPlan, *, saved: str | Path | None = None
) -> Report:
    """Lay a plan out for a terminal, feasible or not, and say where it was saved."""
    body = _training(plan) if plan.kind == "training" else _serving(plan)
    return Report(*body, *_epilogue(plan, saved))


def _serving(plan: Plan) -> list[Block]:
    pooled = Section("Colocated or disaggregated", *pools(plan))
    if plan.status == "infeasible":
        return [*infeasible(plan), pooled]
    layouts, several = laid_out(plan), len(plan.deployments) > 1
    return [
        *_bought(plan),
        *(f"{_MARGIN}{layout}" for layout in layouts),
        _paid_and_proven(plan, _of_budget(plan)),
        *(line for each in plan.deployments for line in _speed(plan, each)),
        *(
            block
            for each, layout in zip(plan.deployments, layouts, strict=True)
            for block in (
                "",
                *([f" {layout}"] if several else []),
                *figures(each.evaluation),
                *latencies(each.evaluation),
            )
        ),
        "",
        bill(plan.bill_of_materials),
        *cost(
            plan.cost,
            plan.power_watts,
            rented=plan.price_usd == 0,
            kg_co2e_per_year=plan.kg_co2e_per_year,
        ),
        Section("A step of each limit", steps(plan)),
        Section("If prices or assumptions move", *prices(plan)),
        Section("Rent or buy", *rent_or_buy(plan.rent_or_buy)),
        pooled,
        Section("Best by objective", *_answers(plan)),
        Section("Alternatives", _alternatives(plan)),
        _flips(plan),
    ]


def _training(plan: TrainingPlan) -> list[Block]:
    heterogeneous = Section(
        "All of them in one run", _clusters(plan.heterogeneous, "limits")
    )
    rented = Section("Rented instead, on demand", *rented_runs(plan.renting))
    if plan.status == "infeasible":
        return [*infeasible(plan), heterogeneous, rented]
    of = " for the run" if plan.request.acquire == "rent" else ""
    budget, deadline = plan.request.budget_usd, plan.request.deadline_seconds
    of += f" of {money(budget)}" if budget is not None else ""
    by = f" (deadline {days(deadline / SECONDS_PER_DAY)})" if deadline else ""
    return [
        *_bought(plan),
        *(Sentence(layout, _MARGIN) for layout in laid_out(plan)),
        _paid_and_proven(plan, price(plan) + of),
        *(
            f"{_MARGIN}{training_speed(each.evaluation)}{by}"
            for each in plan.deployments
        ),
        *(
            block
            for each in plan.deployments
            for block in ("", *training_figures(each.evaluation), *run(each.evaluation))
        ),
        "",
        bill(plan.bill_of_materials),
        Section("Alternatives by hardware", _clusters(plan.alternatives, "why not")),
        heterogeneous,
        rented,
        _flips(plan),
    ]


# --- The headline ---------------------------------------------------------------------


def laid_out(plan: Plan | TrainingPlan) -> list[str]:
    """Say of each deployment what runs there, and how it is laid out."""
    if plan.kind == "training":
        deployed = plan.deployments
        return [f"{each.model}, {training_layout(each.candidate)}" for each in deployed]
    engine = plan.request.engine_name
    return [deployment_line(each, engine) for each in plan.deployments]


def _bought(plan: PlanDocument) -> list[Block]:
    bought = purchase(plan.bill_of_materials) or "nothing"
    return [
        Sentence(bought, "", _MARGIN, first=lambda line: head("Plan  ") + head(line))
    ]


def _paid_and_proven(plan: PlanDocument, paid: str) -> str:
    dated = oldest(plan.oldest_price_date)
    return f"{_MARGIN}{head(paid)}   {proof(plan)}{dated}"


def _of_budget(plan: Plan) -> str:
    """Say what it costs, in the money that was asked about, and of what budget."""
    request = plan.request
    of = f" of {money(request.budget_usd)}" if request.budget_usd else ""
    if not request.hourly:
        return f"{price(plan)}{of}"
    said = money_per_hour(plan.cost.usd_per_hour)
    if request.budget_usd_per_hour:
        said += f" of {money_per_hour(request.budget_usd_per_hour)}"
    return f"{said}, of it a purchase of {price(plan)}{of}" if plan.price_usd else said


def proof(plan: PlanDocument) -> str:
    """Say what is proven of the choice."""
    if plan.status == "optimal":
        return good(_PROVEN[plan.objective])
    if plan.gap is None:
        return warn("BEST FOUND, NOT PROVEN")
    said = warn(f"BEST FOUND, WITHIN {plan.gap:.1%} OF THE BEST POSSIBLE")
    if plan.bound_usd is not None:
        said += f", no purchase is below {money(plan.bound_usd)}"
    if plan.bound_usd_per_hour is not None:
        said += f", nothing is below {money_per_hour(plan.bound_usd_per_hour)}"
    return said


def _speed(plan: Plan, each: Deployment) -> list[str]:
    """Say how fast it is, for how many users at once, and with how much context."""
    first = plan.deployments[0].evaluation.decode.tokens_per_second_per_user
    steady = f"{speed(each.evaluation, each.replicas)}{over_target(plan, first)}"
    context = plan.request.context_tokens
    full = f" with {count(context)} tokens of context each" if context else ""
    return [
        f"{_MARGIN}{promised_speed(plan, each) or steady}",
        f"{_MARGIN}{count(each.users)} users at the same time{full}",
    ]


# --- What else was possible -----------------------------------------------------------


def _paid(each: Answer | Alternative, *, hourly: bool) -> str:
    return money_per_hour(each.usd_per_hour) if hourly else price(each)


def _answers(plan: Plan) -> list[Block]:
    answers, hourly = plan.answers, plan.request.hourly
    titled = {
        "cheapest": answers.cheapest,
        "most throughput": answers.throughput,
        "lowest cost per token": answers.cost_per_token,
    }
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
        for title, answer in titled.items()
        if answer is not None
    ]
    paid = ">cost" if hourly else ">price"
    titles = ("", paid, ">tok/s/user", ">tok/s", ">$/Mtok", "with")
    noted = [Sentence(_STEADY)] if rows and plan.request.percentile is not None else []
    return [Table(titles, rows), *noted]


def _alternatives(plan: Plan) -> Table:
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
    paid = ">cost" if plan.request.hourly else ">price"
    return Table(("", paid, ">tok/s/user", ">tok/s", "why not"), rows)


def _clusters(clusters: Sequence[TrainingAlternative], last: str) -> Table:
    rows = [
        (
            each.summary,
            count(each.accelerators),
            price(each, whole=True),
            days(each.days),
            percent(each.mfu),
            money(each.run_usd, whole=True),
            each.why_not,
        )
        for each in clusters
    ]
    return Table(("", ">number", ">price", ">days", ">MFU", ">the run", last), rows)


def _flips(plan: PlanDocument) -> Section:
    """List what the answer becomes when one thing is different."""
    flips = (f"{each.change}: {each.result}" for each in plan.sensitivity)
    return Section("Sensitivity", *listed(flips))


# --- What was assumed, and what was looked at -----------------------------------------


def _epilogue(plan: PlanDocument, saved: str | Path | None) -> list[Block]:
    search = plan.search
    details = [f"{count(search.candidates_evaluated)} evaluated"]
    if search.candidates_pruned:
        details.append(f"{count(search.candidates_pruned)} pruned")
    rejected = sorted(search.rejected.items(), key=lambda each: -each[1])
    details += [f"{count(number)} rejected for {reason}" for reason, number in rejected]
    if search.seconds is not None:
        details.append(f"{search.seconds:.2f} s")
    if plan.assumptions:
        details.append(f"assumptions `{plan.assumptions}`")
    done = f"Done: {count(search.candidates_covered)} candidates covered"
    return [
        assumed(plan.assumed),
        not_considered(plan.not_considered),
        Section(
            "80 % prediction interval",
            Sentence(plan.accuracy.statement if plan.accuracy else ""),
        ),
        warnings(plan.warnings),
        "",
        Sentence(f"{done} ({', '.join(details)}).", "", "  "),
        *([f"Saved {saved}."] if saved is not None else []),
    ]


def render_verification(
    plan: str | Path, problems: Sequence[Diagnostic], computed: str
) -> Report:
    """Say whether a saved plan holds, and what of it was computed again."""
    if problems:
        found = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        return Report(f"{plan}: {bad('NOT VERIFIED')}, {found}", computed)
    agrees = "every figure computed again agrees"
    return Report(f"{plan}: {good('VERIFIED')}, {agrees}", computed)
