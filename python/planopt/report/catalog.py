"""Catalogs on the screen: entries by kind, an entry with the source of each figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt.price_list import AGES
from planopt.report.numbers import UNKNOWN, count, money, money_per_hour
from planopt.report.style import PLAIN, Style
from planopt.report.table import table, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planopt.price_list import PriceList

__all__ = ["render_catalog", "render_entry", "render_prices"]


_KINDS = {
    "accelerator": "accelerators",
    "host": "hosts",
    "nic": "NICs",
    "switch": "switches",
    "cable": "cables",
    "instance": "offers",
}


def render_catalog(
    entries: Mapping[str, Sequence[Mapping[str, Any]]], *, style: Style = PLAIN
) -> str:
    """List entries by kind."""
    blocks = []
    for kind, of_kind in entries.items():
        rows = [(str(entry["id"]), str(entry["name"])) for entry in of_kind]
        listed = table(("id", "name"), rows, "<<", style=style) if rows else []
        blocks.append("\n".join([style.head(f"{kind} ({len(rows)})"), *listed]))
    return "\n\n".join(blocks)


def render_entry(entry: Mapping[str, Any], *, style: Style = PLAIN) -> str:
    """Show an entry: its figures, each with its source and how far to trust it."""
    rows = [
        (str(figure["field"]), _value(figure), _source(figure))
        for figure in entry["figures"]
    ]
    header = ("field", "value", "source")
    return "\n".join(
        [
            f"{style.head(str(entry['name']))}   {entry['kind']} `{entry['id']}`",
            *table(header, rows, "<<<", style=style),
            f"  = file: {entry.get('file') or UNKNOWN}",
        ]
    )


def render_prices(
    listed: PriceList, *, listing: bool = False, style: Style = PLAIN
) -> str:
    """Count the deciding prices by age and status, and list them where asked."""
    statuses = ("stored", "derived", "from-memory", "assumed")
    ages = (*AGES, "older", "undated")
    rows = [
        (
            _KINDS[each.kind],
            count(each.parts),
            *(count(each.by_age[age]) for age in ages),
            *(count(each.by_status.get(status, 0)) for status in statuses),
            f"{each.of_this_year:.0%}",
        )
        for each in listed.summaries
    ]
    within = [f"<={age}" for age in AGES]
    header = ("", "priced", *within, "older", "undated", *statuses, "this year's")
    lines = [
        style.head(f"Deciding prices, {listed.condition}"),
        *table(header, rows, "<" + ">" * (len(header) - 1), style=style),
        "  this year's: at most a year old, and neither from memory nor assumed",
        "",
        style.head("Accelerators by what their price is"),
    ]
    for basis in ("card", "system / n", "machine only", "rent only", "none"):
        of_it = [id_ for id_, each in listed.basis_of.items() if each == basis]
        named = f"{basis} ({len(of_it)}): {', '.join(of_it) or UNKNOWN}"
        lines += wrapped(named, hanging="    ")
    said = ", ".join(f"{number} {answer}" for answer, number in listed.on_sale.items())
    lines += ["", f"Accelerators of which new ones can be bought today: {said}"]
    return "\n".join([*lines, *(_listed(listed, style) if listing else [])])


def _listed(listed: PriceList, style: Style) -> list[str]:
    rows = [
        (
            each.id,
            each.kind,
            money_per_hour(each.usd) if each.kind == "instance" else money(each.usd),
            each.date or "undated",
            each.status or UNKNOWN,
            f"{each.condition}, system / {each.per}"
            if each.per > 1
            else each.condition,
        )
        for each in listed.prices
    ]
    header = ("id", "kind", "price", "of", "status", "")
    return ["", *table(header, rows, "<<><<<", style=style)] if rows else []


def _value(figure: Mapping[str, Any]) -> str:
    """Give a value as it is written; a price with how many it is for, and its range."""
    per = f" per {figure['per']}" if figure.get("per") else ""
    ends = [figure[end] for end in ("low_usd", "high_usd") if figure.get(end)]
    seen = f", one at {' to '.join(map(money, ends))}" if ends else ""
    return f"{figure['text']}{per}{seen}"


def _source(figure: Mapping[str, Any]) -> str:
    parts = (figure.get(key) for key in ("status", "date", "cite"))
    return ", ".join(str(part) for part in parts if part)
