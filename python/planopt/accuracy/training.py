"""Rows of training measurements: step time, tokens per second, memory."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from planopt.catalog.open import Catalog, open_catalog
from planopt.catalog.overlay import toml_document
from planopt.documents.training import TrainingEvaluation
from planopt.documents.validation import Comparison, Missing
from planopt.errors import InputError
from planopt.files import write

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from planopt.accuracy.training_rows import TrainingRow
    from planopt.documents.training import TrainingMemory
    from planopt.documents.validation import Outcome

_DEGREES = (1, 2, 4, 8)
_STAGES = (1, 2, 4, 8, 16, 32)
_MICRO_BATCHES = (1, 2, 4, 8)
_RECOMPUTE = ("none", "selective", "full")
"""What is tried of a row that does not publish its layout."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A row with the question to the core that predicts it."""

    row: TrainingRow
    model: str
    request: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A question with the core's answer to it."""

    question: Question
    answer: TrainingEvaluation
    memory: TrainingMemory
    step_seconds: float
    searched: bool = False

    @property
    def row(self) -> TrainingRow:
        """The row asked about."""
        return self.question.row


def predict_training(
    rows: Iterable[TrainingRow], assumptions: str
) -> Iterator[Outcome]:
    """Predict every row, or say why not."""
    for each in predictions(rows, assumptions):
        if isinstance(each, Missing):
            yield each
        else:
            yield from comparisons(each)


def predictions(
    rows: Iterable[TrainingRow], assumptions: str
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
    rows: Iterable[TrainingRow], assumptions: str, overlay: Path
) -> list[Question | Missing]:
    """Turn rows into questions, in their order.

    Models that no catalog has get a file of their own, of their shape, in the folder
    `overlay` of an overlay catalog.
    """
    catalog = open_catalog((), assumptions)
    known = {entry.id for entry in catalog.list("models")}
    is_known = cache(partial(_is_accelerator, catalog))
    models: dict[str, dict[str, object]] = {}
    found: list[Question | Missing] = []
    for row in rows:
        if row.ran_out_of_memory:
            found.append(Missing(row=row.id, reason="ran out of memory: no figures"))
            continue
        own = row.own_model
        if own is None and (row.layers is not None or row.model not in known):
            found.append(row.missing("the shape of the model is not known"))
            continue
        if not is_known(row.accelerator):
            reason = f"no accelerator `{row.accelerator}` in the catalog"
            found.append(row.missing(reason))
            continue
        model = row.model if own is None else str(own["id"])
        if own is not None:
            models[model] = own
        found.append(Question(row=row, model=model, request=row.request(model)))
    (overlay / "models").mkdir(exist_ok=True)
    for model, own in models.items():
        write(overlay / "models" / f"{model}.toml", toml_document(own))
    return found


def _is_accelerator(catalog: Catalog, name: str) -> bool:
    with suppress(InputError):
        return bool(catalog.show("accelerators", name))
    return False


def _predict(question: Question, catalog: Catalog) -> Prediction | Missing:
    if question.row.has_layout:
        return _answer(question, {}, catalog)
    answers = (
        _answer(question, layout, catalog) for layout in _layouts_to_try(question.row)
    )
    predicted = (each for each in answers if isinstance(each, Prediction))
    working = [each for each in predicted if each.answer.feasible]
    if not working:
        reason = "no layout found for a row without one"
        return question.row.missing(reason, counted=False)
    return min(working, key=lambda each: each.step_seconds)


def _layouts_to_try(row: TrainingRow) -> Iterator[dict[str, object]]:
    """Give the layouts that a row without one may have been run with."""
    tensors = _DEGREES if row.tp is None else (row.tp,)
    stages = _STAGES if row.pp is None else (row.pp,)
    batches = _MICRO_BATCHES if row.micro_batch is None else (row.micro_batch,)
    again = (row.recompute,) if row.recompute else _RECOMPUTE
    for tp, pp, batch, recompute in product(tensors, stages, batches, again):
        sharded = tp * pp * row.cp
        if row.accelerators % sharded:
            continue
        dp = row.accelerators // sharded
        if row.global_batch % (dp * batch):
            continue
        yield {
            "tp": tp,
            "sequence_parallel": tp > 1 and row.flash_attention,
            "pp": pp,
            "dp": dp,
            "micro_batch": batch,
            "recompute": recompute,
        }


def _answer(
    question: Question, layout: Mapping[str, object], catalog: Catalog
) -> Prediction | Missing:
    counted = question.row.has_layout
    try:
        request = {**question.request, **layout}
        answer = catalog.ask("evaluate_training", request, TrainingEvaluation)
    except InputError as error:
        reason = error.diagnostics[0].message
        return question.row.missing(reason, counted=counted)
    if answer.memory is None or answer.step_seconds is None:
        reason = answer.rejections[0].message
        return question.row.missing(f"rejected: {reason}", counted=counted)
    return Prediction(
        question=question,
        answer=answer,
        memory=answer.memory,
        step_seconds=answer.step_seconds,
        searched=not counted,
    )


def comparisons(prediction: Prediction) -> Iterator[Comparison]:
    """Put the figures of a row beside the predicted ones."""
    row, answer = prediction.row, prediction.answer
    standing = "searched" if prediction.searched else row.standing
    step, memory = prediction.step_seconds, prediction.memory
    tokens = row.tokens_per_step / step / row.accelerators
    used = memory.total_bytes
    if row.memory_statistic == "allocated":
        used -= memory.overhead_bytes
    figures = {
        "step_time": (row.measured_step_seconds(answer), step, "s"),
        "tokens_per_s": (row.tokens_per_second_per_accelerator, tokens, "tokens/s"),
        "memory": (row.memory_bytes, used, "bytes"),
    }
    for metric, (measured, predicted, unit) in figures.items():
        if measured is None:
            continue
        parts = structs.asdict(memory if metric == "memory" else answer.step)
        yield Comparison(
            row=row.id,
            source=row.source,
            metric=metric,
            measured=measured,
            predicted=predicted,
            unit=unit,
            accelerator=row.accelerator,
            model=row.model,
            engine=row.framework,
            standing=standing,
            precision=row.precision,
            layout=row.layout,
            group_of_alike=row.group,
            why={name: value for name, value in parts.items() if value},
        )
