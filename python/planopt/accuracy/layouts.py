"""Layouts of rows that do not publish theirs."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt.accuracy.training_rows import TrainingRow

_DEGREES = (1, 2, 4, 8)
_STAGES = (1, 2, 4, 8, 16, 32)
_MICRO_BATCHES = (1, 2, 4, 8)
_RECOMPUTE = ("none", "selective", "full")


def layouts_to_try(row: TrainingRow) -> Iterator[dict[str, object]]:
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
