"""What an RTX 4090 reaches: layers of Llama-3.1-8B that were timed one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from planopt_studies.fits.fit import Bounds, Fit, fit, roofline

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from planopt_reference import Facts
    from planopt_studies.fits.fit import Array

__all__ = ["PROFILED", "PROFILE_CITE", "profiled_card"]

PROFILED: Final = "rtx-4090"
PROFILE_CITE: Final = (
    "casys-kaist/LLMServingSim@5daddb2 (MIT), RTX 4090, Llama-3.1-8B, bf16, vLLM 0.19"
)

# Inputs and outputs of the products that were timed.
_SHAPES: Final = {
    "qkv_proj": (4096, 6144),
    "o_proj": (4096, 4096),
    "gate_up_proj": (4096, 28672),
    "down_proj": (14336, 4096),
    "lm_head": (4096, 128256),
}
_HEADS, _KV_HEADS, _HEAD_DIM = 32, 8, 128
_BYTES: Final = 2.0
# Four widths tell nothing of small ones: those are as on the other card of the family.
_HALF_COLUMNS, _HALF_DEPTH = 1.0, 30.0


def profiled_card(
    folder: Path, facts: Facts
) -> dict[str, tuple[dict[str, float], list[Fit]]]:
    """Fit products and attention to the profile."""
    card = facts.accelerator(PROFILED)
    products = _products(folder, card.peak["bf16"], card.memory_bandwidth)
    attention = pd.read_csv(folder / "k4090_attention.csv")
    prompts = _prompts(attention, card.peak["bf16"])
    decoding = _decoding(attention, card.memory_bandwidth)
    figures = {
        **products.values,
        "half_columns": _HALF_COLUMNS,
        "half_depth": _HALF_DEPTH,
        **decoding.values,
        **{name: value for name, value in prompts.values.items() if name != "overhead"},
    }
    return {"": (figures, [products, prompts, decoding])}


def _products(folder: Path, rate: float, bandwidth: float) -> Fit:
    dense = pd.read_csv(folder / "k4090_dense.csv")
    head = pd.read_csv(folder / "k4090_per_sequence.csv")
    rows = pd.concat([dense, head.rename(columns={"sequences": "tokens"})])
    rows = rows[rows["layer"].isin(_SHAPES)]
    shapes = np.array([_SHAPES[layer] for layer in rows["layer"]], dtype=float)
    k, n = shapes[:, 0], shapes[:, 1]
    m = np.asarray(rows["tokens"], dtype=float)
    moved = (n * k + m * (n + k)) * _BYTES

    def predict(reached: Mapping[str, float]) -> Array:
        filled = (m + reached["half_rows"]) * (n + _HALF_COLUMNS) * (k + _HALF_DEPTH)
        arithmetic = 2 * filled / (rate * reached["efficiency"])
        traffic = moved / (bandwidth * reached["bandwidth_efficiency"])
        return roofline(arithmetic, traffic) + reached["operation_overhead"] * 1e-6

    parameters = {
        "efficiency": Bounds(0.9, 0.2, 1.0),
        "half_rows": Bounds(8, 1, 16),
        "bandwidth_efficiency": Bounds(0.9, 0.2, 1.0),
        "operation_overhead": Bounds(2, 0.5, 20),
    }
    return fit(parameters, predict, np.asarray(rows["time_us"], dtype=float) * 1e-6)


def _prompts(rows: pd.DataFrame, rate: float) -> Fit:
    alone = rows[(rows["n_decode"] == 0) & (rows["prefill_chunk"] > 0)]
    chunk = np.asarray(alone["prefill_chunk"], dtype=float)
    attended = np.asarray(alone["kv_prefill"], dtype=float) + (chunk + 1) / 2
    flops = 4 * _HEADS * _HEAD_DIM * chunk * attended

    def predict(reached: Mapping[str, float]) -> Array:
        share = chunk / (chunk + reached["half_prompt"])
        arithmetic = flops / (rate * reached["attention_efficiency"] * share)
        return np.asarray(arithmetic + reached["overhead"] * 1e-6)

    parameters = {
        "attention_efficiency": Bounds(0.6, 0.05, 1.0),
        "half_prompt": Bounds(200, 1, 5000),
        "overhead": Bounds(10, 1, 60),
    }
    return fit(parameters, predict, np.asarray(alone["time_us"], dtype=float) * 1e-6)


def _decoding(rows: pd.DataFrame, bandwidth: float) -> Fit:
    alone = rows[(rows["n_decode"] > 0) & (rows["prefill_chunk"] == 0)]
    cached = np.asarray(alone["n_decode"] * alone["kv_decode"], dtype=float)
    moved = 2 * cached * _KV_HEADS * _HEAD_DIM * _BYTES

    def predict(reached: Mapping[str, float]) -> Array:
        traffic = moved / (bandwidth * reached["kv_bandwidth_efficiency"])
        return np.asarray(traffic + reached["attention_overhead"] * 1e-6)

    parameters = {
        "kv_bandwidth_efficiency": Bounds(0.9, 0.2, 1.0),
        "attention_overhead": Bounds(10, 1, 40),
    }
    return fit(parameters, predict, np.asarray(alone["time_us"], dtype=float) * 1e-6)
