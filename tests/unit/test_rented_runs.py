"""Runs on rented instances beside a purchase."""

from __future__ import annotations

from math import isclose
from typing import Any

import pytest

import planopt
from planopt.catalog.open import open_catalog
from planopt.errors import InputError
from planopt.report.plan import render_plan

QUESTION: dict[str, Any] = {
    "model": "llama-3-8b",
    "tokens": "100B",
    "deadline": "30d",
    "accelerators": "a100-sxm-80,h100-sxm",
}


def test_the_cheapest_rented_run_of_each_accelerator_stands_beside_the_purchase() -> (
    None
):
    plan = planopt.train(**QUESTION, procurement="both")
    bought = planopt.train(**QUESTION)

    assert plan.bill_of_materials == bought.bill_of_materials
    assert bought.renting is None
    assert plan.renting is not None
    runs = plan.renting.runs
    assert {run.accelerator for run in runs} == {"a100-sxm-80", "h100-sxm"}
    assert list(runs) == sorted(runs, key=lambda run: run.run_usd)
    offers = {each.id for each in open_catalog().list("offers")}
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
    plan = planopt.train(**QUESTION, budget="$1000", procurement="both")

    assert plan.status == "infeasible"
    assert plan.renting is not None
    assert plan.renting.runs
    assert plan.renting.break_even_runs is None
    assert "Rented instead" in str(render_plan(plan, details=True))


def test_a_run_may_be_rented_instead() -> None:
    beside = planopt.train(**QUESTION, procurement="both").renting
    plan = planopt.train(**QUESTION, procurement="rent")

    assert plan.status == "optimal"
    assert beside is not None
    assert plan.price_usd == pytest.approx(beside.runs[0].run_usd, abs=1e-6)
    (deployment,) = plan.deployments
    evaluation = deployment.evaluation
    assert deployment.hardware.terms == "on-demand"
    assert deployment.hardware.host == beside.runs[0].instance
    assert evaluation.days is not None
    hours = evaluation.days * 24
    assert hours <= 30 * 24
    (line,) = plan.bill_of_materials
    assert line.kind == "instance"
    assert line.usd_per_hour is not None
    assert isclose(evaluation.run.usd or 0.0, hours * line.usd_per_hour)
    # Its power is somebody else's.
    assert plan.power_watts is None
    assert evaluation.run.energy_kwh is None


def test_of_offers_that_are_alike_the_best_is_the_best_of_each_alone() -> None:
    question = {**QUESTION, "accelerators": "h100-sxm", "procurement": "rent"}
    regions = ("eastus", "koreacentral", "japaneast", "centralus")

    plans = [planopt.train(**question, region=region) for region in regions]
    alone = {plan.price_usd for plan in plans}
    together = planopt.train(**question, region=",".join(regions))

    assert len(alone) > 1
    assert together.price_usd == min(filter(None, alone))


def test_a_budget_of_a_rented_run_is_a_sum() -> None:
    cheapest = planopt.train(**QUESTION, procurement="rent")
    assert cheapest.price_usd is not None
    within = 10 * cheapest.price_usd
    open_end = {name: QUESTION[name] for name in ("model", "tokens", "accelerators")}

    fastest = planopt.train(**open_end, procurement="rent", budget=within)

    assert fastest.objective == "throughput"
    assert fastest.price_usd is not None
    assert cheapest.price_usd <= fastest.price_usd <= within
    first, second = fastest.deployments[0], cheapest.deployments[0]
    assert (first.evaluation.days or 0.0) < (second.evaluation.days or 0.0)


def test_a_longer_deadline_never_makes_a_rented_run_dearer() -> None:
    prices = [
        planopt.train(**{**QUESTION, "deadline": days}, procurement="rent").price_usd
        for days in ("2d", "5d", "30d", "90d")
    ]
    assert prices == sorted(prices, key=lambda price: -(price or 0.0))


def test_where_nothing_is_rented_out_in_time_there_is_the_nearest_change() -> None:
    plan = planopt.train(
        **{**QUESTION, "deadline": "2h"}, procurement="rent", provider="hyperstack"
    )

    assert plan.status == "infeasible"
    assert plan.infeasibility is not None
    assert "places" in [limit.name for limit in plan.infeasibility.binding]
    proposed = [set(change.options) for change in plan.infeasibility.nearest]
    assert {"deadline"} in proposed
    assert {"provider", "provider_class", "region"} in proposed


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": "$12/h"},
        {"network": "infiniband-200g"},
        {"stock": "h100-sxm=8"},
        {"redundancy": 0},
    ],
)
def test_what_only_a_purchase_has_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="E004"):
        planopt.train(**QUESTION, procurement="rent", **wrong)


def test_places_to_rent_in_are_no_limits_of_a_purchase() -> None:
    with pytest.raises(InputError, match="E004"):
        planopt.train(**QUESTION, provider="hyperstack")
