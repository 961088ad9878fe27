"""The answer of ``planopt validate`` as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from planopt.plan import to_json
from planopt.validation.statistics import (
    Statistics,  # noqa: TC001 - msgspec reads the types of fields
)

if TYPE_CHECKING:
    from planopt.validation.measurement import Comparison

__all__ = ["Dataset", "Part", "Validation", "Worst"]


class Part(Struct, frozen=True, kw_only=True):
    """Errors of one metric of one model on one accelerator under one engine."""

    metric: str
    accelerator: str
    model: str
    engine: str
    errors: Statistics


class Worst(Struct, frozen=True, kw_only=True):
    """A prediction that is far off, with where it comes from."""

    row: str
    metric: str
    measured: float
    predicted: float
    error: float
    unit: str
    accelerator: str
    model: str
    engine: str
    layout: str
    why: dict[str, float | str] = {}

    @classmethod
    def of(cls, each: Comparison) -> Worst:
        """Take over what a reader needs."""
        return cls(
            row=each.row,
            metric=each.metric,
            measured=each.measured,
            predicted=each.predicted,
            error=each.error,
            unit=each.unit,
            accelerator=each.accelerator,
            model=each.model,
            engine=each.engine,
            layout=each.layout,
            why=dict(each.why),
        )


class Dataset(Struct, frozen=True, kw_only=True):
    """Errors of the predictions of one file."""

    file: str
    metrics: dict[str, Statistics]
    """By metric, over rows whose layout was published in full."""
    skipped: dict[str, int]
    """Rows without a prediction, by reason."""
    searched: dict[str, Statistics] = {}
    """By metric, over rows whose layout planopt had to search."""
    outside: dict[str, Statistics] = {}
    """By metric, over rows that are marked as not to be judged by."""
    parts: tuple[Part, ...] = ()
    worst: tuple[Worst, ...] = ()
    comparisons: tuple[Any, ...] = ()
    """Every prediction; not part of the printed document."""


class Validation(Struct, frozen=True, kw_only=True):
    """How far predictions of published measurements are off."""

    datasets: tuple[Dataset, ...]
    assumptions: str

    def to_json(self) -> str:
        """Return the document as JSON."""
        document = msgspec.to_builtins(
            msgspec.structs.replace(
                self,
                datasets=tuple(
                    msgspec.structs.replace(each, comparisons=())
                    for each in self.datasets
                ),
            )
        )
        for dataset in document["datasets"]:
            del dataset["comparisons"]
        return to_json(document)
