"""Renting against owning, and prices that move, on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.numbers import (
    UNKNOWN,
    count,
    money,
    money_per_hour,
    money_per_million,
    rate,
)
from planopt.report.table import table, wrapped

if TYPE_CHECKING:
    from planopt.documents.explanations import Flip, PriceRange, RentOrBuy
    from planopt.documents.plan import Plan
    from planopt.report.style import Style

__all__ = ["price_lines", "rent_or_buy_lines", "step_lines"]

DAYS_PER_YEAR = 365
MONTHS_PER_YEAR = 12


def rent_or_buy_lines(ways: RentOrBuy | None, style: Style) -> list[str]:
    """Show the cheapest way of each, and when owning has paid off."""
    if ways is None:
        return []
    rows = [
        (
            title,
            money_per_hour(way.usd_per_hour) if way else UNKNOWN,
            money(way.price_usd, rough=way.price_is_rough)
            if way and way.price_usd
            else UNKNOWN,
            money_per_million(way.usd_per_million_tokens) if way else UNKNOWN,
            way.summary if way else "no way that meets the question",
        )
        for title, way in (("rent", ways.rent), ("own", ways.buy))
    ]
    hosted = ways.hosted_usd_per_million_tokens
    if hosted is not None:
        of_others = ("hosted", UNKNOWN, UNKNOWN, money_per_million(hosted))
        rows.append((*of_others, _from_whom(ways)))
    header = ("", "cost", "purchase", "$/Mtok", "with")
    return [
        *table(header, rows, "<>>><", style=style),
        *wrapped(_break_even(ways), hanging="    "),
    ]


def _from_whom(ways: RentOrBuy) -> str:
    """Say whose tokens are meant, and of when their price is."""
    when = f" ({ways.hosted_date})" if ways.hosted_date else ""
    low, high = ways.hosted_low_usd, ways.hosted_high_usd
    if low is None or high is None:
        return f"tokens from somebody else's models, of whichever{when}"
    seen = f"{money_per_million(low)} to {money_per_million(high)}"
    return f"tokens of this model from others, with their prompts: {seen}{when}"


def _break_even(ways: RentOrBuy) -> str:
    span = f"over {ways.years:g} years, busy {ways.duty:.0%} of the time"
    if ways.rent is None or ways.buy is None:
        return f"compared {span}"
    if ways.break_even_days is None:
        return f"{span}: owning never pays"
    said = f"{span}: owning has paid off on day {count(ways.break_even_days)}"
    months = ways.break_even_days / DAYS_PER_YEAR * MONTHS_PER_YEAR
    said += f" (so long it takes whoever rents it out for as much: {months:.1f} months)"
    if ways.break_even_days > ways.years * DAYS_PER_YEAR:
        return f"{said}, when it is written off already"
    if ways.break_even_duty is not None:
        said += f", and pays if busy more than {ways.break_even_duty:.0%} of the time"
    return said


def price_lines(plan: Plan) -> list[str]:
    """Say over what prices of each part the choice stays the best."""
    told = plan.uncertainty
    if told is None:
        return []
    hourly = plan.request.hourly
    lines = [
        line
        for each in told.prices
        for line in wrapped(_price_range(each, told.price_band), hanging="    ")
    ]
    for flip in told.flips:
        lines += wrapped(_flip(flip, told.price_band), hanging="    ")
    shown = money_per_hour if hourly else money
    if told.worst_regret_usd:
        worst = f"at worst the choice costs {shown(told.worst_regret_usd)} too much"
        lines += wrapped(f"{worst}, if one price is off by {told.price_band:.0%}")
    if told.runner_up is not None:
        more = shown(told.runner_up_regret_usd)
        lines += wrapped(f"the runner-up costs {more} more: {told.runner_up}")
    return lines


def _price_range(each: PriceRange, band: float) -> str:
    shown = money_per_hour if each.kind == "instance" else money
    now = f"{each.name} at {shown(each.price_usd)}: "
    said = []
    if each.low_usd is not None:
        said.append(f"below {shown(each.low_usd)} {each.low_choice}")
    if each.high_usd is not None:
        said.append(f"above {shown(each.high_usd)} {each.high_choice}")
    if not said:
        return f"{now}the same choice at any price within {band:.0%}"
    return f"{now}{'; '.join(said)}"


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
    now = f"{name}, assumed {figure.format(each.value)}: "
    said = []
    if each.low is not None:
        said.append(f"below {figure.format(each.low)} {each.low_choice}")
    if each.high is not None:
        said.append(f"above {figure.format(each.high)} {each.high_choice}")
    return f"{now}{'; '.join(said) or f'the same choice within {band:.0%}'}"


def step_lines(plan: Plan, style: Style) -> list[str]:
    """Say what one step of each limit is worth."""
    shown = money_per_hour if plan.request.hourly else money
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
    header = ("", "step", "saves", "tok/s more", "then")
    return table(header, rows, "<>>><", style=style) if rows else []
