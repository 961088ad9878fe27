"""What is known of how well a plan's steps are predicted."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Grade = Literal["measured", "family", "none"]


class Kind(Struct, frozen=True, kw_only=True):
    """An accelerator with the question's kind of model: measured over predicted."""

    accelerator: str
    """Its id."""
    grade: Grade = "none"
    """Whether the kind itself was measured, another of its family, or neither."""
    of: str | None = None
    """Class of what was measured; of a kind that nobody measured, the slowest."""
    metric: str | None = None
    """What was measured of a step: `tpot`, `decode` or `step_time`."""
    rows: int = 0
    """Measured rows of the class."""
    groups: int | None = None
    """Groups of rows that err alike, where they were counted."""
    data: str | None = None
    """Releases of the engines that they were measured under, and when that was."""
    low: float
    """A tenth of its steps are shorter, as a multiple of what is predicted."""
    high: float
    """A tenth of its steps are longer."""
    slower: float = 1.0
    """Multiple of the predicted steps that it was judged at."""
    held_to: float | None = None
    """Largest multiple at which all promises are still held; none if none depends on
    it."""


class Evidence(Struct, frozen=True, kw_only=True):
    """Of all kinds of a plan, as good as the worst of them."""

    grade: Grade
    """Of the worst kind."""
    groups: int | None = None
    """Of the worst kind."""
    rows: int = 0
    """Of the worst kind."""
    kinds: tuple[Kind, ...] = ()
    """What is known of each accelerator."""
