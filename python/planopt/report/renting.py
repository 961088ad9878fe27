"""Renting against owning, and prices that move, on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.numbers import (
    UNKNOWN,
    count,
    days,
    money,
    money_per_hour,
    money_per_million,
    rate,
)
from planopt.report.table import Sentence, Table, listed
from planopt.units import MONTHS_PER_YEAR

if TYPE_CHECKING:
    from collections.abc import Callable

    from planopt.documents.explanations import Flip, PriceRange, RentOrBuy
    from planopt.documents.plan import Plan
    from planopt.documents.training import Renting
    from planopt.report.table import Block

DAYS_PER_YEAR = 365


def rent_or_buy(ways: RentOrBuy | None) -> list[Block]:
    """Show the cheapest way of each, and the break-even."""
    if ways is None:
        return []
    rows = [
        (
            title,
            money_per_hour(way.usd_per_hour),
            money(way.price_usd or None, rough=way.price_is_rough),
            money_per_million(way.usd_per_million_tokens),
            way.summary,
        )
        if way
        else (title, *[UNKNOWN] * 3, "no way that meets the question")
        for title, way in (("rent", ways.rent), ("own", ways.buy))
    ]
    hosted = ways.hosted_usd_per_million_tokens
    if hosted is not None:
        per_million = money_per_million(hosted)
        rows.append(("hosted", UNKNOWN, UNKNOWN, per_million, _from_whom(ways)))
    return [
        Table(("", ">cost", ">purchase", ">$/Mtok", "with"), rows),
        *listed([_break_even(ways)]),
    ]


def _from_whom(ways: RentOrBuy) -> str:
    """Say whose tokens are meant, and of when their price is."""
    when = f" ({ways.hosted_date})" if ways.hosted_date else ""
    low, high = ways.hosted_low_usd, ways.hosted_high_usd
    if low is None or high is None:
        return f"hosted API prices, of whichever model{when}"
    seen = f"{money_per_million(low)} to {money_per_million(high)}"
    return f"tokens of this model from others, with their prompts: {seen}{when}"


def _break_even(ways: RentOrBuy) -> str:
    span = f"over {ways.years:g} years, busy {ways.duty:.0%} of the time"
    if ways.rent is None or ways.buy is None:
        return f"compared {span}"
    if ways.break_even_days is None:
        return f"{span}: owning never pays"
    said = f"{span}: break-even after {count(ways.break_even_days)} days"
    months = ways.break_even_days / DAYS_PER_YEAR * MONTHS_PER_YEAR
    said += f" (so long it takes whoever rents it out for as much: {months:.1f} months)"
    if ways.break_even_days > ways.years * DAYS_PER_YEAR:
        return f"{said}, when it is written off already"
    if ways.break_even_duty is not None:
        said += f", and pays if busy more than {ways.break_even_duty:.0%} of the time"
    return said


def rented_runs(renting: Renting | None) -> list[Block]:
    """Show the cheapest rented run of each accelerator, and when owning pays off."""
    if renting is None:
        return []
    if not renting.runs:
        return ["  no offer finishes in time"]
    rows = [
        (
            f"{count(each.instances)}x {each.instance}",
            f"{count(each.accelerators)}x {each.accelerator}",
            days(each.days),
            money(each.usd_per_hour, whole=True),
            money(each.run_usd, whole=True),
        )
        for each in renting.runs
    ]
    runs = renting.break_even_runs
    paid = (
        "owning never pays off against the cheapest of these"
        if runs is None
        else f"owning pays off after {runs:.1f} runs like the cheapest of these"
    )
    titles = ("", "accelerators", ">days", ">an hour", ">the run")
    return [Table(titles, rows), f"  {paid}"]


def prices(plan: Plan) -> list[Block]:
    """Say over what prices of each part the choice stays the best."""
    told = plan.uncertainty
    if told is None:
        return []
    band, shown = told.price_band, _shown(plan)
    moved = [_price_range(each, band) for each in told.prices]
    moved += [_flip(each, band) for each in told.flips]
    blocks = listed(moved)
    if told.worst_regret_usd:
        worst = f"at worst the choice costs {shown(told.worst_regret_usd)} too much"
        blocks.append(Sentence(f"{worst}, if one price is off by {band:.0%}"))
    if told.runner_up is not None:
        more = shown(told.runner_up_regret_usd)
        blocks.append(Sentence(f"the runner-up costs {more} more: {told.runner_up}"))
    return blocks


def _shown(plan: Plan) -> Callable[[float | None], str]:
    """Return how money is shown that was asked about."""
    return money_per_hour if plan.request.hourly else money


def _price_range(each: PriceRange, band: float) -> str:
    shown = money_per_hour if each.kind == "instance" else money
    stays = f"the same choice at any price within {band:.0%}"
    ends = (each.low_usd, each.low_choice), (each.high_usd, each.high_choice)
    return f"{each.name} at {shown(each.price_usd)}: {_until(*ends, shown) or stays}"


def _until(
    low: tuple[float | None, str | None],
    high: tuple[float | None, str | None],
    shown: Callable[[float], str],
) -> str:
    """Say below what and above what another choice is the best, and which."""
    ends = (("below", *low), ("above", *high))
    return "; ".join(
        f"{side} {shown(end)} {choice}" for side, end, choice in ends if end is not None
    )


_ASSUMED = {
    "electricity_usd_per_kwh": ("electricity", "${:.3g}/kWh"),
    "duty": ("share of hours that are busy", "{:.1%}"),
    "years": ("years that a purchase lasts", "{:.3g}"),
    "pue": ("power usage effectiveness", "{:.3g}"),
    "context_tokens": ("tokens cached for each user", "{:,.0f}"),
    "predicted_speed": ("speed as a share of the predicted", "{:.0%}"),
}


def _flip(each: Flip, band: float) -> str:
    name, figure = _ASSUMED[each.name]
    stays = f"the same choice within {band:.0%}"
    ends = (each.low, each.low_choice), (each.high, each.high_choice)
    now = f"{name}, assumed {figure.format(each.value)}"
    return f"{now}: {_until(*ends, figure.format) or stays}"


def steps(plan: Plan) -> Table:
    """Say what one step of each limit is worth."""
    shown = _shown(plan)
    rows = [
        (
            each.limit,
            each.step,
            shown(each.saves_usd),
            rate(each.gains_tokens_per_second),
            each.choice if each.binding and each.choice else "not binding",
        )
        for each in plan.steps
    ]
    return Table(("", ">step", ">saves", ">tok/s more", "then"), rows)
