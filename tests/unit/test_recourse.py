"""Two stages: for how much demand to buy now, where the rest can follow."""

from __future__ import annotations

from typing import Any

import pytest

import planopt
from planopt.errors import InputError
from planopt.report.plan import render_plan

ASKED: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "target": "10tok/s",
    "concurrency": 400,
    "accelerators": "rtx-4090",
    "host": "pcie-8gpu",
    "load": "steady",
    "scenarios": 200,
    "time_limit": "60s",
}


def test_what_is_bought_now_carries_what_is_asked_now() -> None:
    plan = planopt.solve(**ASKED, recourse="buy")
    told = plan.recourse

    assert told is not None
    assert told.rent_usd is None
    first, *others = told.stages
    assert (first.demand, first.price_usd) == (1.0, plan.price_usd)
    assert [each.demand for each in others] == [1.1, 1.25, 1.5, 2.0]
    prices = [each.price_usd for each in told.stages]
    later = [each.p_later for each in told.stages]
    assert prices == sorted(prices)
    assert later == sorted(later, reverse=True)
    # What is the same purchase is missing the same.
    by_price: dict[float, set[float]] = {}
    for each in told.stages:
        by_price.setdefault(each.price_usd, set()).add(each.p_later)
    assert all(len(each) == 1 for each in by_price.values())
    assert len(by_price) < len(told.stages)
    assert told.best == min(told.stages, key=lambda each: each.expected_usd).demand
    assert all(each.cvar95_usd >= each.expected_usd for each in told.stages)
    assert "Recourse" in str(render_plan(plan))
    assert not planopt.verify(plan).mismatches


def test_rent_beside_it_costs_what_the_missing_share_of_it_does() -> None:
    bought = planopt.solve(**ASKED, recourse="buy").recourse
    rented = planopt.solve(**ASKED, recourse="rent").recourse

    assert bought is not None
    assert rented is not None
    assert rented.rent_usd is not None
    # The same worlds, and the same is missing in them.
    assert [e.p_later for e in rented.stages] == [e.p_later for e in bought.stages]
    dearer = planopt.solve(**ASKED, recourse="rent", electricity="$0.5/kWh").recourse
    assert dearer is not None
    # What is rented pays for its electricity.
    assert (dearer.rent_usd or 0.0) < rented.rent_usd


def test_without_scenarios_it_is_refused() -> None:
    with pytest.raises(InputError, match="scenarios"):
        planopt.solve(**{**ASKED, "scenarios": None}, recourse="buy")
