"""What selling tokens comes to: margin, the busy hours that break even, payback."""

from __future__ import annotations

import json
from typing import Any

import pytest

import planopt
from planopt.catalog.open import bundled_folder
from planopt.errors import InputError
from planopt.report.comparison import render_comparison
from planopt.report.money import money_per_hour
from planopt_reference import verify_plan

ASKED: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "target": "20tok/s",
    "concurrency": 32,
    "load": "steady",
    "isl": 300,
    "osl": 100,
}
PRICES = "in=$0.05,out=$0.20/Mtok"


def _sold(plan: planopt.Plan) -> tuple[float, float, float | None, float | None]:
    assert plan.sell is not None
    of = plan.sell
    return (
        of.revenue_usd_per_hour,
        of.margin_usd_per_hour,
        of.break_even_utilisation,
        of.payback_days,
    )


def test_answers_are_sold_with_their_prompts() -> None:
    plan = planopt.solve(**ASKED, sell=PRICES, duty="50%")
    revenue, margin, even, days = _sold(plan)
    speed = plan.totals.tokens_per_second
    assert speed is not None
    # Three tokens of a prompt are read for each of an answer, half of the hours.
    per_token = (0.20 + 3 * 0.05) / 1e6
    assert revenue == pytest.approx(speed * 3600 * 0.5 * per_token)
    assert plan.tco_usd_per_hour is not None
    assert margin == pytest.approx(revenue - plan.tco_usd_per_hour)
    assert plan.opex_usd_per_hour is not None
    assert plan.price_usd is not None
    earned = revenue - plan.opex_usd_per_hour
    assert days == pytest.approx(plan.price_usd / earned / 24)
    assert even is not None
    # Asked at the duty that breaks even, nothing is left.
    at_even = planopt.solve(**ASKED, sell=PRICES, duty=even)
    assert _sold(at_even)[1] == pytest.approx(0.0, abs=1e-6)
    assert planopt.verify(plan)


def test_below_cost_nothing_breaks_even() -> None:
    plan = planopt.solve(**ASKED, sell="out=0.001")
    _, margin, even, _ = _sold(plan)
    assert margin < 0
    assert even is None
    assert "never breaks even" in str(plan)


def test_a_comparison_says_what_selling_leaves_with_each() -> None:
    plans = planopt.compare(**ASKED, accelerators=["rtx-4090", "l40s"], sell=PRICES)
    shown = [line.split() for line in str(render_comparison(plans)).splitlines()]
    assert [line[1:] for line in shown if line[:1] == ["Margin"]] == [
        [money_per_hour(_sold(plans[0])[1]), "◂", money_per_hour(_sold(plans[1])[1])]
    ]
    assert any(line[:3] == ["Days", "to", "payback"] for line in shown)
    without = planopt.compare(**ASKED, accelerators=["rtx-4090"])
    assert "Margin" not in str(render_comparison(without))


def test_a_forged_margin_is_refused() -> None:
    plan = planopt.solve(**ASKED, sell=PRICES)
    for name in ("revenue_usd_per_hour", "margin_usd_per_hour", "payback_days"):
        document = json.loads(plan.to_json())
        document["sell"][name] *= 1.01
        told = verify_plan(document, bundled_folder())
        assert [each.field for each in told] == [f"sell.{name}"]


def test_only_prompts_and_answers_are_sold() -> None:
    with pytest.raises(InputError, match="unknown sell `output`"):
        planopt.solve(**ASKED, sell="output=$0.20/Mtok")
