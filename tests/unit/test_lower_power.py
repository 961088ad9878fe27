"""Where power is short, cards below their own power are candidates too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import planopt
from planopt.catalog.entries import Pricing
from planopt.catalog.open import open_catalog

if TYPE_CHECKING:
    from planopt.documents.plan import Plan

FULL_WATTS = 450.0
"""Power of the card."""


def plan_within(max_power: str, **other: object) -> Plan:
    return planopt.solve(
        model="llama-3.1-8b",
        accelerators=["rtx-4090"],
        concurrency=24,
        target="25tok/s",
        load="steady",
        max_power=max_power,
        **other,  # type: ignore[arg-type]
    )


def test_a_card_that_draws_too_much_is_limited() -> None:
    plan = plan_within("400W")
    (deployment,) = plan.deployments
    name, _, limit = deployment.candidate.accelerator.partition("@")
    assert name == "rtx-4090"
    assert float(limit.removesuffix("W")) < FULL_WATTS
    assert plan.power_watts is not None
    assert plan.power_watts <= 400
    assert planopt.verify(plan)


def test_the_price_falls_with_the_power_there_is() -> None:
    prices = [plan_within(power).price_usd for power in ("400W", "800W", "4kW")]
    known = [price for price in prices if price is not None]
    assert len(known) == len(prices)
    assert known == sorted(known, reverse=True)


def test_limited_cards_come_from_one_stock() -> None:
    assert plan_within("4kW", stock={"rtx-4090": 0}).status == "infeasible"


@pytest.mark.parametrize("named", [{"exclude": ["rtx-4090"]}, {"vendor": ["AMD"]}])
def test_who_is_not_asked_for_is_not_limited_either(named: dict[str, object]) -> None:
    plan = planopt.solve(
        model="llama-3.1-8b",
        target="25tok/s",
        load="steady",
        condition="any",
        max_power="2kW",
        **named,  # type: ignore[arg-type]
    )
    used = {each.candidate.accelerator for each in plan.deployments}
    assert not any(name.startswith("rtx-4090") for name in used)


def test_every_limit_stays_when_parts_are_paid_otherwise() -> None:
    limited = open_catalog(accelerators=["rtx-4090@300W", "rtx-3090@250W"])
    used = limited.paid(Pricing(condition="used"))
    known = {each.id for each in used.list("accelerators")}
    assert {"rtx-4090@300W", "rtx-3090@250W"} <= known
