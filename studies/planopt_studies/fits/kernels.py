"""What products, experts and attention of one accelerator reach.

Formulas: docs/reference/model.md, section 3. Engines count alike: their kernels differ,
and which one a user runs is not the accelerator's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from planopt_studies.fits.fit import Bounds, Fit, fit, roofline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from planopt_studies.fits.fit import Array
    from planopt_studies.fits.tables import Kernels, System

__all__ = ["Peak", "attention_prompts", "decode_attention", "experts", "products"]

MICRO: Final = 1e-6
_ACTIVATION: Final = 2.0

# A product smaller than this in either dimension is not worth a card of a model.
_LEAST_WIDTH: Final = 256
# Tables whose time is that of the host that launches: the same on every accelerator.
_LAUNCHED_ONE_BY_ONE: Final = {("trtllm", "fp8"), ("vllm", "fp8_block")}

# Our format, the names in tables of products, and bytes of a weight.
_FORMATS: Final = {
    "bf16": (("bfloat16",), 2.0),
    "fp8": (("fp8", "fp8_block"), 1.0),
    "nvfp4": (("nvfp4",), 0.5625),
    "int4": (("int4_wo",), 0.51953125),
    "mxfp4": (("w4a16_mxfp4",), 0.53125),
}
_EXPERT_RANKS: Final = 16
# Kernels that multiply inputs of 8 bits with weights of 4: Blackwell has instructions.
_EIGHT_BIT_INPUTS: Final = {"mxfp4": ("w4a8_mxfp4_mxfp8",)}
_EXPERT_SHAPE: Final = [
    "num_tokens",
    "hidden_size",
    "inter_size",
    "topk",
    "num_experts",
    "moe_tp_size",
    "moe_ep_size",
]

# Tensor cores work on 16 rows. More would be a floor under products of one row, which
# kernels for them do not have, and which cards with less arithmetic would run into.
_TILE_ROWS: Final = Bounds(8, 1, 16)
_EFFICIENCY: Final = Bounds(0.7, 0.02, 1.0)
_BANDWIDTH: Final = Bounds(0.8, 0.2, 1.0)


@dataclass(frozen=True)
class Peak:
    """Peak FLOP/s of an accelerator by format, and its bytes/s."""

    flops: Mapping[str, float]
    bandwidth: float


def products(kernels: Kernels, system: System, peak: Peak, weights: str) -> Fit | None:
    """Fit dense products with weights in a format."""
    names, weight = _FORMATS[weights]
    rows = _rows(
        kernels,
        (
            table[
                (table["gemm_dtype"] == name)
                & (table["n"] >= _LEAST_WIDTH)
                & (table["k"] >= _LEAST_WIDTH)
            ]
            for engine, table in kernels.read(system, "gemm")
            for name in names
            if (engine, name) not in _LAUNCHED_ONE_BY_ONE
        ),
    )
    if rows is None or weights not in peak.flops:
        return None
    m, n, k = (_column(rows, name) for name in "mnk")
    moved = n * k * weight + m * (n + k) * _ACTIVATION

    def predict(reached: Mapping[str, float]) -> Array:
        filled = (
            (m + reached["half_rows"])
            * (n + reached["half_columns"])
            * (k + reached["half_depth"])
        )
        arithmetic = 2 * filled / (peak.flops[weights] * reached["efficiency"])
        traffic = moved / (peak.bandwidth * reached["bandwidth_efficiency"])
        return roofline(arithmetic, traffic) + reached["operation_overhead"] * MICRO

    parameters = {
        "efficiency": _EFFICIENCY,
        "half_rows": _TILE_ROWS,
        "half_columns": Bounds(100, 1, 3000),
        "half_depth": Bounds(100, 1, 1000),
        "bandwidth_efficiency": _BANDWIDTH,
        "operation_overhead": Bounds(3, 0.5, 20),
    }
    return fit(parameters, predict, _column(rows, "seconds"))


def experts(kernels: Kernels, system: System, peak: Peak, weights: str) -> Fit | None:
    """Fit the two products of experts, with the sorting of tokens around them."""
    names, weight = _FORMATS[weights]
    every = _joined(
        (
            table[
                table["moe_dtype"].isin((*names, *_EIGHT_BIT_INPUTS.get(weights, ())))
                & (table["distribution"] == "power_law_1.01")
                & (table["moe_ep_size"] <= _EXPERT_RANKS)
                & (table["num_experts"] % table["moe_ep_size"] == 0)
                & (table["inter_size"] / table["moe_tp_size"] >= _LEAST_WIDTH / 2)
            ]
            for _, table in kernels.read(system, "moe")
        ),
    )
    if every is None:
        return None
    # Engines choose among kernels by what is measured: the fastest of a shape counts.
    rows = kernels.sample(every.groupby(_EXPERT_SHAPE, as_index=False)["seconds"].min())
    rate = peak.flops.get("bf16" if weights in ("int4", "mxfp4") else weights)
    if rate is None:
        return None
    tokens, hidden = _column(rows, "num_tokens"), _column(rows, "hidden_size")
    width = _column(rows, "inter_size") / _column(rows, "moe_tp_size")
    ranks, active = _column(rows, "moe_ep_size"), _column(rows, "topk")
    all_experts = _column(rows, "num_experts")
    met = all_experts / ranks * (1 - (1 - active / all_experts) ** tokens)
    here = tokens * active / ranks
    # Gate and up are one product of twice the width; down is the other.
    shapes = ((hidden, 2 * width), (width, hidden))

    def predict(reached: Mapping[str, float]) -> Array:
        launches = 2 * reached["operation_overhead"] * MICRO
        seconds = np.full_like(here, launches)
        for depth, columns in shapes:
            filled = (here + met * reached["half_rows"]) * depth
            arithmetic = 2 * filled * (columns + reached["half_columns"])
            moved = met * depth * columns * weight + here * (depth + columns) * 2
            seconds = seconds + roofline(
                arithmetic / (rate * reached["efficiency"]),
                moved / (peak.bandwidth * reached["bandwidth_efficiency"]),
            )
        return seconds

    parameters = {
        "efficiency": _EFFICIENCY,
        "half_rows": Bounds(30, 1, 300),
        "half_columns": Bounds(100, 1, 3000),
        "bandwidth_efficiency": _BANDWIDTH,
        "operation_overhead": Bounds(10, 1, 60),
    }
    return fit(parameters, predict, _column(rows, "seconds"))


def attention_prompts(kernels: Kernels, system: System, peak: Peak) -> Fit | None:
    """Fit attention over whole prompts, grouped heads of 128."""
    rows = _rows(
        kernels,
        (
            _full_attention(table)
            for _, table in kernels.read(system, "context_attention")
        ),
    )
    if rows is None:
        return None
    prompts, tokens = _column(rows, "batch_size"), _column(rows, "isl")
    heads = _column(rows, "num_heads")
    flops = 4 * prompts * tokens * (tokens + 1) / 2 * heads * 128

    def predict(reached: Mapping[str, float]) -> Array:
        share = tokens / (tokens + reached["half_prompt"])
        rate = peak.flops["bf16"] * reached["attention_efficiency"] * share
        return np.asarray(flops / rate + reached["overhead"] * MICRO)

    parameters = {
        "attention_efficiency": _EFFICIENCY,
        "half_prompt": Bounds(500, 1, 5000),
        "overhead": Bounds(10, 1, 60),
    }
    return fit(parameters, predict, _column(rows, "seconds"))


def decode_attention(kernels: Kernels, system: System, peak: Peak) -> Fit | None:
    """Fit attention of decoded tokens: grouped, and latent where it was measured."""
    grouped = _rows(
        kernels,
        (
            _full_attention(table)[lambda rows: rows["step"] >= _LEAST_WIDTH]
            for _, table in kernels.read(system, "generation_attention")
        ),
    )
    if grouped is None:
        return None
    sequences, cached = _column(grouped, "batch_size"), _column(grouped, "step")
    moved = 4 * sequences * cached * _column(grouped, "num_key_value_heads") * 128
    flops = 4 * sequences * cached * _column(grouped, "num_heads") * 128
    seconds = _column(grouped, "seconds")
    latent = _rows(
        kernels,
        (
            table[(table["kv_cache_dtype"] == "bfloat16") & (table["step"] >= 64)]
            for _, table in kernels.read(system, "generation_mla")
        ),
    )
    if latent is not None:
        tokens = _column(latent, "batch_size") * _column(latent, "step")
        heads = _column(latent, "num_heads")
        moved = np.concatenate([moved, tokens * (512 + 64) * 2])
        flops = np.concatenate([flops, 2 * tokens * heads * (2 * 512 + 64)])
        seconds = np.concatenate([seconds, _column(latent, "seconds")])

    def predict(reached: Mapping[str, float]) -> Array:
        return roofline(
            flops / (peak.flops["bf16"] * reached["decode_attention_efficiency"]),
            moved / (peak.bandwidth * reached["kv_bandwidth_efficiency"]),
        ) + (reached["attention_overhead"] * MICRO)

    parameters = {
        "decode_attention_efficiency": Bounds(0.4, 0.02, 1.0),
        "kv_bandwidth_efficiency": _BANDWIDTH,
        "attention_overhead": Bounds(10, 1, 40),
    }
    return fit(parameters, predict, seconds)


def _full_attention(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows without a window, of heads of 128 in 16 bits."""
    kept = (table["kv_cache_dtype"] == "bfloat16") & (table["head_dim"] == 128)
    kept &= table["attn_dtype"] == "bfloat16"
    if "window_size" in table:
        kept &= table["window_size"] == 0
    return table[kept]


def _rows(kernels: Kernels, tables: Iterable[pd.DataFrame]) -> pd.DataFrame | None:
    """Join samples of the tables that have rows."""
    return _joined(kernels.sample(table) for table in tables)


def _joined(tables: Iterable[pd.DataFrame]) -> pd.DataFrame | None:
    """Join the tables that have rows."""
    kept = [table for table in tables if len(table)]
    return pd.concat(kept) if kept else None


def _column(rows: pd.DataFrame, name: str) -> Array:
    return np.asarray(rows[name], dtype=float)
