"""Whether a bill of materials has the lines that it must have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from planopt.verify.mismatch import Mismatch, compared, compared_money

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from planopt.verify.purchase import Line

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
    missing = {(line.kind, line.id): line for line in expected}
    for index, table in enumerate(stated):
        place = f"{field}[{index}]"
        kind, part = (table.get(key) for key in ("kind", "id"))
        line = missing.pop((kind, part), None)
        if line is None:
            yield Mismatch(place, f"{kind} {part}", None, "not a part of this plan")
            continue
        quantity = table.get("quantity")
        yield from compared(f"{place}.quantity", quantity, line.quantity, _CATALOG)
        yield from compared_money(
            f"{place}.unit_price_usd",
            table.get("unit_price_usd"),
            line.unit_price,
            _CATALOG,
        )
        price = table.get("price_usd")
        yield from compared_money(f"{place}.price_usd", price, line.price, _CATALOG)
        yield from compared(f"{place}.name", table.get("name"), line.name, _CATALOG)
    for line in missing.values():
        yield Mismatch(field, None, line.table(), "a part is missing")
