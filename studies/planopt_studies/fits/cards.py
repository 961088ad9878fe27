"""What cards without measured kernels reach: from their batch-1 rows of llama.cpp.

Each card for itself, on a grid: launch and bandwidth from decoding, arithmetic from
prompts. Kernels of one row know no tiles, so `half_rows` is one.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from planopt.accuracy.measurements import Comparison
from planopt.accuracy.serving_rows import ServingRow, predict_serving
from planopt.catalog.open import DEFAULT_ASSUMPTIONS, open_catalog

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


__all__ = [
    "CardFit",
    "fit_cards",
    "predicted_unseen",
    "rows_of_cards",
    "without_cards",
]

SOURCE: Final = "XiongjieDai"
# Their kernels were measured, or are those of an accelerator whose were.
_MEASURED: Final = {
    "a100-sxm-80",
    "a100-pcie-80",
    "h100-pcie",
    "l40s",
    "rtx-4090",
}
_BANDWIDTHS: Final = (0.62, 0.7, 0.78, 0.86, 0.93, 0.98)
# Around the best of them: the grid is coarser than what is measured.
_FINER: Final = (0.94, 0.97, 1.0, 1.03, 1.06)
_OVERHEADS: Final = (1.5, 3.0, 5.0)
# Families on which weights of four bits are read slower than such of 16, byte by byte:
# operations at the rate of FP32 that widening one may take.
_WIDENINGS: Final = {"apple": (16.0, 20.0, 25.0, 30.0, 36.0)}
# Of the bandwidth, at which the cache is read.
_CACHE_SHARES: Final = (0.15, 0.25, 0.4, 0.65, 1.0)
_EFFICIENCIES: Final = (0.15, 0.25, 0.35, 0.5, 0.65, 0.8, 1.0)
# Attention is several kernels: three times the launch of one.
_ATTENTION_LAUNCHES: Final = 3

# Tables of cards, and their sources, as they were written.
_CARD_TABLES: Final = re.compile(
    r'(?m)^\[accelerators\.[^\]]+\]\n(?:.+source = "card-.+\n)+\n*'
    r"(?:\[sources\.card-[^\]]+\]\n(?:.+\n)+)?"
)

Figures = dict[str, float]


@dataclass(frozen=True)
class CardFit:
    """Figures of a card, and the mean errors that they leave."""

    figures: Figures
    decode_error: float
    prompt_error: float
    rows: int


def rows_of_cards(rows: Iterable[ServingRow]) -> list[ServingRow]:
    """Return what cards are fitted to."""
    return [
        row
        for row in rows
        if row.source.startswith(SOURCE) and row.accelerator not in _MEASURED
    ]


def predicted_unseen(
    rows: Sequence[ServingRow], fold_of: Mapping[str, int], text: str
) -> dict[tuple[str, str], float]:
    """Predict rows on cards that were fitted without the rows of the same fold.

    Parameters
    ----------
    rows : sequence of mapping
        What cards are fitted to.
    fold_of : mapping
        Fold of a row by its id.
    text : str
        Assumptions.

    Returns
    -------
    dict
        What is predicted, by row and metric.
    """
    found: dict[tuple[str, str], float] = {}
    for fold in sorted(set(fold_of.values())):
        seen = [row for row in rows if fold_of.get(row.id) != fold]
        judged = [row for row in rows if fold_of.get(row.id) == fold]
        fits = fit_cards(seen, text)
        tables = "".join(_table(card, fit.figures) for card, fit in fits.items())
        for each in _predicted(judged, without_cards(text) + tables):
            found[each.row, each.metric] = each.predicted
    return found


def without_cards(text: str) -> str:
    """Return assumptions without what was fitted to cards."""
    return _CARD_TABLES.sub("", text)


def fit_cards(rows: Sequence[ServingRow], text: str) -> dict[str, CardFit]:
    """Fit every card that llama.cpp was measured on, over some assumptions."""
    own = rows_of_cards(rows)
    text = without_cards(text)
    decoding = [row for row in own if row.decode_tokens_per_second]
    prompts = [row for row in own if row.prefill_tokens_per_second]
    cards = sorted({row.accelerator for row in decoding})
    decoded = _best(cards, {card: _grid(card) for card in cards}, decoding, text)
    finer = {
        card: [
            decoded[card][1] | _scaled_bandwidths(decoded[card][1], share)
            for share in _FINER
        ]
        for card in cards
    }
    decoded = _best(cards, finer, decoding, text)
    with_arithmetic = {
        card: [
            decoded[card][1] | {"efficiency": efficiency}
            for efficiency in _EFFICIENCIES
        ]
        for card in cards
    }
    read = _best(cards, with_arithmetic, prompts, text)
    return {
        card: CardFit(
            figures=read[card][1],
            decode_error=decoded[card][0],
            prompt_error=read[card][0],
            rows=sum(row.accelerator == card for row in decoding),
        )
        for card in cards
    }


def _grid(card: str) -> list[Figures]:
    """Return what a card may be."""
    widenings = _WIDENINGS.get(_family(card), (0.0,))
    return [
        {
            "half_rows": 1.0,
            "bandwidth_efficiency": bandwidth,
            "kv_bandwidth_efficiency": bandwidth * share,
            "operation_overhead": overhead,
            "attention_overhead": _ATTENTION_LAUNCHES * overhead,
        }
        | ({"widening": widening} if widening else {})
        for bandwidth, overhead, share, widening in product(
            _BANDWIDTHS, _OVERHEADS, _CACHE_SHARES, widenings
        )
    ]


def _scaled_bandwidths(figures: Figures, share: float) -> Figures:
    """Return both bandwidths of a card times a share, none above the peak."""
    names = ("bandwidth_efficiency", "kv_bandwidth_efficiency")
    return {name: round(min(figures[name] * share, 1.0), 4) for name in names}


def _family(card: str) -> str:
    catalog = open_catalog((), DEFAULT_ASSUMPTIONS)
    return catalog.figures("accelerators", card)["family"].text


def _best(
    cards: Sequence[str],
    grids: Mapping[str, Sequence[Figures]],
    rows: Sequence[ServingRow],
    text: str,
) -> dict[str, tuple[float, Figures]]:
    """Return of each card the figures that leave the least error, all cards at once."""
    best: dict[str, tuple[float, Figures]] = {}
    for place in range(max(len(grid) for grid in grids.values())):
        # Those with fewer choices are through before: their last is tried again.
        tried = {card: grids[card][: place + 1][-1] for card in cards}
        errors = _errors(tried, rows, text)
        for card in cards:
            found = (errors[card], tried[card])
            best[card] = min(best.get(card, found), found, key=lambda each: each[0])
    return best


def _errors(
    tried: Mapping[str, Figures], rows: Sequence[ServingRow], text: str
) -> dict[str, float]:
    tables = "".join(_table(card, figures) for card, figures in tried.items())
    off: dict[str, list[float]] = {card: [] for card in tried}
    for each in _predicted(rows, text + tables):
        if each.accelerator in off:
            off[each.accelerator].append(abs(np.log1p(each.error)))
    return {card: float(np.mean(found or [0.0])) for card, found in off.items()}


def _predicted(rows: Sequence[ServingRow], text: str) -> list[Comparison]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calibrated.toml"
        path.write_text(text, encoding="utf-8")
        outcomes = list(predict_serving(rows, str(path)))
    return [each for each in outcomes if isinstance(each, Comparison)]


def _table(card: str, figures: Figures) -> str:
    lines = [f"\n[accelerators.{card}]"]
    for name, value in figures.items():
        shown = f'"{value} us"' if name.endswith("overhead") else f"{value}"
        lines.append(f"{name} = {shown}")
    return "\n".join(lines) + "\n"
