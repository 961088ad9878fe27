"""Rows of training measurements: step time, tokens per second, memory."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planopt.accuracy.layouts import full_layout, layouts_to_try
from planopt.accuracy.measurements import Comparison, Missing
from planopt.accuracy.sources.conventions import conventions
from planopt.accuracy.sources.geometry import (
    Shape,
    ShapeUnknownError,
    model_key,
    shape_of,
    with_heads,
    write_models,
)
from planopt.accuracy.sources.training_rows import TrainingRow, latest_steps, read_row
from planopt.catalog.open import Catalog, open_catalog
from planopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from planopt.accuracy.measurements import Outcome, Row

__all__ = [
    "TRAINING",
    "Prediction",
    "Question",
    "TrainingSchema",
    "comparisons",
    "predictions",
    "questions",
]

_METRIC_UNITS = {"step_time": "s", "tokens_per_s": "tokens/s", "memory": "bytes"}


@dataclass(frozen=True, kw_only=True)
class Question:
    """A row with the question to the core that predicts it."""

    row: TrainingRow
    model: str
    family: str
    has_experts: bool
    """Whether the model has a choice of experts."""
    request: Mapping[str, Any]

    @property
    def has_layout(self) -> bool:
        """Whether the row publishes its layout in full."""
        return full_layout(self.row)

    @property
    def classes(self) -> tuple[str, ...]:
        """Classes of hardware and model that errors are summed up by, narrow first."""
        kind = "moe" if self.has_experts else "dense"
        return (f"{self.row.accelerator} {kind}", f"{self.family} {kind}")


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A question with the core's answer to it."""

    question: Question
    answer: Mapping[str, Any]
    searched: bool = False

    @property
    def row(self) -> TrainingRow:
        """The row asked about."""
        return self.question.row

    @property
    def counts(self) -> bool:
        """Whether thresholds are about the row."""
        return not self.searched and self.row.standing == "counted"

    @property
    def lacks_memory(self) -> bool:
        """Whether the run is said not to fit."""
        memory = self.answer["memory"]
        return float(memory["total_bytes"]) > float(memory["capacity_bytes"])


@dataclass(frozen=True)
class TrainingSchema:
    """The kind of file with steps of training runs."""

    name: str = "training"
    columns: frozenset[str] = field(
        default=frozenset(
            {"model", "accelerator", "n_accelerators", "micro_batch", "global_batch"}
        )
    )
    needed: frozenset[str] = frozenset()

    def predict(self, rows: Sequence[Row], assumptions: str) -> Iterable[Outcome]:
        """Predict every row, or say why not."""
        for each in predictions(rows, assumptions):
            if isinstance(each, Missing):
                yield each
            else:
                yield from comparisons(each)


TRAINING = TrainingSchema()


def predictions(
    rows: Sequence[Row], assumptions: str
) -> Iterator[Prediction | Missing]:
    """Ask the core about every row."""
    with tempfile.TemporaryDirectory(prefix="planopt-") as folder:
        asked = questions(rows, assumptions, Path(folder))
        catalog = Catalog([folder], assumptions)
        for each in asked:
            if isinstance(each, Missing):
                yield each
            else:
                yield _predict(each, catalog)


def questions(
    rows: Sequence[Row], assumptions: str, overlay: Path
) -> list[Question | Missing]:
    """Turn rows into questions, in their order.

    Models that no catalog has get a file of their own, of their shape, in the folder
    `overlay` of an overlay catalog.
    """
    known = _known_models(assumptions)
    routed = _routed_models(assumptions)
    families = Families(open_catalog((), assumptions))
    shapes: dict[str, Shape] = {}
    found: list[Question | Missing] = []
    for row in with_heads(latest_steps(rows)):
        read = read_row(row)
        if isinstance(read, Missing):
            found.append(read)
            continue
        try:
            model = shape_of(row, known)
        except ShapeUnknownError:
            found.append(read.missing("the shape of the model is not known"))
            continue
        has_experts = model in routed
        if isinstance(model, Shape):
            shapes[model.id] = model
            has_experts = model.experts > 0
            model = model.id
        family = families.of(read.accelerator)
        if family is None:
            reason = f"no accelerator `{read.accelerator}` in the catalog"
            found.append(read.missing(reason))
            continue
        request = read.request(model, conventions().network_of(family))
        found.append(
            Question(
                row=read,
                model=model,
                family=family,
                has_experts=has_experts,
                request=request,
            )
        )
    write_models(list(shapes.values()), overlay)
    return found


