"""What products, experts and attention of one accelerator reach.

Formulas: docs/reference/model.md, section 3. Of each shape the fastest kernel of any
engine counts: what an engine does not reach of it is the engine's. Experts are fitted
by family of kernel as well: an engine runs one of them, the fastest or not.
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

__all__ = [
    "FAMILIES",
    "Peak",
    "attention_prompts",
    "decode_attention",
    "experts",
    "products",
    "products_of_training",
]

MICRO: Final = 1e-6
_ACTIVATION: Final = 2.0

# A product smaller than this in either dimension is not worth a card of a model.
_LEAST_WIDTH: Final = 256
# A product that is repeated reads its weights from an L2 as large as this (bytes, the
# data sheets of Ada and Blackwell); in a model it does not.
_LARGE_L2: Final = {"l40s": 96e6, "rtx-pro-6000-blackwell-server": 128e6}
_L2_MARGIN: Final = 1.25
_ROWS_PAST_L2: Final = 512
# Families of kernels of experts, by what the names of the tables have in them.
FAMILIES: Final = {
    "trtllm-gen": ("flashinfer_trtllm", "min_latency"),
    "deepgemm": ("deepgemm",),
    "cutlass": ("torch_flow_cutlass",),
    "marlin": ("marlin",),
    "triton": ("triton", "vllm_fused_moe"),
}
# Kernels of a format that another has replaced: weights widened in a pass apart.
_REPLACED: Final = {"mxfp4": ("sglang_fused_moe_triton",)}
# What a table calls by its engine alone, and other activations than the usual one.
_PLAIN: Final = "moe_torch_flow"
_OTHER_ACTIVATIONS: Final = ("nongated", "situ")

# Our format, the names in tables of products, and bytes of a weight.
_FORMATS: Final = {
    "bf16": (("bfloat16",), 2.0),
    "fp8": (("fp8", "fp8_block"), 1.0),
    "nvfp4": (("nvfp4",), 0.5625),
    "int4": (("int4_wo",), 0.51953125),
    "mxfp4": (("w4a16_mxfp4",), 0.53125),
}
_LEAST_ROWS: Final = 150
_TRAINING_ROWS: Final = 5000
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
# The card that was measured has as many as it has.
_OWN_ROWS: Final = Bounds(16, 1, 300)
# Bytes of an element of a cache.
_CACHES: Final = {"bfloat16": 2.0, "fp8": 1.0}
_EFFICIENCY: Final = Bounds(0.7, 0.02, 1.0)
_BANDWIDTH: Final = Bounds(0.8, 0.2, 1.0)


@dataclass(frozen=True)
class Peak:
    """Peak FLOP/s of an accelerator by format, and its bytes/s."""

    flops: Mapping[str, float]
    bandwidth: float


def products(
    kernels: Kernels, system: System, peak: Peak, weights: str, *, is_own: bool = True
) -> Fit | None:
    """Fit dense products with weights in a format: the fastest kernel of each shape.

    Parameters
    ----------
    is_own : bool
        Whether the figures are for the card of the tables alone.
    """
    every = _dense_products(kernels, system, weights)
    if every is None:
        return None
    best = every.groupby(["m", "n", "k"], as_index=False)["seconds"].min()
    best = best.sort_values("m", ascending=False)
    # A smaller product can be padded: none takes longer than a larger one.
    best["seconds"] = best.groupby(["n", "k"])["seconds"].cummin()
    resident = _LARGE_L2.get(system.accelerator, 0.0) * _L2_MARGIN
    of_memory = best["n"] * best["k"] * _FORMATS[weights][1] >= resident
    rows = kernels.sample(best[of_memory | (best["m"] >= _ROWS_PAST_L2)])
    return _fit_products(rows, peak, weights, _OWN_ROWS if is_own else _TILE_ROWS)


def products_of_training(kernels: Kernels, system: System, peak: Peak) -> Fit | None:
    """Fit products of 16 bits under all engines alike: training is fitted upon it."""
    rows = _dense_products(kernels, system, "bf16", sampled=True)
    return None if rows is None else _fit_products(rows, peak, "bf16", _TILE_ROWS)


def _dense_products(
    kernels: Kernels, system: System, weights: str, *, sampled: bool = False
) -> pd.DataFrame | None:
    names, _ = _FORMATS[weights]
    tables = (
        table[
            table["gemm_dtype"].isin(names)
            & (table["n"] >= _LEAST_WIDTH)
            & (table["k"] >= _LEAST_WIDTH)
        ]
        for _, table in kernels.read(system, "gemm")
    )
    if not sampled:
        return _joined(tables)
    return _joined(kernels.sample(table, _TRAINING_ROWS) for table in tables)


def _fit_products(
    rows: pd.DataFrame, peak: Peak, weights: str, half_rows: Bounds
) -> Fit | None:
    if weights not in peak.flops:
        return None
    m, n, k = (_column(rows, name) for name in "mnk")
    moved = n * k * _FORMATS[weights][1] + m * (n + k) * _ACTIVATION

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
        "half_rows": half_rows,
        "half_columns": Bounds(100, 1, 3000),
        "half_depth": Bounds(100, 1, 1000),
        "bandwidth_efficiency": _BANDWIDTH,
        "operation_overhead": Bounds(3, 0.5, 20),
    }
    return fit(parameters, predict, _column(rows, "seconds"))


def experts(
    kernels: Kernels,
    system: System,
    peak: Peak,
    weights: str,
    family: str | None = None,
) -> Fit | None:
    """Fit the two products of experts, with the sorting of tokens around them.

    Parameters
    ----------
    family : str, optional
        One of `FAMILIES`, whose kernels alone count; the fastest of all unless given.
    """
    names = _FORMATS[weights][0]
    if weights == "fp8" and family != "cutlass":
        # Checkpoints of experts in 8 bits have scales in blocks; TensorRT-LLM's CUTLASS
        # has them of a tensor, its products in blocks on Hopper are DeepGEMM's.
        names = ("fp8_block",)
    elif weights == "fp8":
        names = ("fp8",)
    weight = _FORMATS[weights][1]
    every = _joined(
        (
            table[
                table["moe_dtype"].isin((*names, *_EIGHT_BIT_INPUTS.get(weights, ())))
                & (table["distribution"] == "power_law_1.01")
                # Among several ranks the tables tell of the busiest: of routing.
                & (table["moe_ep_size"] == 1)
                & (table["inter_size"] / table["moe_tp_size"] >= _LEAST_WIDTH / 2)
                & table["kernel_source"].map(
                    lambda name: _is_of(name, family, system.accelerator, weights)
                )
            ]
            for _, table in kernels.read(system, "moe")
        ),
    )
    if every is None or (family is not None and len(every) < _LEAST_ROWS):
        return None
    rows = kernels.sample(every.groupby(_EXPERT_SHAPE, as_index=False)["seconds"].min())
    rate = peak.flops.get("bf16" if weights in ("int4", "mxfp4") else weights)
    if rate is None:
        return None
    tokens, hidden = _column(rows, "num_tokens"), _column(rows, "hidden_size")
    width = _column(rows, "inter_size") / _column(rows, "moe_tp_size")
    active = _column(rows, "topk")
    all_experts = _column(rows, "num_experts")
    met = all_experts * (1 - (1 - active / all_experts) ** tokens)
    here = tokens * active
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


def _is_of(name: str, family: str | None, accelerator: str, weights: str) -> bool:
    """Say whether a kernel of experts counts for a family, or for the fastest."""
    without = (*_OTHER_ACTIVATIONS, *_REPLACED.get(weights, ()))
    if any(other in name for other in without):
        return False
    if family is None:
        return True
    if name == _PLAIN and weights == "bf16":
        return family == "cutlass"
    if family == "deepgemm" and accelerator.startswith("h"):
        return "torch_flow_cutlass" in name
    if name == _PLAIN:
        # Of weights of 4 bits: TensorRT-LLM has Triton's on Hopper, its own since.
        return family == ("triton" if accelerator.startswith("h") else "trtllm-gen")
    own = (each for each, marks in FAMILIES.items() if any(m in name for m in marks))
    return next(own, None) == family


def attention_prompts(kernels: Kernels, system: System, peak: Peak) -> Fit | None:
    """Fit attention over whole prompts, grouped heads of 128."""
    every = _joined(
        _full_attention(table) for _, table in kernels.read(system, "context_attention")
    )
    if every is None:
        return None
    rows = kernels.sample(_fastest(every, "isl"))
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
    tables = [table for _, table in kernels.read(system, "generation_attention")]
    latent = [table for _, table in kernels.read(system, "generation_mla")]
    parts = []
    for cache, element in _CACHES.items():
        grouped = _joined(
            _full_attention(table, cache)[lambda rows: rows["step"] >= _LEAST_WIDTH]
            for table in tables
        )
        if grouped is not None:
            rows = kernels.sample(_fastest(grouped, "step"))
            tokens = _column(rows, "batch_size") * _column(rows, "step")
            elements = 2 * _column(rows, "num_key_value_heads") * 128
            flops = 4 * tokens * _column(rows, "num_heads") * 128
            parts.append((rows, tokens * elements * element, flops, element))
        mla = _joined(
            table[(table["kv_cache_dtype"] == cache) & (table["step"] >= 64)]
            for table in latent
        )
        # Products with latents of 8 bits may run at another rate.
        if mla is not None and element > 1:
            rows = kernels.sample(mla)
            tokens = _column(rows, "batch_size") * _column(rows, "step")
            flops = 2 * tokens * _column(rows, "num_heads") * (2 * 512 + 64)
            parts.append((rows, tokens * (512 + 64) * element, flops, element))
    if not parts:
        return None
    seconds = np.concatenate([_column(rows, "seconds") for rows, *_ in parts])
    moved = np.concatenate([moved for _, moved, _, _ in parts])
    flops = np.concatenate([flops for _, _, flops, _ in parts])
    narrow = np.concatenate(
        [np.full(len(rows), element == 1.0) for rows, _, _, element in parts]
    )

    def predict(reached: Mapping[str, float]) -> Array:
        share = np.where(
            narrow,
            reached["kv_bandwidth_efficiency_8bit"],
            reached["kv_bandwidth_efficiency"],
        )
        return roofline(
            flops / (peak.flops["bf16"] * reached["decode_attention_efficiency"]),
            moved / (peak.bandwidth * share),
        ) + (reached["attention_overhead"] * MICRO)

    parameters = {
        "decode_attention_efficiency": Bounds(0.4, 0.02, 1.0),
        "kv_bandwidth_efficiency": _BANDWIDTH,
        "kv_bandwidth_efficiency_8bit": _BANDWIDTH,
        "attention_overhead": Bounds(10, 1, 40),
    }
    return fit(parameters, predict, seconds)


def _fastest(table: pd.DataFrame, length: str) -> pd.DataFrame:
    """Return the fastest kernel of each shape of attention."""
    shape = ["batch_size", length, "num_heads", "num_key_value_heads"]
    return table.groupby(shape, as_index=False)["seconds"].min()


def _full_attention(table: pd.DataFrame, cache: str = "bfloat16") -> pd.DataFrame:
    """Return the rows without a window, of heads of 128 and arithmetic in 16 bits."""
    kept = (table["kv_cache_dtype"] == cache) & (table["head_dim"] == 128)
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
