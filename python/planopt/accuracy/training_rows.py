"""A training run as it was measured: the columns of the schema of training."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from planopt.accuracy.columns import Count, Figure, Format, Name  # noqa: TC001
from planopt.documents.validation import Missing

if TYPE_CHECKING:
    from planopt.documents.training import TrainingEvaluation
    from planopt.documents.validation import Standing

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
        names = ("lora_rank", "frozen_weights", "shard_group")
        optional = {name: getattr(self, name) for name in names}
        optional["offload"] = self.offload.split() or None
        return {
            **{name: getattr(self, name) for name in _AS_ASKED},
            "model": model,
            "tp": tp,
            "pp": pp,
            "dp": max(self.accelerators // (self.cp * tp * pp), 1),
            "micro_batch": self.micro_batch or 1,
            "recompute": self.recompute or "none",
            "model_flops": "causal" if self.flops_counted == "causal" else "full",
            **{name: value for name, value in optional.items() if value is not None},
        }
