"""What a command line of somebody says, and what comes of it: ``planopt.import/1``."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from planopt.documents.base import Document
from planopt.documents.evaluation import EvaluationDocument
from planopt.documents.training import TrainingDocument

BETTER = 1.02
"""What counts as better: predictions are no finer."""


class Heard(Struct, frozen=True, kw_only=True):
    """A flag that was given."""

    flag: str | None
    """None is the argument without a flag."""
    value: str | None = None
    term: str | None = None
    """What it says; none changes neither memory nor layout."""


class Elsewhere(Struct, frozen=True, kw_only=True):
    """The same on another accelerator."""

    accelerator: str
    fits: bool
    sequences: int | None = None
    """That it holds at full context."""
    tokens_per_second: float | None = None
    why_not: str | None = None


class Better(Struct, frozen=True, kw_only=True):
    """Another layout on the same accelerators."""

    layout: str
    batch: int
    replicas: int
    tokens_per_second: float | None


class ImportDocument(Document, frozen=True, kw_only=True):
    """What somebody runs: understood, and evaluated where its hardware is named."""

    _what = "import"

    schema: Literal["planopt.import/1"] = "planopt.import/1"
    tool: str
    version: str
    """Whose flags it was read by."""
    kind: Literal["serving", "training"]
    model: str
    flags: tuple[Heard, ...]
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    options: dict[str, str]
    """As options of `planopt evaluate`."""
    remarks: tuple[str, ...] = ()
    sequences: int | None = None
    """That fit at full context, of those that may run."""
    serving: EvaluationDocument | None = None
    training: TrainingDocument | None = None
    elsewhere: tuple[Elsewhere, ...] = ()
    better: Better | None = None
    """On the same accelerators, if anything is."""

    @property
    def fits(self) -> bool | None:
        """Whether it fits where it runs; none where that is not said."""
        found = self.serving or self.training
        return None if found is None else found.feasible
