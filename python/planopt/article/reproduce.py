"""The seed article's figures, ours beside its."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from planopt.article.figures import figure_of
from planopt.article.inputs import Inputs, Scenario, UnknownFigureError, read_scenarios
from planopt.catalog.open import bundled_folder
from planopt.options import Asked


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


def published_figures() -> tuple[Published, ...]:
    """Read the table of the article's figures, in its order."""
    table = bundled_folder() / "article" / "seed-figures.csv"
    with table.open(encoding="utf-8", newline="") as file:
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


QUOTED = "quoted"
"""Figure of a scenario that is a measurement: printed, not computed."""

# The units of the article's figures in SI units; those that are missing are 1.
_UNITS = {
    "us": 1e-6,
    "ms": 1e-3,
    "KiB": 2.0**10,
    "MB": 1e6,
    "GB": 1e9,
    "GiB": 2.0**30,
    "GB/s": 1e9,
    "TFLOP": 1e12,
    "TiFLOP": 2.0**40,
    "Ti element": 2.0**40,
    "M tok/$": 1e6,
    "%": 0.01,
    "min": 60.0,
    "year": 365 * 86_400.0,
}


def reproduce(
    *, topic: str | None = None, catalog: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Work the figures of the seed article out again, through the model itself.

    Examples
    --------
    >>> from planopt.article.reproduce import reproduce
    >>> rows = {row["id"]: row for row in reproduce()}
    >>> rows["tp8-token-330"]["ours"]
    44.5336
    """
    wanted = Asked("reproduce", {"topic": topic}).values().get("topic")
    scenarios = read_scenarios()
    return [
        _row(figure, scenarios[figure.id], catalog)
        for figure in published_figures()
        if wanted in (None, figure.topic)
    ]


def _row(
    published: Published, scenario: Scenario, catalog: Sequence[str]
) -> dict[str, Any]:
    notes = [published.note, scenario.note]
    ours = chained = None
    if scenario.figure != QUOTED:
        try:
            ours = _value(scenario, published.unit, catalog)
            if scenario.chained is not None:
                chained = _value(scenario.chained, published.unit, catalog)
        except UnknownFigureError as error:
            notes.append(str(error))
    return {
        "id": published.id,
        "kind": published.kind,
        "topic": published.topic,
        "quantity": published.quantity,
        "article": published.article,
        "exact": published.exact,
        "ours": ours,
        "chained": chained,
        "unit": published.unit,
        "note": "; ".join(filter(None, notes)),
    }


def _value(scenario: Scenario, unit: str, catalog: Sequence[str]) -> float:
    inputs = Inputs(scenario, catalog)
    return figure_of(scenario.figure, inputs) / _UNITS.get(unit, 1.0)
