"""Results of benchmarks, and the factors that they tell: ``planopt.fit/1``."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from planopt.documents.base import Document


class FittedFactor(Struct, frozen=True, kw_only=True):
    """What figures of a card or an engine are multiplied by."""

    name: str
    what: str
    factor: float
    uncertainty: float
    """Share that it may be off by where figures vary by 5 % from run to run."""
    at_limit: bool = False
    """Whether more than is physically possible would fit better."""


class Unchanged(Struct, frozen=True, kw_only=True):
    """A factor that stays as it was: the results do not tell it, or need it not."""

    name: str
    what: str
    why: str


class FittedFigure(Struct, frozen=True, kw_only=True):
    """A measured time beside what is predicted of it."""

    result: str
    figure: Literal["tpot", "ttft"]
    load: str
    """What it was measured under, as options of `evaluate serving`."""
    measured_seconds: float
    before_seconds: float
    after_seconds: float


class Fit(Document, frozen=True, kw_only=True):
    """Factors of one's own machines, in an overlay catalog."""

    _what = "fit"

    schema: Literal["planopt.fit/1"] = "planopt.fit/1"
    accelerator: str
    engine: str | None = None
    factors: tuple[FittedFactor, ...]
    unchanged: tuple[Unchanged, ...] = ()
    figures: tuple[FittedFigure, ...]
    error_before: float
    """Median of how far predictions are off, as a share of what was measured."""
    error_after: float
    remarks: tuple[str, ...] = ()
    overlay: str
    """Folder that was written."""
    assumptions: str = "measured"
    """Id of the assumptions in it."""
