"""A plan on the screen, serving or training: the answer, why, and what else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.price_sources import is_rough
from planopt.report.first import first_screen
from planopt.report.infeasible import nearest
from planopt.report.numbers import (
    UNKNOWN,
    count,
    days,
    many,
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
    latencies,
    not_considered,
    price,
    prompt_line,
    purchase,
    time_and_memory,
    warnings,
)
from planopt.report.pools import pools
from planopt.report.renting import prices, rent_or_buy, rented_runs, steps
from planopt.report.screen import whole
from planopt.report.style import bad, good
from planopt.report.sureness import measuring, risks
from planopt.report.table import Report, Section, Sentence, Table, listed
from planopt.report.training import run, training_layout

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from planopt.documents.explanations import Alternative, Answer, TrainingAlternative
    from planopt.documents.plan import Plan, PlanDocument, TrainingPlan
    from planopt.errors import Diagnostic
    from planopt.report.table import Block

_STEADY = (
    "speeds and $/Mtok of this table and the next are those of a steady step at full "
    "context, without prompts between; the plan's own above are under its load"
)


def render_plan(
    plan: Plan | TrainingPlan,
    *,
    saved: str | Path | None = None,
    details: bool = False,
) -> Report:
    """Lay the first screen of a plan out, or all that is known of it."""
    if not details:
        return Report(first_screen(plan, saved))
    every: list[Block]
    every = _training(plan) if plan.kind == "training" else _serving(plan)
    return Report(*first_screen(plan, saved).whole(), *every, *_epilogue(plan))


def _serving(plan: Plan) -> list[Block]:
    pooled = Section("Colocated or disaggregated", *pools(plan))
    if plan.status == "infeasible":
        return [_nearest(plan), pooled]
    several = len(plan.deployments) > 1
    return [
        *(
            block
            for each, layout in zip(plan.deployments, laid_out(plan), strict=True)
            for block in (
                "",
                Sentence(layout, " "),
                *(whole(time_and_memory(each.evaluation)) if several else ()),
                prompt_line(each.evaluation).whole(),
                *latencies(each.evaluation),
            )
        ),
        "",
        bill(plan.bill_of_materials),
        *cost(plan.cost, plan.kg_co2e_per_year),
        Section("A step of each limit", steps(plan)),
        Section("If prices or assumptions move", *prices(plan)),
        Section("Rent or buy", *rent_or_buy(plan.rent_or_buy)),
        pooled,
        Section("Best by objective", *_answers(plan)),
        Section("Alternatives", _alternatives(plan)),
        _scenarios(plan),
        _flips(plan),
    ]


def _nearest(plan: PlanDocument) -> Block:
    return Section("Nearest changes", nearest(plan, wraps=True))


def _training(plan: TrainingPlan) -> list[Block]:
    return [
        _nearest(plan),
        *(Section("", *run(each.evaluation)) for each in plan.deployments),
        Section("", *([bill(plan.bill_of_materials)] if plan.deployments else [])),
        Section("Alternatives by hardware", _clusters(plan.alternatives, "why not")),
        Section("Batches of the range", *_batches(plan)),
        _scenarios(plan),
        Section("All of them in one run", _clusters(plan.heterogeneous, "limits")),
        Section("Rented instead, on demand", *rented_runs(plan.renting)),
        _flips(plan),
    ]


def laid_out(plan: Plan | TrainingPlan) -> list[str]:
    """Say of each deployment what runs there, and how it is laid out."""
    if plan.kind == "training":
        deployed = plan.deployments
        return [f"{each.model}, {training_layout(each.candidate)}" for each in deployed]
    engine = plan.request.engine_name
    return [deployment_line(each, engine) for each in plan.deployments]


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


def _batches(plan: TrainingPlan) -> list[Block]:
    """Show what each batch needs in tokens, and comes to."""
    batches, rough = plan.batches, is_rough(plan.bill_of_materials)
    if batches is None:
        return []
    rows = [
        (
            count(each.global_batch),
            many(each.tokens),
            UNKNOWN if each.days is None else days(each.days),
            money(each.price_usd, rough=rough, whole=True),
        )
        for each in batches.tried
    ]
    critical = f"{many(batches.critical_batch_tokens)}, {batches.critical_batch_source}"
    said = (
        f"tokens to the same loss grow by 1 + batch / critical batch ({critical}; "
        f"--critical-batch); those asked for are of {count(batches.stated_batch)} "
        "sequences a step"
    )
    return [Table((">sequences", ">tokens", ">days", ">price"), rows), Sentence(said)]


def _scenarios(plan: PlanDocument) -> Section:
    told = () if plan.scenarios is None else risks(plan.scenarios)
    measured = measuring(plan.worth_measuring) if plan.worth_measuring else ()
    return Section("Scenarios", *told, *measured)


def _flips(plan: PlanDocument) -> Section:
    """List what the answer becomes when one thing is different."""
    flips = (f"{each.change}: {each.result}" for each in plan.sensitivity)
    return Section("Sensitivity", *listed(flips))


# --- What was assumed, and what was looked at -----------------------------------------


def _epilogue(plan: PlanDocument) -> list[Block]:
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
            "80% prediction interval",
            Sentence(plan.accuracy.statement if plan.accuracy else ""),
        ),
        warnings(plan.warnings),
        "",
        Sentence(f"{done} ({', '.join(details)}).", "", "  "),
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
