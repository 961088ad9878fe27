"""What the article prints, with the exact value of the same arithmetic."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from planopt.catalog.open import bundled_folder

if TYPE_CHECKING:
    from pathlib import Path


class Published(Struct, frozen=True, kw_only=True):
    """A figure as the article has it."""

    id: str
    kind: str
    """``derived``, ``as-printed`` (from rounded inputs) or ``quoted`` (measured)."""
    topic: str
    quantity: str
    inputs: str
    """The arithmetic, in words and symbols."""
    article: float | str | None
    """As printed, or ``None`` where the article leaves it out."""
    exact: float | str
    """The same without rounding; text where it is several numbers."""
    unit: str
    note: str


def seed_figures_file() -> Path:
    """Table of the article's figures."""
    return bundled_folder() / "article" / "seed-figures.csv"


def published_figures() -> tuple[Published, ...]:
    """Read the table, in its order."""
    with seed_figures_file().open(encoding="utf-8", newline="") as file:
        return tuple(map(_published, csv.DictReader(file)))


def _published(row: dict[str, str]) -> Published:
    article = _number_or_text(row.pop("article_value")) or None
    exact = _number_or_text(row.pop("exact_value"))
    return msgspec.convert({**row, "article": article, "exact": exact}, Published)


def _number_or_text(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell
