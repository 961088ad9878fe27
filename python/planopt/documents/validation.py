"""Predictions beside measurements: each comparison, and the errors summed up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec
from msgspec import Struct

from planopt.documents.base import to_json


class Statistics(Struct, frozen=True, kw_only=True):
    """Errors of some predictions, as fractions of what was measured."""

    n: int
    """Rows that were predicted."""
    n_total: int
    """Rows that there are."""
    mape: float | None = None
    """Mean of the absolute errors."""
    median_ape: float | None = None
    p90_ape: float | None = None
    """Absolute error that nine of ten rows stay below."""
    bias: float | None = None
    """Mean error: above 0 where too much is predicted."""
    spearman: float | None = None
    """Rank correlation of predicted with measured."""
    floor: float | None = None
    """Median error that is left if each group of rows that differ in releases and
    repetition alone is predicted by its median: nothing predicts them better."""


class Calibration(Struct, frozen=True, kw_only=True):
    """How figures lie in their intervals at 80 %."""

    metric: str
    of: str
    """Class whose errors the interval is made of."""
    n: int
    inside: float
    """Share of the figures within."""
    width: float
    """Of half an interval, as a share of the prediction: 0.2 is 20 % either way."""
    score: float
    """Mean interval score of logarithms: width, and ten times what lies outside."""
    pit: tuple[int, ...]
    """Figures by the tenth of what was predicted of them that they lie in: as many in
    each where predictions and intervals are right."""


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
        """Take over what a reader needs of a prediction."""
        return cls(**{name: getattr(each, name) for name in cls.__struct_fields__})


Standing = Literal["counted", "searched", "outside"]
"""Whether a comparison counts towards thresholds: its layout was published in full
(``counted``), had to be searched (``searched``), or the row is marked as one that
nothing should be judged by (``outside``)."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A measured figure beside the predicted one."""

    row: str
    """Id of the row."""
    source: str
    metric: str
    measured: float
    predicted: float
    unit: str
    accelerator: str
    model: str
    engine: str
    """Framework or serving engine, without its version."""
    standing: Standing = "counted"
    precision: str = ""
    """Format of the arithmetic, where it tells hardware classes apart."""
    layout: str = ""
    """How the model was spread: what choices are compared by."""
    why: Mapping[str, float | str] = field(default_factory=dict)
    """Where the prediction comes from: parts of a step, or of memory."""
    group_of_alike: str = ""
    """Alike for rows that differ in releases and repetition alone."""

    @property
    def error(self) -> float:
        """What is predicted too much, as a share of what was measured."""
        return self.predicted / self.measured - 1.0

    @property
    def group(self) -> tuple[str, str, str]:
        """What is left out as a whole when predictions are judged."""
        return (self.source, self.accelerator, self.model)


@dataclass(frozen=True, kw_only=True)
class Missing:
    """Figures of a row that are not predicted."""

    row: str
    reason: str
    metrics: tuple[str, ...] = ()
    """Figures that the row has and that would have counted."""


Outcome = Comparison | Missing


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
    calibration: tuple[Calibration, ...] = ()
    """By metric and class, of what has an interval."""
    parts: tuple[Part, ...] = ()
    worst: tuple[Worst, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    """Every prediction; not part of the printed document."""


class Validation(Struct, frozen=True, kw_only=True):
    """How far predictions of published measurements are off."""

    datasets: tuple[Dataset, ...]
    assumptions: str

    def to_json(self) -> str:
        """Return the document as JSON."""
        document = msgspec.to_builtins(self)
        for dataset in document["datasets"]:
            del dataset["comparisons"]
        return to_json(document)
