"""Rows of tables of training: what was run, and what came out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from planopt.accuracy.training import TrainingRow
from planopt.catalog.open import open_catalog
from planopt_studies.prepare.conventions import conventions
from planopt_studies.prepare.geometry import (
    ShapeUnknownError,
    model_key,
    shape_of,
    with_heads,
)
from planopt_studies.prepare.rules import kept
from planopt_studies.residuals import family_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from planopt.catalog.open import Catalog
    from planopt_studies.prepare.conventions import Framework, SourceNotes
    from planopt_studies.prepare.rules import Ledger, Raw

__all__ = ["COLUMNS", "prepare_training"]

COLUMNS: Final = frozenset(
    {"model", "accelerator", "n_accelerators", "micro_batch", "global_batch"}
)
_RELEASE: Final = re.compile(r"\d+(?:\.\w+)+")
_OUTSIDE = re.compile(r"SUSPECT|samples NOT packed")
"""Notes of rows that nothing is judged by."""
_OUT_OF_MEMORY = re.compile(r"\bOOM\b")
_HISTORY = re.compile(r"optimisation step (\d+)")
_GROUP = re.compile(r"group(\d+)")
_WHOLE_HOST: Final = 8
"""Accelerators of a host that has all of the usual NICs."""
_SOME_LAYERS = re.compile(r"full on (\d+) of")

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


NO_LAYOUT: Final = ("tp", "pp", "micro_batch")


def no_steps_before_the_latest(rows: Iterable[Raw], ledger: Ledger) -> list[Raw]:
    """Drop all but the last step of optimisation histories."""
    rows = list(rows)
    last: dict[tuple[str, ...], int] = {}
    for row in rows:
        if step := _HISTORY.search(row.get("notes", "")):
            key = _history(row)
            last[key] = max(last.get(key, 0), int(step[1]))
    latest = [
        row
        for row in rows
        if not (step := _HISTORY.search(row.get("notes", "")))
        or int(step[1]) == last[_history(row)]
    ]
    if dropped := len(rows) - len(latest):
        ledger.left_out["an earlier step of an optimisation history"] += dropped
    return latest


def _history(row: Raw) -> tuple[str, ...]:
    return (row["source"], row["model"], row["accelerator"], row["n_accelerators"])


def ran_out(row: Raw) -> bool:
    """Return whether the source says that the run did not fit."""
    notes = row.get("notes", "")
    return bool(_OUT_OF_MEMORY.search(notes)) and not row.get("step_time_s")


def prepare_training(rows: Iterable[Raw], ledger: Ledger) -> list[TrainingRow]:
    """Bring rows into the schema of training."""
    catalog = open_catalog()
    known = _known_models(catalog)
    latest = no_steps_before_the_latest(rows, ledger)
    filled = list(with_heads(latest))
    for row, whole in zip(latest, filled, strict=True):
        if row.get("heads", "") != whole.get("heads", ""):
            ledger.changed["heads of a model as wide in the same source"] += 1
    rules = (
        no_accelerator,
        no_number_of_accelerators,
        no_sequence_length,
        no_global_batch,
        micro_batch_is_a_part_of_a_sequence,
        precision_is_not_known,
        degrees_do_not_multiply_to_the_accelerators,
    )
    found = kept(filled, rules, ledger)
    return [_row(row, known, catalog, ledger) for row in found]


def no_accelerator(row: Raw) -> bool:
    """Whether the accelerator is not told."""
    return not row["accelerator"] and not ran_out(row)


def no_number_of_accelerators(row: Raw) -> bool:
    """Whether the number of accelerators is not told."""
    return not row["n_accelerators"]


def no_sequence_length(row: Raw) -> bool:
    """Whether the tokens of a sequence are not told."""
    return not row["seq_len"]


def no_global_batch(row: Raw) -> bool:
    """Whether the sequences of a step are not told."""
    return not row["global_batch"]


def micro_batch_is_a_part_of_a_sequence(row: Raw) -> bool:
    """Whether devices share a sequence under the name of a batch."""
    return bool(row["micro_batch"]) and float(row["micro_batch"]) % 1 > 0


def precision_is_not_known(row: Raw) -> bool:
    """Whether the products are in a format that we do not have."""
    return _precision(row) is None


def degrees_do_not_multiply_to_the_accelerators(row: Raw) -> bool:
    """Whether the row contradicts itself."""
    tp, pp, cp = (_count(row, name) or 1 for name in ("tp", "pp", "cp"))
    return bool(int(float(row["n_accelerators"])) % (tp * pp * cp))


def _precision(row: Raw) -> str | None:
    word = row.get("precision", "").split(" ")[0] or "bf16"
    return next((mine for start, mine in _PRECISIONS if word.startswith(start)), None)


def _row(
    row: Raw,
    known: Mapping[str, tuple[str, int, int]],
    catalog: Catalog,
    ledger: Ledger,
) -> TrainingRow:
    notes = row.get("notes", "")
    source = conventions().source_of(row["source"])
    framework = conventions().framework_of(row["framework"], row["source"])
    precision = _precision(row) or "bf16"
    shard, group = _shard(row, framework, source)
    accelerators = int(float(row["n_accelerators"]))
    per_host = _count(row, "accelerators_per_node") or min(accelerators, 8)
    tp, pp, ep = _count(row, "tp"), _count(row, "pp"), _count(row, "ep") or 1
    recompute = row["recompute"]
    if some := _SOME_LAYERS.search(row.get("recompute_layers", "")):
        recompute = f"layers:{some[1]}"
    has_layout = all(row[name] for name in NO_LAYOUT)
    if not recompute and has_layout:
        recompute = source.recompute or framework.recompute
        ledger.changed["recomputation of its framework or source"] += 1
    if not row["shard_strategy"]:
        ledger.changed["sharding of its framework or source"] += 1
    recipe: dict[str, Any] = {
        "loss_chunks": source.loss_chunks,
        "gradients": "fp32",
        "master_weights": True,
        "optimizer": "adam",
    }
    if framework.gradients == "weights":
        is_half = precision in ("bf16", "fp16")
        recipe["gradients"] = precision if is_half else "bf16"
    if rank := _count(row, "lora_rank"):
        recipe["lora_rank"] = rank
    for pattern, changes in _RECIPES:
        if not rank and pattern.search(notes) and not ran_out(row):
            ledger.changed["recipe that its notes tell of"] += 1
            recipe |= changes
    network, nics = _network(row, source, catalog)
    flash = source.flash_attention
    release = _RELEASE.search(row["framework"])
    statistic = "allocated" if source.memory_counts == "allocated" else "device"
    columns = {
        "id": row["id"],
        "source": row["source"],
        "date": row["date"],
        "framework": framework.id,
        "release": release[0] if release else "",
        **_model(row, known),
        "accelerator": row["accelerator"],
        "accelerators": accelerators,
        "accelerators_per_host": min(per_host, accelerators),
        "network": network,
        "nics_per_host": nics if per_host >= _WHOLE_HOST else min(nics, per_host),
        "tp": tp,
        # Sequence parallelism came to Megatron with selective recomputation.
        "sequence_parallel": said.lower() in ("1", "true")
        if (said := row.get("sequence_parallel", ""))
        else (tp or 1) > 1 and (flash or recompute == "selective"),
        "pp": pp,
        "vpp": (_count(row, "vpp") or 1) if (pp or 1) > 1 else 1,
        "cp": _count(row, "cp") or 1,
        "ep": ep,
        "expert_tp": 1 if ep > 1 else tp or 1,
        "micro_batch": _count(row, "micro_batch"),
        "global_batch": int(float(row["global_batch"])),
        "seq_len": int(float(row["seq_len"])),
        "recompute": recompute,
        "shard": shard,
        "shard_group": group,
        "precision": precision,
        **recipe,
        "flash_attention": flash,
        "dropout": source.dropout,
        "causal": source.causal,
        "offload": _offload(row),
        "step_seconds": _figure(row, "step_time_s"),
        "tokens_per_second_per_accelerator": _figure(row, "tokens_per_s_per_gpu"),
        "tflops_per_accelerator": _figure(row, "tflops_per_gpu"),
        "mfu": _figure(row, "mfu"),
        "flops_counted": source.model_flops or "full",
        "memory_gib": _figure(row, "memory_gb"),
        "memory_statistic": statistic,
        "ran_out_of_memory": ran_out(row),
        "not_judged": "all" if _OUTSIDE.search(notes) or row.get("exclude") else "",
    }
    return msgspec.convert(columns, TrainingRow)


def _model(row: Raw, known: Mapping[str, tuple[str, int, int]]) -> dict[str, Any]:
    """Return the columns that say which model it is."""
    try:
        return shape_of(row, known)
    except ShapeUnknownError:
        return {"model": row["model"], "layers": _count(row, "layers") or 1}


def _known_models(catalog: Catalog) -> dict[str, tuple[str, int, int]]:
    """Return the catalog's models by the keys of their ids and names."""
    known = {}
    for entry in catalog.list("models"):
        model = catalog.model(entry.id)
        facts = (entry.id, model.layers, model.hidden)
        known[model_key(entry.id)] = facts
        known[model_key(entry.name)] = facts
    return known


def _network(row: Raw, notes: SourceNotes, catalog: Catalog) -> tuple[str, int]:
    for pattern, network, nics in _NETWORKS:
        if pattern.search(row.get("internode_network", "")):
            return network, nics
    if notes.network is not None:
        return notes.network, notes.nics_per_host or 1
    usual = conventions().network_of(family_of(catalog, row["accelerator"]))
    return usual.network, usual.nics_per_host


def _offload(row: Raw) -> str:
    said = row.get("offload", "")
    if "fine-grained" in said:
        return ""
    return " ".join(part for part in ("optimizer", "activations") if part in said)


def _figure(row: Raw, column: str) -> float | None:
    text = row.get(column, "")
    return float(text) if text else None


def _shard(
    row: Raw, framework: Framework, source: SourceNotes
) -> tuple[str, int | None]:
    word = row.get("shard_strategy") or source.shard or framework.shard
    shard = next((mine for start, mine in _SHARDS if word.startswith(start)), word)
    group = _GROUP.search(word)
    if group:
        return shard, int(group[1])
    if word == "hsdp":
        return shard, _count(row, "accelerators_per_node")
    return shard, None


def _count(row: Raw, column: str) -> int | None:
    text = row.get(column, "")
    return int(float(text)) if text else None
