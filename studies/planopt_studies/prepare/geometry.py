"""Which model a row of a training measurement is about, by name or by its shape."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from planopt_studies.prepare.rules import Raw

__all__ = [
    "ShapeUnknownError",
    "model_key",
    "shape_of",
    "with_heads",
]

_BILLION = 1e9
_HEAD = 128
"""Width of an attention head, where a row gives neither it nor the heads."""
_SMALL_HEAD = 64
_SMALL_HIDDEN = 1024
"""Hidden size up to which heads are half as wide (GPT-2, BERT)."""
_WIDTH_STEP = 128
"""Feed-forward widths are multiples of it."""
_VOCABULARY = 50_304
"""GPT-2's, padded to a multiple of 128: where a row gives none."""
_EXPANSION = 4

# Beginnings of names of models of the GPT-2 kind: layer normalisation, learned
# positions, tied head, no gate.
_GPT = ("gpt", "megatron", "turing", "mpt", "opt", "bloom", "maxtext")
_WITHOUT_BIAS = ("mpt", "maxtext")
_UNGATED = (*_GPT, "nemotron", "bert")


class ShapeUnknownError(Exception):
    """A row names no model that is known and does not give its shape."""


def model_key(name: str) -> str:
    """Return what is left of a model's name when only letters and digits count."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _number(row: Raw, column: str) -> int:
    return int(float(row[column])) if row.get(column) else 0


def with_heads(rows: Iterable[Raw]) -> Iterator[Raw]:
    """Fill in heads that a row leaves out from models as wide of the same source.

    A source that varies the layout of a model gives its heads where they first stand.
    """
    kept = list(rows)
    seen: dict[tuple[str, str], Counter[str]] = {}
    for row in kept:
        if row.get("heads"):
            width = (row.get("source", ""), row.get("hidden", ""))
            seen.setdefault(width, Counter())[row["heads"]] += 1
    for row in kept:
        width = (row.get("source", ""), row.get("hidden", ""))
        if row.get("hidden") and not row.get("heads") and width in seen:
            yield {**row, "heads": seen[width].most_common(1)[0][0]}
        else:
            yield row


def shape_of(row: Raw, known: Mapping[str, tuple[str, int, int]]) -> dict[str, object]:
    """Return the columns of a row's model: its id, or its shape where it has none."""
    layers, hidden = _number(row, "layers"), _number(row, "hidden")
    found = known.get(model_key(row["model"]))
    if found is not None:
        id, own_layers, own_hidden = found
        if layers in (0, own_layers) and hidden in (0, own_hidden):
            return {"model": id}
    if not hidden:
        raise ShapeUnknownError
    return _made_up(row, layers, hidden)


def _made_up(row: Raw, layers: int, hidden: int) -> dict[str, object]:
    """Fill in what a row leaves out, from its parameters where they are given."""
    kind = row["model"].lower()
    parameters = float(row["params_b"]) * _BILLION if row.get("params_b") else 0.0
    vocabulary = _number(row, "vocab") or _VOCABULARY
    tp, pp = _number(row, "tp") or 1, _number(row, "pp") or 1
    heads = _number(row, "heads") or _likely_heads(hidden, tp)
    kv_heads = _number(row, "kv_heads") or heads
    experts, active = _number(row, "moe_experts"), _number(row, "moe_topk")
    attention = hidden * (2 * hidden + 2 * hidden * kv_heads // heads)
    tables = vocabulary * hidden * (1 if kind.startswith(_GPT) else 2)
    gated = not kind.startswith(_UNGATED)
    width = _number(row, "ffn")
    if experts and layers and parameters:
        # The column has the width of dense layers; that of experts follows.
        each = (parameters - tables) / layers - attention
        width = _rounded(each / (experts * 3 * hidden))
    elif not width:
        width = _rounded(8 * hidden / 3) if gated else _EXPANSION * hidden
    if not layers:
        if not parameters:
            raise ShapeUnknownError
        each = attention + (3 if gated else 2) * hidden * width
        layers = max(round((parameters - tables) / each / pp), 1) * pp
    is_gpt = kind.startswith(_GPT)
    is_bert = kind.startswith("bert")
    biased = (is_gpt or is_bert) and not kind.startswith(_WITHOUT_BIAS)
    return {
        "model": row["model"],
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "kv_heads": kv_heads,
        "width": width,
        "vocabulary": vocabulary,
        "gated": gated,
        "tied": is_gpt or is_bert,
        "norm": "layer" if biased else "layer-no-bias" if is_gpt else "rms",
        "learned_positions": is_gpt or is_bert,
        "biased": biased,
        "experts": experts or None,
        "active_experts": active or None,
    }


def _rounded(width: float) -> int:
    return max(round(width / _WIDTH_STEP), 1) * _WIDTH_STEP


def _likely_heads(hidden: int, tp: int) -> int:
    """Return the number of heads of nearly the usual width that ranks can share."""
    usual = _SMALL_HEAD if hidden <= _SMALL_HIDDEN else _HEAD
    possible = [
        heads for heads in range(tp, hidden + 1, tp) if hidden % heads == 0
    ] or [1]
    return min(
        possible,
        key=lambda heads: max(hidden / heads / usual, usual * heads / hidden),
    )
