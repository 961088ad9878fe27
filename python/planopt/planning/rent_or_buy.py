"""Renting against owning: the cheapest of each way, of what serves and of runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from planopt._native import break_even_days as native_break_even_days
from planopt._native import break_even_duty as native_break_even_duty
from planopt._native import capital_usd_per_hour, parse_quantity
from planopt.catalog.entries import CostAssumptions, Figure
from planopt.catalog.open import Catalog
from planopt.documents.explanations import RentOrBuy, Way
from planopt.documents.training import RentedRun, Renting
from planopt.money import of_deployments, price_of_an_hourly_dollar
from planopt.options import Edit
from planopt.planning.alternatives import figures_of
from planopt.planning.question import ServingQuestion, TrainingQuestion
from planopt.price_sources import is_rough
from planopt.procurement.problem import ListedRuns
from planopt.serving.build import Build
from planopt.serving.question_types import Problem
from planopt.training.build import TrainingBuild
from planopt.units import HOURS_PER_DAY, SECONDS_PER_HOUR


def rent_or_buy(question: ServingQuestion, chosen: Build) -> RentOrBuy | None:
    """Put both ways side by side, where renting was asked about."""
    if not question.problem.hourly:
        return None
    owned: Build | None = chosen
    rented: Build | None = chosen
    if not chosen.rented:
        rented = question.about(procurement="rent").best()
    if any(each.hardware.terms for each in chosen.deployments):
        owned = question.about(procurement="own").best()
    cost, falls = question.catalog.cost, question.problem.price_drift
    told = RentOrBuy(
        years=cost.years,
        duty=cost.duty,
        rent=_way(rented),
        buy=_way(owned),
        **_hosted_prices(question.catalog, question.problem),
    )
    if rented is None or owned is None:
        return told
    return replace(
        told,
        break_even_days=_break_even_days(cost, rented, owned, falls or 0.0),
        # Of rents that stay what they are.
        break_even_duty=None if falls else _break_even_duty(cost, rented, owned),
        rents_fall_a_year=falls,
    )


def _way(build: Build | None) -> Way | None:
    if build is None:
        return None
    told = figures_of(build)
    own = {name: told[name] for name in Way.__struct_fields__ if name in told}
    return Way(**own, price_is_rough=is_rough(build.bill_of_materials))


def _break_even_days(
    cost: CostAssumptions, rented: Build, owned: Build, falls: float
) -> float | None:
    """Day on which the purchase and its running cost are what rent has come to."""
    written_off = owned.price_usd / (price_of_an_hourly_dollar(cost) or float("inf"))
    running = owned.usd_per_hour - written_off
    return native_break_even_days(
        owned.price_usd,
        running * HOURS_PER_DAY,
        rented.usd_per_hour * HOURS_PER_DAY,
        falls,
    )


def _break_even_duty(
    cost: CostAssumptions, rented: Build, owned: Build
) -> float | None:
    """Share of busy hours at which both ways cost the same.

    What is paid whether busy or not, by commitment or as it does not go back, costs the
    same at any: then there is no such share.
    """
    terms = {each.hardware.terms for each in rented.deployments}
    if not terms <= {"on-demand", "spot"}:
        return None
    energy = of_deployments(cost, owned.deployments).get("electricity", 0.0)
    hour = rented.usd_per_hour / cost.paid_on_demand
    goes_back = hour * cost.regained
    always = owned.usd_per_hour - energy - (hour - goes_back)
    if always <= 0.0:
        return None
    return native_break_even_duty(always, energy / cost.duty, goes_back)


def _hosted_prices(catalog: Catalog, problem: Problem) -> dict[str, Any]:
    """Price a million output tokens, with their prompts, of this model or of any."""
    of_model: Mapping[str, Figure] = {}
    if problem.architecture is None:
        of_model = catalog.figures("models", problem.model)
    if "hosted.output" in of_model:
        read = problem.prompt_tokens / problem.output_tokens
        output, prompt = of_model["hosted.output"], of_model["hosted.input"]
        return {
            "hosted_usd_per_million_tokens": _usd(output) + read * _usd(prompt),
            "hosted_low_usd": _sum(output.low_usd, prompt.low_usd, read),
            "hosted_high_usd": _sum(output.high_usd, prompt.high_usd, read),
            "hosted_source": output.cite,
            "hosted_date": output.date,
        }
    cost = catalog.cost
    assumed = catalog.figures("assumptions", catalog.list("assumptions")[0].id)
    of_any = assumed.get("cost.hosted_million_tokens")
    return {
        "hosted_usd_per_million_tokens": cost.hosted_usd_per_million_tokens,
        "hosted_source": of_any and of_any.cite,
        "hosted_date": of_any and of_any.date,
    }


def _usd(figure: Figure) -> float:
    return parse_quantity(figure.text, "usd")


def _sum(output: float | None, prompt: float | None, read: float) -> float | None:
    """Add one end of both ranges, where both have it."""
    return None if output is None or prompt is None else output + read * prompt


RENTED = Edit(
    {"procurement": "rent", "objective": "cheapest"},
    # What limits a purchase does not limit rent.
    without=(
        *("budget", "max_power", "max_racks", "stock"),
        *("host", "network", "redundancy"),
    ),
)


def renting(question: TrainingQuestion, bought: TrainingBuild | None) -> Renting | None:
    """Find the cheapest runs on rented instances, where they are asked about."""
    problem, catalog = question.problem, question.catalog
    if problem.procurement != "both" or problem.deadline_seconds is None:
        return None
    found = question.edited(RENTED).found.runs()
    runs = sorted(
        (_run(found, row) for row in range(len(found.host))),
        key=lambda run: (run.run_usd, run.instance),
    )
    cheapest: dict[str, RentedRun] = {}
    for run in runs:
        cheapest.setdefault(run.accelerator, run)
    shown = tuple(cheapest.values())[: problem.top]
    return Renting(
        runs=shown,
        break_even_runs=_break_even(catalog, bought, shown[0]) if shown else None,
    )


_AS_FOUND = ("accelerator", "accelerators", "tp", "pp", "dp", "cp", "ep", "shard")


def _run(found: ListedRuns, row: int) -> RentedRun:
    hours = found.run_seconds[row] / SECONDS_PER_HOUR
    usd_per_hour = found.usd_per_hour[row]
    return RentedRun(
        instance=found.host[row],
        instances=found.hosts[row],
        days=hours / HOURS_PER_DAY,
        usd_per_hour=usd_per_hour,
        run_usd=hours * usd_per_hour,
        **{name: getattr(found, name)[row] for name in _AS_FOUND},
    )


def _break_even(
    catalog: Catalog, bought: TrainingBuild | None, rented: RentedRun
) -> float | None:
    """Say after how many such runs owning has cost less; none if it never does."""
    usd = None if bought is None else bought.evaluation.run.usd
    if bought is None or usd is None or bought.evaluation.days is None:
        return None
    written_off = capital_usd_per_hour(bought.price_usd, catalog.cost.years)
    running = usd - written_off * bought.days * HOURS_PER_DAY
    saved = rented.run_usd - running
    return bought.price_usd / saved if saved > 0 else None
