"""Runs on rented instances beside a purchase."""

from __future__ import annotations

from math import isclose

import pytest

import planopt
from planopt.catalog import open_catalog
from planopt.errors import InputError

QUESTION = {
    "model": "llama-3-8b",
    "tokens": "100B",
    "deadline": "30d",
    "accelerators": "a100-sxm-80,h100-sxm",
}


def test_the_cheapest_rented_run_of_each_accelerator_stands_beside_the_purchase() -> (
    None
):
    plan = planopt.train(**QUESTION, acquire="both")
    bought = planopt.train(**QUESTION)

    assert plan.bill_of_materials == bought.bill_of_materials
    assert bought.renting is None
    assert plan.renting is not None
    runs = plan.renting.runs
    assert {run.accelerator for run in runs} == {"a100-sxm-80", "h100-sxm"}
    assert list(runs) == sorted(runs, key=lambda run: run.run_usd)
    offers = {each["id"] for each in open_catalog().list("offers")}
    for run in runs:
        assert run.instance in offers
        assert run.days <= 30
        assert isclose(run.run_usd, run.usd_per_hour * run.days * 24)
    cheapest = runs[0].run_usd
    assert plan.price_usd is not None
    assert plan.renting.break_even_runs is not None
    # Electricity and hosting are paid for every own run too.
    assert plan.renting.break_even_runs > plan.price_usd / cheapest


def test_where_nothing_can_be_bought_rented_runs_are_still_shown() -> None:
    plan = planopt.train(**QUESTION, budget="$1000", acquire="both")

    assert plan.status == "infeasible"
    assert plan.renting is not None
    assert plan.renting.runs
    assert plan.renting.break_even_runs is None
    assert "Rented instead" in str(plan)


def test_a_plan_of_rented_instances_alone_is_refused() -> None:
    with pytest.raises(InputError, match="E004"):
        planopt.train(**QUESTION, acquire="rent")
