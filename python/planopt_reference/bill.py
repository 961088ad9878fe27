"""Whether a bill of materials has the lines that it must have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from planopt_reference.mismatch import Mismatch, compared, compared_money

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from planopt_reference.purchase import Line

_MONEY: Final = frozenset(
    ("unit_price_usd", "price_usd", "unit_usd_per_hour", "usd_per_hour")
)
_CATALOG: Final = "recomputed from the catalogs"


def bill_mismatches(
    field: str, stated: object, expected: Iterable[Line]
) -> Iterator[Mismatch]:
    """Compare a bill of materials with the lines it must have, in any order.

    Parameters
    ----------
    field : str
        Path of the bill.
    stated : object
        The bill in the plan.
    expected : iterable of Line
        Recomputed lines.

    Yields
    ------
    Mismatch
        One for each figure that differs, and for lines missing or too many.
    """
    if not isinstance(stated, list):
        yield Mismatch(field, stated, "a list", _CATALOG)
        return
    missing = {_key(line.table()): line for line in expected}
    for index, table in enumerate(stated):
        place = f"{field}[{index}]"
        line = missing.pop(_key(table), None)
        if line is None:
            part = f"{table.get('kind')} {table.get('id')}"
            yield Mismatch(place, part, None, "not a part of this plan")
            continue
        quantity = table.get("quantity")
        yield from compared(f"{place}.quantity", quantity, line.quantity, _CATALOG)
        for key, price in zip(
            line.money_fields, (line.unit_price, line.price), strict=True
        ):
            yield from compared_money(f"{place}.{key}", table.get(key), price, _CATALOG)
        for key in _MONEY - set(line.money_fields):
            reason = "bought parts have a price, rented ones that of an hour"
            yield from compared(f"{place}.{key}", table.get(key), None, reason)
        yield from compared(f"{place}.name", table.get("name"), line.name, _CATALOG)
        there = "what is rented is not owned, and a line says whether its parts are"
        yield from compared(f"{place}.owned", table.get("owned"), line.owned, there)
    for line in missing.values():
        yield Mismatch(field, None, line.table(), "a part is missing")


def _key(table: Mapping[str, Any]) -> tuple[object, ...]:
    """Tell a line from the others: by what is owned, of an instance by its name."""
    kind, part = table.get("kind"), table.get("id")
    named = table.get("name") if kind == "instance" else bool(table.get("owned"))
    return kind, part, named
