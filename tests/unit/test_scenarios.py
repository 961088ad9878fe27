"""A plan beside its alternatives in drawn scenarios, and forgeries of what it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from forging import forged
from planopt._native import scenarios as native_scenarios
from planopt.catalog.open import bundled_folder
from planopt.errors import InputError
from planopt.report.page.tables import markdown
from planopt.report.plan import render_plan
from planopt_reference import verify_plan

if TYPE_CHECKING:
    from planopt.documents.plan import Plan


def solved(**changed: Any) -> Plan:
    return planopt.solve(
        "llama-3.1-8b",
        **{"target": "20tok/s", "load": "steady", "users": 32, **changed},
    )


@pytest.fixture(scope="module")
def plan() -> Plan:
    return solved(scenarios=200)


def refused(document: Any) -> str:
    return " ".join(each.field for each in verify_plan(document, bundled_folder()))


def test_a_plan_is_verified_with_its_scenarios(plan: Plan) -> None:
    told = plan.scenarios
    assert told is not None
    assert refused(json.loads(plan.to_json())) == ""
    own, *others = told.regret
    assert others, "there is something to choose from"
    assert (own.p_best, own.p_holds, own.cvar95_usd) == (
        *(told.p_best, told.p_holds),
        told.cvar95_usd,
    )
    shares = told.p_none_holds + sum(each.p_best for each in told.regret)
    assert shares == pytest.approx(1)
    for each in told.regret:
        assert each.p_best <= each.p_holds
        assert each.price_usd_p50 <= each.price_usd_p80 <= each.price_usd_p95
        assert each.price_usd_p95 <= each.cvar95_usd


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("scenarios.p_best", 0.99),
        ("scenarios.p_holds", 0.99),
        ("scenarios.p_none_holds", 0.0),
        ("scenarios.cvar95_usd", 1.0),
        ("scenarios.demand_spread", 0.0),
        ("scenarios.seed", 2),
        ("scenarios.drawn", 100),
        ("scenarios.regret[1].p_best", 0.99),
        ("scenarios.regret[1].regret_usd_p95", 0.0),
        ("scenarios.regret[1].accelerator", "h100-sxm"),
        ("scenarios.regret[1].summary", "something cheap"),
        ("scenarios", None),
        ("request.scenarios", None),
    ],
)
def test_no_forgery_passes(plan: Plan, field: str, value: object) -> None:
    assert "scenarios" in refused(forged(json.loads(plan.to_json()), field, value))


def test_the_same_question_has_the_same_scenarios(plan: Plan) -> None:
    assert solved(scenarios=200).scenarios == plan.scenarios


def test_scenarios_are_shown(plan: Plan) -> None:
    assert plan.scenarios is not None
    line = f"holds in ~{plan.scenarios.p_holds:.0%}"
    screen = str(render_plan(plan))
    assert line in screen
    assert len(screen.splitlines()) <= 24
    for text in (str(render_plan(plan, details=True)), markdown(plan)):
        assert "CVaR95" in text
    without = solved()
    assert without.scenarios is None
    assert "Scenarios" not in str(render_plan(without, details=True))


def test_runs_are_compared_at_the_demand_that_was_asked() -> None:
    plan = planopt.train("llama-2-7b", tokens="50B", deadline="30d", scenarios=200)
    assert plan.scenarios is not None
    assert plan.scenarios.demand_spread == 0
    assert len(plan.scenarios.regret) > 1
    assert refused(json.loads(plan.to_json())) == ""


@pytest.mark.parametrize("other", [{"procurement": "rent"}, {"objective": "latency"}])
def test_purchases_alone_are_compared(other: dict[str, str]) -> None:
    with pytest.raises(InputError, match="scenarios"):
        solved(scenarios=200, **other)


PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "promises.md"
UNITS, ROOM = 20, 1.105
"""Replicas of the plan that the page shows, and what they carry of what is asked."""
USUAL, SLOW, FAST = 1.0, 0.7236, 1.1509
"""Measured over predicted of RTX 4090s with dense models: middle, and ends of 80 %."""


def test_errors_of_each_unit_would_hide_the_tail() -> None:
    """One plan, its units once of one kind and once of as many: the page has both."""

    def risk(kinds: int) -> dict[str, float]:
        runs = [(each % kinds, None, ROOM / UNITS) for each in range(UNITS)]
        asked = {
            "scenarios": 10_000,
            "seed": 1,
            "demand_varies": False,
            "parts": [("all of it", False)],
            "kinds": [(str(each), USUAL, SLOW, FAST) for each in range(kinds)],
            "plans": [{"lines": [(0, 100.0)], "runs": runs, "most": None}],
        }
        told = json.loads(native_scenarios(json.dumps(asked).encode()))
        one: dict[str, float] = told["plans"][0]
        return one

    page = PAGE.read_text("utf-8")
    for name, kinds in (("one for all", 1), ("one each", UNITS)):
        drawn = risk(kinds)
        tail = f"{drawn['price_usd_p95']:.0f} | {drawn['cvar95_usd']:.0f}"
        assert f"| {name} | {drawn['p_holds']:.1%} | {tail} |" in page