def _known_models(assumptions: str) -> dict[str, tuple[str, int, int]]:
    """Return the catalog's models by the keys of their ids and names."""
    catalog = open_catalog((), assumptions)
    known = {}
    for entry in catalog.list("models"):
        model = catalog.native.architecture(entry["id"])
        facts = (entry["id"], int(model["layers"]), int(model["hidden"]))
        known[model_key(entry["id"])] = facts
        known[model_key(entry["name"])] = facts
    return known


def _routed_models(assumptions: str) -> set[str]:
    """Return the ids of the catalog's models that have a choice of experts."""
    catalog = open_catalog((), assumptions)
    return {
        entry["id"]
        for entry in catalog.list("models")
        if any(
            block.get("mlp", {}).get("kind") == "experts"
            for block in catalog.native.architecture(entry["id"])["block"]
        )
    }


class Families:
    """Families of accelerators, looked up once each."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[str, str | None] = {}

    def of(self, accelerator: str) -> str | None:
        """Return the family, or ``None`` for an accelerator that is not known."""
        if accelerator not in self._known:
            try:
                figures = self._catalog.figures("accelerators", accelerator)
            except InputError:
                self._known[accelerator] = None
            else:
                family = figures.get("family")
                self._known[accelerator] = str(family["text"]) if family else ""
        return self._known[accelerator]


def _predict(question: Question, catalog: Catalog) -> Prediction | Missing:
    if question.has_layout:
        return _answer(question, {}, catalog)
    answers = (
        _answer(question, layout, catalog) for layout in layouts_to_try(question.row)
    )
    working = [
        each
        for each in answers
        if isinstance(each, Prediction) and each.answer["feasible"]
    ]
    if not working:
        reason = "no layout found for a row without one"
        return question.row.missing(reason, counted=False)
    return min(working, key=lambda each: float(each.answer["step_seconds"]))


def _answer(
    question: Question, layout: Mapping[str, Any], catalog: Catalog
) -> Prediction | Missing:
    counted = question.has_layout
    try:
        answer = catalog.ask("evaluate_training", {**question.request, **layout})
    except InputError as error:
        reason = error.diagnostics[0].message
        return question.row.missing(reason, counted=counted)
    if answer.get("step_seconds") is None:
        reason = answer["rejections"][0]["message"]
        return question.row.missing(f"rejected: {reason}", counted=counted)
    return Prediction(question=question, answer=answer, searched=not counted)


def comparisons(prediction: Prediction) -> Iterator[Comparison]:
    """Put the figures of a row beside the predicted ones."""
    row, answer = prediction.row, prediction.answer
    standing = "searched" if prediction.searched else row.standing
    step = float(answer["step_seconds"])
    memory = answer["memory"]
    measured_step = row.step_seconds(answer)
    tokens = row.tokens_per_step / step / row.accelerators
    used = float(memory["total_bytes"])
    if row.notes.memory_counts == "allocated":
        used -= float(memory["overhead_bytes"])
    figures = {
        "step_time": (measured_step, step),
        "tokens_per_s": (row.tokens_per_second, tokens),
        "memory": (row.memory_bytes, used),
    }
    for metric, (measured, predicted) in figures.items():
        if measured is None:
            continue
        parts = memory if metric == "memory" else answer["step"]
        yield Comparison(
            row=row.id,
            source=row.source,
            metric=metric,
            measured=measured,
            predicted=predicted,
            unit=_METRIC_UNITS[metric],
            accelerator=row.accelerator,
            model=row.model,
            engine=row.framework.id,
            standing=standing,
            precision=row.precision,
            layout=row.layout,
            why={
                name: value
                for name, value in parts.items()
                if isinstance(value, int | float) and value
            },
        )
