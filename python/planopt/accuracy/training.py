"""Runs of training as they were measured: their columns, and what is predicted."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from planopt.accuracy.columns import Count, Figure, Format, Name
from planopt.catalog.open import Catalog, open_catalog
from planopt.catalog.overlay import toml_document
from planopt.documents.training import TrainingEvaluation, TrainingMemory
from planopt.documents.validation import Comparison, Missing, Outcome, Standing
from planopt.errors import InputError
from planopt.files import write

GIB = 2.0**30
FIGURES = (
    *("step_seconds", "tokens_per_second_per_accelerator", "tflops_per_accelerator"),
    *("mfu", "memory_gib"),
)
"""Columns of what is measured."""
_AS_ASKED = (
    *("accelerator", "accelerators_per_host", "network", "nics_per_host", "framework"),
    *("sequence_parallel", "vpp", "cp", "ep", "expert_tp", "global_batch", "seq_len"),
    *("shard", "precision", "gradients", "master_weights", "optimizer"),
    *("flash_attention", "dropout", "causal", "loss_chunks"),
    *("lora_rank", "frozen_weights", "shard_group"),
)
"""Columns that the core is asked about by the same names."""


class TrainingRow(Struct, frozen=True, kw_only=True):
    """A run: what was run, on what, and what came out."""

    id: Name
    """Of the row, in its source."""
    source: Name
    """Where it was published, in short."""
    date: str = ""
    """When it was published."""
    framework: Name
    """Class of software, as the assumptions call it."""
    release: str = ""
    """Release of the software; not used by predictions yet."""
    model: Name
    """Id in the catalog; with `hidden`, the name of a model of that shape."""
    layers: Count | None = None
    hidden: Count | None = None
    heads: Count | None = None
    kv_heads: Count | None = None
    width: Count | None = None
    """Of the feed-forward network, or of an expert."""
    vocabulary: Count | None = None
    gated: bool | None = None
    tied: bool | None = None
    """Whether the head is the table of the embedding."""
    norm: Literal["rms", "layer", "layer-no-bias"] | None = None
    learned_positions: bool | None = None
    biased: bool | None = None
    experts: Count | None = None
    active_experts: Count | None = None
    accelerator: Name
    """Id in the catalog."""
    accelerators: Count
    accelerators_per_host: Count
    network: Name
    """Id in the catalog, of the network between hosts."""
    nics_per_host: Count
    tp: Count | None = None
    """Tensor parallelism; empty where the layout was not published."""
    sequence_parallel: bool
    pp: Count | None = None
    vpp: Count
    """Chunks of layers of a stage; 1 where the schedule is not interleaved."""
    cp: Count
    ep: Count
    expert_tp: Count
    micro_batch: Count | None = None
    """Sequences; empty where the layout was not published."""
    global_batch: Count
    """Sequences of a step."""
    seq_len: Count
    """Tokens of a sequence."""
    recompute: str = ""
    """none, selective, full; empty where neither it nor the layout was published."""
    shard: Literal["none", "zero1", "zero2", "zero3"]
    shard_group: Count | None = None
    """Ranks that shards are spread over, where they are not all."""
    precision: Name
    """Format of the products."""
    gradients: Literal["fp32", "bf16", "fp16"]
    """Format in which gradients are summed."""
    master_weights: bool
    optimizer: Literal["adam", "adam8bit"]
    lora_rank: Count | None = None
    frozen_weights: Format | None = None
    flash_attention: bool
    dropout: bool
    causal: bool
    loss_chunks: Count
    """Pieces that logits are there in, at a time."""
    offload: Literal["", "optimizer", "activations", "optimizer activations"] = ""
    """What is kept in the host's memory."""
    cuda_graph: Literal["", "none", "partial", "full"] = ""
    """Empty where it is not told; not used by predictions yet."""
    step_seconds: Figure | None = None
    tokens_per_second_per_accelerator: Figure | None = None
    tflops_per_accelerator: Figure | None = None
    mfu: Figure | None = None
    """Of the dense peak of the precision."""
    flops_counted: Literal["full", "causal", "hardware"]
    """How the source counts: attention whole or halved, or recomputation too."""
    memory_gib: Figure | None = None
    memory_statistic: Literal["allocated", "reserved", "device"]
    """Of the memory figure: tensors, what the allocator holds, what the card shows."""
    ran_out_of_memory: bool = False
    """Whether the source says that the run did not fit."""
    not_judged: Literal["", "all"] = ""
    """`all` where nothing should be judged by the row."""
    group: str = ""
    """Alike for rows that differ in releases and repetition alone."""

    @property
    def standing(self) -> Standing:
        """Whether its figures count."""
        return "outside" if self.not_judged else "counted"

    @property
    def has_layout(self) -> bool:
        """Whether nothing about the layout is left open: dp follows from the rest."""
        return None not in (self.tp, self.pp, self.micro_batch)

    @property
    def tokens_per_step(self) -> float:
        """Tokens of a step."""
        return float(self.global_batch) * self.seq_len

    @property
    def memory_bytes(self) -> float | None:
        """Memory of the fullest accelerator."""
        return None if self.memory_gib is None else self.memory_gib * GIB

    @property
    def layout(self) -> str:
        """The layout in short."""
        degrees = {"TP": self.tp, "PP": self.pp, "CP": self.cp, "EP": self.ep}
        degrees |= {"V": self.vpp, "B": self.micro_batch}
        parts = [f"{name}{degree}" for name, degree in degrees.items() if degree]
        return " ".join((*parts, self.shard, self.recompute)).strip()

    @property
    def own_model(self) -> dict[str, object] | None:
        """The file of a catalog for the model of a row that gives its figures.

        The id is the same for the same figures.
        """
        if self.hidden is None:
            return None
        layers, heads, experts = self.layers or 1, self.heads or 1, self.experts or 0
        kv_heads, width = self.kv_heads or heads, self.width or 4 * self.hidden
        vocabulary, active = self.vocabulary or 1, self.active_experts or 0
        figures = layers, self.hidden, heads, kv_heads, width, vocabulary, self.seq_len
        plain = re.sub(r"[^a-z0-9]+", "-", self.model.lower()).strip("-")
        biased = bool(self.biased)
        attention = {"kind": "grouped", "heads": heads, "kv_heads": kv_heads}
        biases = ("query_bias", "key_value_bias", "output_bias")
        mlp = {"kind": "dense", "width": width, "gated": bool(self.gated)}
        if experts:
            mlp |= {"kind": "experts", "experts": experts, "active": active}
        return {
            "id": "-".join(map(str, ("row", plain, *figures, experts, active))),
            "name": self.model,
            "hidden": self.hidden,
            "vocabulary": vocabulary,
            "max_context": self.seq_len,
            "weights": "bf16",
            "tied": bool(self.tied),
            "norm": self.norm or "rms",
            "positions": self.seq_len if self.learned_positions else 0,
            "layers": layers,
            "pattern": [0],
            "block": [
                {
                    "norms": 2,
                    "attention": {
                        **attention,
                        "head_dim": self.hidden // heads,
                        **dict.fromkeys(biases, biased),
                    },
                    "mlp": {**mlp, "bias": biased},
                }
            ],
        }

    def missing(self, reason: str, *, counted: bool = True) -> Missing:
        """Say why the row is not predicted."""
        metrics = []
        if counted and not self.not_judged and self.micro_batch is not None:
            rates = (self.tflops_per_accelerator, self.mfu)
            tokens = self.tokens_per_second_per_accelerator
            figures = {
                "step_time": self.step_seconds or tokens or any(rates),
                "tokens_per_s": tokens,
                "memory": self.memory_gib,
            }
            metrics = [metric for metric, figure in figures.items() if figure]
        return Missing(row=self.id, reason=reason, metrics=tuple(metrics))

    def measured_step_seconds(self, answer: TrainingEvaluation) -> float | None:
        """Return the measured time of a step.

        Printed; else from tokens per second; else from TFLOPS or MFU by the
        convention of the source, whose FLOPs the core counts.
        """
        if self.step_seconds is not None:
            return self.step_seconds
        if self.tokens_per_second_per_accelerator is not None:
            rate = self.tokens_per_second_per_accelerator
            return self.tokens_per_step / rate / self.accelerators
        # FLOPs of a step over those of the answer's own convention.
        achieved = answer.model_tflops_per_accelerator or 0.0
        flops, mfu = achieved * (answer.step_seconds or 0.0), answer.mfu or 1.0
        if self.tflops_per_accelerator is not None:
            if self.flops_counted == "hardware" and self.recompute == "full":
                flops *= (answer.hfu or 0.0) / mfu
            return flops / self.tflops_per_accelerator
        if self.mfu is not None:
            return flops / (self.mfu * achieved / mfu)
        return None

    def request(self, model: str) -> dict[str, object]:
        """Return the question to the core, of one device for a degree left open."""
        tp, pp = self.tp or 1, self.pp or 1
        return {
            **{name: getattr(self, name) for name in _AS_ASKED},
            "offload": self.offload.split() or None,
            "model": model,
            "tp": tp,
            "pp": pp,
            "dp": max(self.accelerators // (self.cp * tp * pp), 1),
            "micro_batch": self.micro_batch or 1,
            "recompute": self.recompute or "none",
            "model_flops": "causal" if self.flops_counted == "causal" else "full",
        }


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
    """A row with the core's answer to its question."""

    row: TrainingRow
    answer: TrainingEvaluation
    memory: TrainingMemory
    step_seconds: float
    searched: bool


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
        row=question.row,
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
