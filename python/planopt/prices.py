"""What parts cost where somebody knows better, and as what accelerators are bought."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from planopt.errors import InputError

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog
    from planopt.options import Asked

__all__ = ["Condition", "read_prices"]

Condition = Literal["new", "used", "any"]
"""What accelerators are bought as; by either, at the lower price."""


def read_prices(asked: Asked, catalog: Catalog) -> dict[str, Any]:
    """Read what accelerators are bought as, and prices that somebody knows better."""
    known_better: dict[str, float] = {}
    for id_, given in asked.pairs("prices"):
        usd = asked.price("prices", id_, given)
        if usd is None:
            continue
        known_better[id_] = usd
        try:
            catalog.at_price({"id": id_, "usd": usd})
        except InputError as unknown:
            asked.refuse("prices", unknown)
    return {"condition": asked.word("condition"), "prices": known_better}
