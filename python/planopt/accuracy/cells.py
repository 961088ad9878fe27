"""Cells of measurements that hold numbers: all of a file are checked before any use."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from planopt.errors import Diagnostic, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt.accuracy.measurements import Schema, Table

__all__ = ["check_cells"]

_POOLS = ("", "prefill_", "decode_")
_DEGREES = ("tp_size", "pp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size")

COUNTS = frozenset(
    {
        *("n_accelerators", "accelerators_per_node", "micro_batch", "global_batch"),
        *("tp", "pp", "dp", "cp", "ep", "vpp", "seq_len"),
        *("layers", "hidden", "heads", "kv_heads", "ffn", "vocab"),
        *("moe_experts", "moe_topk", "isl", "osl"),
        *("batch_or_concurrency", "concurrency", "prompts_per_user"),
        *(f"{pool}{degree}" for pool in _POOLS for degree in _DEGREES),
        *(f"{pool}num_workers" for pool in _POOLS),
    }
)
"""Columns of whole numbers."""
FIGURES = frozenset(
    {
        *("params_b", "step_time_s", "tokens_per_s_per_gpu", "tflops_per_gpu", "mfu"),
        *("memory_gb", "value", "silicon_ttft_ms", "silicon_tpot_ms"),
    }
)
"""Columns of what was measured or published, which is never 0."""
MAY_BE_ZERO = frozenset(
    {"isl", "osl"}
    | {f"{pool}{degree}" for pool in _POOLS for degree in _DEGREES}
    | {f"{pool}num_workers" for pool in _POOLS}
)
"""Counts of which 0 says that there is none, or that it is not said."""

MOST = 1e8
"""Of any count: a hundred million, so that products of them stay whole numbers."""
LEAST_FIGURE, MOST_FIGURE = 1e-9, 1e15
"""Figures in the units of their columns: nothing measured is outside."""


def check_cells(table: Table, schema: Schema) -> None:
    """Refuse cells of a file that are no numbers where numbers are read."""
    problems = [
        problem
        for row, line in zip(table.rows, table.lines, strict=True)
        for column in sorted((COUNTS | FIGURES) & row.keys() | schema.needed)
        for problem in _problems(table, column, row[column], line, schema)
    ]
    if problems:
        raise InputError(problems)


def _problems(
    table: Table, column: str, text: str, line: int, schema: Schema
) -> Iterator[Diagnostic]:
    if not text and column not in schema.needed:
        return
    whole = column in COUNTS
    least = LEAST_FIGURE
    if whole:
        least = 0 if column in MAY_BE_ZERO else 1
    most = MOST if whole else MOST_FIGURE
    number = _number(text)
    if least <= number <= most and not (whole and number % 1):
        return
    kind = "a whole number" if whole else "a number"
    nothing = "" if column in schema.needed else ", or nothing"
    yield Diagnostic(
        code="E113",
        message=f"`{text}` is no {column.replace('_', ' ')}",
        file=str(table.path),
        line=line,
        field=column,
        value=text,
        accepted=f"{kind} from {least:g} to {most:g}{nothing}",
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
