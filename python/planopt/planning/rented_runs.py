"""Runs on rented instances, beside the cluster that is bought."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planopt._native import capital_usd_per_hour
from planopt.documents.training import RentedRun, Renting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.catalog.open import Catalog
    from planopt.training.build import TrainingBuild
    from planopt.training.problem import TrainingProblem

__all__ = ["renting"]

SECONDS_PER_HOUR = 3600
HOURS_PER_DAY = 24
MICRO_USD = 10**6


def renting(
    catalog: Catalog, problem: TrainingProblem, bought: TrainingBuild | None
) -> Renting | None:
    """Find the cheapest runs on rented instances, where they are asked about."""
    if problem.acquisition.way != "both" or problem.deadline_seconds is None:
        return None
    # What limits a purchase does not limit rent.
    rented = replace(
        problem,
        acquisition=replace(problem.acquisition, way="rent"),
        objective="cheapest",
        budget_usd=None,
        max_power_watts=None,
        max_racks=None,
        stock={},
        hosts=(),
        networks=(),
        redundancy=None,
    )
    asked = rented.native(catalog)
    columns = catalog.ask("search_training", asked)["clusters"]
    cells = zip(*columns.values(), strict=True)
    runs = sorted(
        (_run(dict(zip(columns, cell, strict=True))) for cell in cells),
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


def _run(cell: Mapping[str, Any]) -> RentedRun:
    hours = cell["run_seconds"] / SECONDS_PER_HOUR
    usd_per_hour = cell["price_micro_usd"] / MICRO_USD
    names = ("accelerator", "accelerators", "tp", "pp", "dp", "cp", "ep", "shard")
    return RentedRun(
        instance=cell["host"],
        instances=cell["hosts"],
        days=hours / HOURS_PER_DAY,
        usd_per_hour=usd_per_hour,
        run_usd=hours * usd_per_hour,
        **{name: cell[name] for name in names},
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
    years = catalog.native.cost_assumptions()["years"]
    written_off = capital_usd_per_hour(bought.price_usd, years)
    hours = bought.evaluation.days * HOURS_PER_DAY
    running = run.usd - written_off * hours
    saved = rented.run_usd - running
    return bought.price_usd / saved if saved > 0 else None
