"""Renting against owning: the cheapest way of each, and the break-even."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt._native import break_even_days as native_break_even_days
from planopt._native import break_even_duty as native_break_even_duty
from planopt.documents.explanations import RentOrBuy, Way
from planopt.money import of_deployments, price_of_an_hourly_dollar
from planopt.price_sources import is_rough
from planopt.serving.hosted import hosted_prices
from planopt.units import HOURS_PER_DAY

if TYPE_CHECKING:
    from planopt.catalog.entries import CostAssumptions
    from planopt.planning.question import ServingQuestion
    from planopt.serving.build import Build


def rent_or_buy(question: ServingQuestion, chosen: Build) -> RentOrBuy | None:
    """Put both ways side by side, where renting was asked about."""
    if not question.problem.hourly:
        return None
    owned: Build | None = chosen
    rented: Build | None = chosen
    if not chosen.rented:
        rented = _by(question, "rent").best()
    if any(each.hardware.terms for each in chosen.deployments):
        owned = _by(question, "own").best()
    cost = question.catalog.cost
    return RentOrBuy(
        years=cost.years,
        duty=cost.duty,
        rent=_way(rented),
        buy=_way(owned),
        break_even_days=_break_even_days(cost, rented, owned),
        break_even_duty=_break_even_duty(cost, rented, owned),
        **hosted_prices(question.catalog, question.problem),
    )


def _by(question: ServingQuestion, way: str) -> ServingQuestion:
    """Ask the same of one way alone, within no other money than by the hour."""
    return question.about(procurement=way)


def _way(build: Build | None) -> Way | None:
    if build is None:
        return None
    return Way(
        summary=build.summary,
        usd_per_hour=build.usd_per_hour,
        price_usd=build.price_usd,
        price_is_rough=is_rough(build.bill_of_materials),
        usd_per_million_tokens=build.cost.usd_per_million_tokens,
    )


def _break_even_days(
    cost: CostAssumptions, rented: Build | None, owned: Build | None
) -> float | None:
    """Day on which the purchase and its running cost are what rent has come to."""
    if rented is None or owned is None:
        return None
    written_off = owned.price_usd / (price_of_an_hourly_dollar(cost) or float("inf"))
    running = owned.usd_per_hour - written_off
    return native_break_even_days(
        owned.price_usd,
        running * HOURS_PER_DAY,
        rented.usd_per_hour * HOURS_PER_DAY,
    )


def _break_even_duty(
    cost: CostAssumptions, rented: Build | None, owned: Build | None
) -> float | None:
    """Share of busy hours at which both ways cost the same.

    A commitment is paid whether busy or not: then there is no such share.
    """
    if rented is None or owned is None:
        return None
    terms = {each.hardware.terms for each in rented.deployments}
    if not terms <= {"on-demand", "spot"}:
        return None
    duty = cost.duty
    energy = of_deployments(cost, owned.deployments).get("electricity", 0.0)
    return native_break_even_duty(
        owned.usd_per_hour - energy, energy / duty, rented.usd_per_hour / duty
    )
