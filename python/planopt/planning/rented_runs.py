"""Runs on rented instances, beside the cluster that is bought."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt._native import capital_usd_per_hour
from planopt.documents.training import RentedRun, Renting
from planopt.options import Edit
from planopt.units import HOURS_PER_DAY, SECONDS_PER_HOUR

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog
    from planopt.planning.question import TrainingQuestion
    from planopt.procurement.found import ListedRuns
    from planopt.training.build import TrainingBuild


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


def _run(found: ListedRuns, row: int) -> RentedRun:
    hours = found.run_seconds[row] / SECONDS_PER_HOUR
    usd_per_hour = found.usd_per_hour[row]
    return RentedRun(
        instance=found.host[row],
        instances=found.hosts[row],
        accelerator=found.accelerator[row],
        accelerators=found.accelerators[row],
        tp=found.tp[row],
        pp=found.pp[row],
        dp=found.dp[row],
        cp=found.cp[row],
        ep=found.ep[row],
        shard=found.shard[row],
        days=hours / HOURS_PER_DAY,
        usd_per_hour=usd_per_hour,
        run_usd=hours * usd_per_hour,
    )


def _break_even(
    catalog: Catalog, bought: TrainingBuild | None, rented: RentedRun
) -> float | None:
    """Say after how many such runs owning has cost less; none if it never does."""
    if bought is None:
        return None
    run = bought.evaluation.run
    if run.usd is None or bought.evaluation.days is None:
        return None
    years = catalog.cost.years
    written_off = capital_usd_per_hour(bought.price_usd, years)
    hours = bought.evaluation.days * HOURS_PER_DAY
    running = run.usd - written_off * hours
    saved = rented.run_usd - running
    return bought.price_usd / saved if saved > 0 else None
