"""What accelerators are bought as, and prices that somebody knows better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

from planopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planopt.catalog.open import Catalog
    from planopt.options import OptionReader, TextOrNumber

__all__ = ["CONDITIONS", "Condition", "PriceOptions", "read_prices"]

Condition = Literal["new", "used", "any"]
"""Accelerators are bought new, used, or at the lower of both prices."""
CONDITIONS = get_args(Condition)


class PriceOptions(TypedDict, total=False):
    """Options of what parts cost, as they were given."""

    condition: str | None
    prices: Mapping[str, TextOrNumber] | Sequence[str] | str | None


def read_prices(
    reader: OptionReader,
    catalog: Catalog,
    *,
    condition: str | None = None,
    prices: Mapping[str, TextOrNumber] | Sequence[str] | str | None = None,
) -> dict[str, Any]:
    """Read what accelerators are bought as, and prices that somebody knows better."""
    chosen = reader.choice("condition", condition, CONDITIONS)
    known_better: dict[str, float] = {}
    for id_, given in reader.pairs("price", prices, "rtx-5090=4500"):
        dimension = "usd_per_hour" if "/" in id_ else "usd"
        text = f"{given}/h" if "/" in id_ and "/" not in str(given) else given
        usd = reader.quantity("price", text, dimension, least=0.0)
        if usd is None:
            continue
        known_better[id_] = usd
        try:
            catalog.at_price({"id": id_, "usd": usd})
        except InputError as unknown:
            reader.refuse("price", unknown)
    return {"condition": chosen or "new", "prices": known_better}
