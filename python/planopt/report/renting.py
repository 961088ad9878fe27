"""Renting against owning on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.numbers import (
    UNKNOWN,
    count,
    money,
    money_per_hour,
    money_per_million,
)
from planopt.report.table import table, wrapped

if TYPE_CHECKING:
    from planopt.plan import RentOrBuy
    from planopt.report.style import Style

__all__ = ["rent_or_buy_lines"]

DAYS_PER_YEAR = 365


def rent_or_buy_lines(ways: RentOrBuy | None, style: Style) -> list[str]:
    """Show the cheapest way of each, and when owning has paid off."""
    if ways is None:
        return []
    rows = [
        (
            title,
            money_per_hour(way.usd_per_hour) if way else UNKNOWN,
            money(way.price_usd) if way and way.price_usd else UNKNOWN,
            money_per_million(way.usd_per_million_tokens) if way else UNKNOWN,
            way.summary if way else "no way that meets the question",
        )
        for title, way in (("rent", ways.rent), ("own", ways.buy))
    ]
    hosted = ways.hosted_usd_per_million_tokens
    if hosted is not None:
        of_others = ("hosted", UNKNOWN, UNKNOWN, money_per_million(hosted))
        rows.append((*of_others, "tokens from somebody else's models"))
    header = ("", "cost", "purchase", "$/Mtok", "with")
    return [
        *table(header, rows, "<>>><", style=style),
        *wrapped(_break_even(ways), hanging="    "),
    ]


def _break_even(ways: RentOrBuy) -> str:
    span = f"over {ways.years:g} years, busy {ways.duty:.0%} of the time"
    if ways.rent is None or ways.buy is None:
        return f"compared {span}"
    if ways.break_even_days is None:
        return f"{span}: owning never pays"
    said = f"{span}: owning has paid off on day {count(ways.break_even_days)}"
    if ways.break_even_days > ways.years * DAYS_PER_YEAR:
        return f"{said}, when it is written off already"
    if ways.break_even_duty is not None:
        said += f", and pays if busy more than {ways.break_even_duty:.0%} of the time"
    return said
