"""One row of a training measurement: what was run, and what came out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planopt.accuracy.measurements import Missing
from planopt.accuracy.sources.conventions import conventions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from planopt.accuracy.measurements import Row, Standing
    from planopt.accuracy.sources.conventions import Framework, NetworkOf, SourceNotes

__all__ = ["TrainingRow", "latest_steps", "ran_out", "read_row"]

GIB = 2.0**30
_OUTSIDE = re.compile(r"SUSPECT|samples NOT packed")
"""Notes of rows that nothing is judged by."""
_OUT_OF_MEMORY = re.compile(r"\bOOM\b")
_HISTORY = re.compile(r"optimisation step (\d+)")
_GROUP = re.compile(r"group(\d+)")

# Rows are repeats of each other where they agree in everything but these.
_APART = ("id", "url_or_path", "date", "notes", "framework")

# The row's word for a precision, by its beginning, and the core's.
_PRECISIONS = (
    ("nvfp4", "nvfp4"),
    ("mxfp8", "fp8"),
    ("fp8", "fp8"),
    ("amp_fp8", "fp8"),
    ("bf16", "bf16"),
    ("amp_bf16", "bf16"),
    ("fp16", "fp16"),
    ("amp_fp16", "fp16"),
    ("tf32", "fp32"),
    ("fp32", "fp32"),
)

# What the column shard_strategy means to the core.
_SHARDS = (
    ("zero1", "zero1"),
    ("zero2", "zero2"),
    ("zero3", "zero3"),
    ("fsdp-shard-grad-op", "zero2"),
    ("fsdp", "zero3"),
    ("hsdp", "zero3"),
    ("none", "none"),
)

_AFTER_CHUNKED = (
    "Activation Checkpointing|Optimizer in backward|Activation Offloading"
    "|8-bit AdamW|LoRA"
)

# What notes say of the recipe, and what it is in the core's words.
_RECIPES: tuple[tuple[re.Pattern[str], dict[str, Any]], ...] = (
    (
        re.compile(r"pure bf16|MP mode PURE"),
        {"master_weights": False, "gradients": "bf16"},
    ),
    # torchtune's techniques, each on top of those before it.
    (re.compile(f"Chunked|{_AFTER_CHUNKED}"), {"loss_chunks": 8}),
    (re.compile(r"8-bit AdamW"), {"optimizer": "adam8bit"}),
    (re.compile(r"\bLoRA"), {"lora_rank": 8}),
    (re.compile(r"\bQLoRA"), {"lora_rank": 8, "frozen_weights": "int4"}),
)

# Networks by what the column internode_network says.
_NETWORKS = (
    (re.compile(r"RoCE 1600 Gbps/node"), "infiniband-200g", 8),
    (re.compile(r"4x100Gb"), "ethernet-100g-cx5", 4),
    (re.compile(r"Selene"), "infiniband-200g", 8),
    (re.compile(r"8x50 GB/s"), "infiniband-400g", 8),
    (re.compile(r"DCN"), "ethernet-100g-cx5", 1),
)


@dataclass(frozen=True, kw_only=True)
class TrainingRow:
    """A row with its words understood."""

    id: str
    source: str
    framework: Framework
    notes: SourceNotes
    columns: Row
    model: str
    accelerator: str
    accelerators: int
    per_host: int
    seq_len: int
    global_batch: int
    micro_batch: int | None
    tp: int | None
    pp: int | None
    cp: int
    ep: int
    vpp: int
    recompute: str
    shard: str
    shard_group: int | None
    precision: str
    standing: Standing

    @property
    def tokens_per_step(self) -> float:
        """Tokens of a step."""
        return float(self.global_batch) * self.seq_len

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens per second of one accelerator, as printed."""
        return self.figure("tokens_per_s_per_gpu")

    @property
    def memory_bytes(self) -> float | None:
        """Memory of the fullest accelerator."""
        gib = self.figure("memory_gb")
        return None if gib is None else gib * GIB

    @property
    def layout(self) -> str:
        """The layout in short."""
        degrees = {
            "TP": self.tp,
            "PP": self.pp,
            "CP": self.cp,
            "EP": self.ep,
            "V": self.vpp,
            "B": self.micro_batch,
        }
        parts = [f"{name}{degree}" for name, degree in degrees.items() if degree]
        return " ".join((*parts, self.shard, self.recompute))

    @property
    def contents(self) -> tuple[str, ...]:
        """What rows that repeat each other have alike."""
        columns = self.columns.items()
        return tuple(text for name, text in columns if name not in _APART)

    def figure(self, column: str) -> float | None:
        """Return a measured figure, ``None`` where there is none."""
        text = self.columns.get(column, "")
        return float(text) if text else None

    def missing(self, reason: str, *, counted: bool = True) -> Missing:
        """Say why the row is not predicted."""
        return Missing(row=self.id, reason=reason, metrics=self._metrics(counted))

    def _metrics(self, counted: bool) -> tuple[str, ...]:  # noqa: FBT001 - a switch of missing
        if not counted or self.standing != "counted" or self.micro_batch is None:
            return ()
        steps = ("step_time_s", "tokens_per_s_per_gpu", "tflops_per_gpu", "mfu")
        metrics = []
        if any(self.columns.get(column) for column in steps):
            metrics.append("step_time")
        if self.columns.get("tokens_per_s_per_gpu"):
            metrics.append("tokens_per_s")
        if self.columns.get("memory_gb"):
            metrics.append("memory")
        return tuple(metrics)

    def step_seconds(self, answer: Mapping[str, Any]) -> float | None:
        """Return the measured time of a step.

        Printed; else from tokens per second; else from TFLOPS or MFU by the
        convention of the source, whose FLOPs the core counts.
        """
        printed = self.figure("step_time_s")
        if printed is not None:
            return printed
        tokens = self.tokens_per_second
        if tokens is not None:
            return self.tokens_per_step / tokens / self.accelerators
        rate = self.figure("tflops_per_gpu")
        mfu = self.figure("mfu")
        # FLOPs of a step over those of the answer's own convention.
        flops = float(answer["model_tflops_per_accelerator"]) * float(
            answer["step_seconds"]
        )
        if rate is not None:
            if self.notes.model_flops == "hardware" and self.recompute == "full":
                flops *= float(answer["hfu"]) / float(answer["mfu"])
            return flops / rate
        if mfu is not None:
            peak = float(answer["model_tflops_per_accelerator"]) / float(answer["mfu"])
            return flops / (mfu * peak)
        return None

    def request(self, model: str, usual: NetworkOf) -> dict[str, Any]:
        """Return the question to the core."""
        tp, pp = self.tp or 1, self.pp or 1
        sharded = self.cp * tp * pp
        network, nics = self._network(usual)
        convention = self.notes.model_flops
        request: dict[str, Any] = {
            "model": model,
            "accelerator": self.accelerator,
            "accelerators_per_host": min(self.per_host, self.accelerators),
            "network": network,
            "nics_per_host": min(nics, self.per_host),
            "tp": tp,
            "sequence_parallel": tp > 1 and self._divides_sequence,
            "pp": pp,
            "vpp": self.vpp if pp > 1 else 1,
            "dp": max(self.accelerators // sharded, 1),
            "cp": self.cp,
            "ep": self.ep,
            "expert_tp": 1 if self.ep > 1 else tp,
            "framework": self.framework.id,
            "micro_batch": self.micro_batch or 1,
            "global_batch": self.global_batch,
            "seq_len": self.seq_len,
            "recompute": self.recompute,
            "shard": self.shard,
            "precision": dict(_PRECISIONS).get(self.precision, self.precision),
            "flash_attention": self.notes.flash_attention,
            "dropout": self.notes.dropout,
            "causal": self.notes.causal,
            "loss_chunks": self.notes.loss_chunks,
            "model_flops": "causal" if convention == "causal" else "full",
        }
        if self.framework.gradients == "weights":
            request["gradients"] = self.precision if self.is_half else "bf16"
        for pattern, changes in _RECIPES:
            if pattern.search(self.columns.get("notes", "")):
                request |= changes
        if self.shard_group is not None:
            request["shard_group"] = self.shard_group
        offloads = [
            part
            for part in ("optimizer", "activations")
            if part in (said := self.columns.get("offload", ""))
            and "fine-grained" not in said
        ]
        if offloads:
            request["offload"] = offloads
        return request

    @property
    def is_half(self) -> bool:
        """Whether the arithmetic is in 16 bits."""
        return self.precision in ("bf16", "fp16")

    @property
    def _divides_sequence(self) -> bool:
        """Sequence parallelism came to Megatron with selective recomputation."""
        return self.notes.flash_attention or self.recompute == "selective"

    def _network(self, usual: NetworkOf) -> tuple[str, int]:
        said = self.columns.get("internode_network", "")
        for pattern, network, nics in _NETWORKS:
            if pattern.search(said):
                return network, nics
        if self.notes.network is not None:
            return self.notes.network, self.notes.nics_per_host or 1
        return usual.network, usual.nics_per_host


def latest_steps(rows: Iterable[Row]) -> list[Row]:
    """Drop all but the last step of optimisation histories."""
    last: dict[tuple[str, ...], int] = {}
    for row in rows:
        if step := _HISTORY.search(row.get("notes", "")):
            key = _history(row)
            last[key] = max(last.get(key, 0), int(step[1]))
    return [
        row
        for row in rows
        if not (step := _HISTORY.search(row.get("notes", "")))
        or int(step[1]) == last[_history(row)]
    ]


def _history(row: Row) -> tuple[str, ...]:
    return (row["source"], row["model"], row["accelerator"], row["n_accelerators"])


def ran_out(row: Row) -> bool:
    """Return whether the source says that the run did not fit."""
    notes = row.get("notes", "")
    return bool(_OUT_OF_MEMORY.search(notes)) and not row.get("step_time_s")


def read_row(row: Row) -> TrainingRow | Missing:
    """Understand a row, or say why it cannot be."""
    notes = row.get("notes", "")

    def missing(reason: str) -> Missing:
        return Missing(row=row.get("id", ""), reason=reason)

    if ran_out(row):
        return missing("ran out of memory: no figures")
    counts = ("accelerator", "n_accelerators", "seq_len", "global_batch")
    for column in counts:
        if not row.get(column):
            return missing(f"no {column.replace('_', ' ')}")
    known = conventions()
    source = known.source_of(row.get("source", ""))
    framework = known.framework_of(row.get("framework", ""), source)
    precision = row.get("precision", "").split(" ")[0] or "bf16"
    base = next(
        (mine for start, mine in _PRECISIONS if precision.startswith(start)), None
    )
    if base is None:
        return missing(f"precision `{precision}` is not known")
    shard, group = _shard(row, framework, source)
    tp, pp, cp = _count(row, "tp"), _count(row, "pp"), _count(row, "cp") or 1
    accelerators = int(float(row["n_accelerators"]))
    if accelerators % ((tp or 1) * (pp or 1) * cp):
        return missing("degrees do not multiply to the accelerators")
    per_host = _count(row, "accelerators_per_node") or min(accelerators, 8)
    return TrainingRow(
        id=row.get("id", ""),
        source=row.get("source", ""),
        framework=framework,
        notes=source,
        columns=row,
        model=row["model"],
        accelerator=row["accelerator"],
        accelerators=accelerators,
        per_host=per_host,
        seq_len=int(float(row["seq_len"])),
        global_batch=int(float(row["global_batch"])),
        micro_batch=_count(row, "micro_batch"),
        tp=tp,
        pp=pp,
        cp=cp,
        ep=_count(row, "ep") or 1,
        vpp=_count(row, "vpp") or 1,
        recompute=row.get("recompute") or source.recompute or framework.recompute,
        shard=shard,
        shard_group=group,
        precision=base,
        standing=(
            "outside" if _OUTSIDE.search(notes) or row.get("exclude") else "counted"
        ),
    )


def _shard(
    row: Row, framework: Framework, source: SourceNotes
) -> tuple[str, int | None]:
    word = row.get("shard_strategy") or source.shard or framework.shard
    shard = next((mine for start, mine in _SHARDS if word.startswith(start)), word)
    group = _GROUP.search(word)
    if group:
        return shard, int(group[1])
    if word == "hsdp":
        return shard, _count(row, "accelerators_per_node")
    return shard, None


def _count(row: Row, column: str) -> int | None:
    text = row.get(column, "")
    return int(float(text)) if text else None
