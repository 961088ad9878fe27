"""The few factors of a card and an engine, and the figures that each multiplies."""

from __future__ import annotations

import copy
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from planopt._native import parse_quantity
from planopt.measurement.overlay import SOURCE, Origin, measured_assumptions
from planopt.toml import tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planopt.catalog.open import Catalog

Table = dict[str, object]
Place = tuple[Table, str]
"""A table and the key of a figure in it."""


class Factor(Struct, frozen=True, forbid_unknown_fields=True):
    """A factor, and the keys of what it multiplies."""

    what: str
    least: float
    most: float
    card: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    """In place of those of the card, of an engine that brings its own kernels."""
    engine: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()

    def has(self, value: float) -> bool:
        """Whether a value is one that its range is of: rates of a clock are not."""
        return self.least <= value <= self.most

    def times(self, figure: object, by: float) -> Table:
        """Multiply a figure, which stays in the range."""
        product, old = _value(figure) * by, _value(figure)
        if self.has(old):
            product = min(max(product, self.least), self.most)
        is_time = isinstance(_said(figure), str)
        told = f"{product * 1e6:.6g} us" if is_time else float(f"{product:.6g}")
        return {"value": told, "source": SOURCE}


@lru_cache
def factors() -> dict[str, Factor]:
    """Read which factors there are."""
    path = Path(__file__).with_name("factors.toml")
    named = tomllib.loads(path.read_text(encoding="utf-8"))
    return msgspec.convert(named, dict[str, Factor])


class Machine:
    """Assumptions of one card and one engine, whose figures can be multiplied."""

    def __init__(
        self, base: str, catalog: Catalog, card: str, engine: str | None
    ) -> None:
        self._document = tomllib.loads(base)
        self._card, self._engine = card, engine
        self._link = catalog.text("accelerators", card, "scale_up.name")
        family = catalog.text("accelerators", card, "family")
        # A table of the card stands in place of its family's.
        cards = self._document.setdefault("accelerators", {})
        of_family = _table(self._document, "families", family)
        own = cards.setdefault(card, copy.deepcopy(of_family))
        for key in (key for each in factors().values() for key in each.card):
            if key in self._document["compute"]:
                own.setdefault(key, self._document["compute"][key])

    def range(self, factor: Factor) -> tuple[float, float] | None:
        """Tell what a factor may be; none where nothing is there to multiply."""
        places = self._places(factor, self._document)
        values = [*filter(factor.has, (_value(table[key]) for table, key in places))]
        if not values:
            return None
        return factor.least / max(values), factor.most / min(values)

    def text(self, chosen: Mapping[str, float], software: str, date: str) -> str:
        """Write the assumptions with figures multiplied by factors that are not 1."""
        document = copy.deepcopy(self._document)
        for name, by in chosen.items():
            for table, key in list(self._places(factors()[name], document)):
                if by != 1:
                    table[key] = factors()[name].times(table[key], by)
        origin = Origin(device=self._card, software=software, date=date)
        return measured_assumptions(document, origin)

    def _places(self, factor: Factor, document: Table) -> Iterator[Place]:
        engine = _table(document, "engines", self._engine)
        kernels = _table(engine, "kernels")
        own = _table(document, "accelerators", self._card)
        own_kernels = kernels, factor.kernels
        yield from _under(*(own_kernels if kernels else (own, factor.card)))
        yield from ((engine, key) for key in factor.engine if key in engine)
        link = _table(document, "links", self._link)
        messages = link or _table(document, "communication")
        yield from _under(messages, factor.messages)


def _table(of: object, *path: str | None) -> Table:
    """Find a table by its path; an empty one where there is none."""
    for key in path:
        of = of.get(key) if isinstance(of, dict) else None
    return of if isinstance(of, dict) else {}


def _under(table: Table, keys: tuple[str, ...]) -> Iterator[Place]:
    """Find keys in a table and in those inside of it."""
    for key, value in table.items():
        if key in keys:
            yield table, key
        elif isinstance(value, dict) and "value" not in value:
            yield from _under(value, keys)


def _said(figure: object) -> object:
    return figure["value"] if isinstance(figure, dict) else figure


def _value(figure: object) -> float:
    said = _said(figure)
    if isinstance(said, str):
        return parse_quantity(said, "seconds")
    return float(f"{said}")
