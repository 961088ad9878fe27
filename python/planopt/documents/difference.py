"""What differs between two documents."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct


class Changed(Struct, frozen=True, kw_only=True):
    """A value that differs."""

    name: str
    before: Any = None
    after: Any = None


class Difference(Struct, frozen=True, kw_only=True):
    """What lies between two plans."""

    schema: Literal["planopt.diff/2"] = "planopt.diff/2"
    request: tuple[Changed, ...] = ()
    """What was asked for."""
    assumptions: tuple[Changed, ...] = ()
    """What was assumed, where it was not asked for."""
    prices: tuple[Changed, ...] = ()
    """Prices of the parts that both plans have, one of each."""
    parts: tuple[Changed, ...] = ()
    """Numbers of parts."""
    layout: tuple[Changed, ...] = ()
    """How the model is spread, of each deployment."""
    figures: tuple[Changed, ...] = ()
    """What comes of it."""
    why: tuple[str, ...] = ()
    """What is behind the change, as far as the two documents tell."""

    @property
    def same(self) -> bool:
        """Whether both plans ask for, buy and promise the same."""
        return not any((self.request, self.prices, self.parts, self.figures))
