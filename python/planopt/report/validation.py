"""Predictions beside measurements, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.numbers import UNKNOWN, percent
from planopt.report.style import PLAIN, Style, head
from planopt.report.table import Apart, Sentence, Table, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.documents.validation import Dataset, Statistics, Validation, Worst
    from planopt.report.table import Block

__all__ = ["render_validation"]

_ERRORS = (">n", ">of", ">MAPE", ">median", ">p90", ">bias", ">ranks")
_PARTS_SHOWN = 4  # of a derivation


def render_validation(errors: Validation, *, style: Style = PLAIN) -> str:
    """Lay the errors out by file: in all, apart, by part, and the worst rows."""
    return text(
        [Apart(group for each in errors.datasets for group in _groups(each))], style
    )


def _groups(dataset: Dataset) -> list[list[Block]]:
    parts = [
        (
            part.metric,
            part.accelerator,
            part.model,
            part.engine,
            *_error_cells(part.errors),
        )
        for part in dataset.parts
    ]
    skipped = [(str(count), reason) for reason, count in dataset.skipped.items()]
    worst = [Sentence(_furthest(each), hanging="    ") for each in dataset.worst]
    return [
        [head(dataset.file)],
        [_metrics(dataset.metrics)],
        _titled("layout searched, no threshold", _metrics(dataset.searched)),
        _titled("marked, no threshold", _metrics(dataset.outside)),
        [Table(("metric", "accelerator", "model", "engine", *_ERRORS), parts)],
        [head(" furthest off"), *worst] if worst else [],
        [Table((">rows", "not predicted because"), skipped)],
    ]


def _metrics(metrics: Mapping[str, Statistics]) -> Table:
    rows = [(metric, *_error_cells(errors)) for metric, errors in metrics.items()]
    return Table(("metric", *_ERRORS), rows)


def _titled(title: str, table: Table) -> list[Block]:
    return [head(f" {title}"), table] if table.rows else []


def _furthest(each: Worst) -> str:
    numbers = [(k, v) for k, v in each.why.items() if isinstance(v, int | float)]
    numbers.sort(key=lambda part: -part[1])
    parts = ", ".join(f"{name} {value:.4g}" for name, value in numbers[:_PARTS_SHOWN])
    words = [value for value in each.why.values() if isinstance(value, str)]
    return (
        f"{each.row}: {each.metric} {each.predicted:.4g} {each.unit}, measured "
        f"{each.measured:.4g} ({each.error:+.1%}); {each.model} on "
        f"{each.accelerator}, {each.engine}, {each.layout}: "
        + "; ".join(filter(None, [parts, *words]))
    )


def _error_cells(errors: Statistics) -> tuple[str, ...]:
    """Return the cells of one line of errors."""
    return (
        str(errors.n),
        str(errors.n_total),
        percent(errors.mape),
        percent(errors.median_ape),
        percent(errors.p90_ape),
        percent(errors.bias, sign="+"),
        UNKNOWN if errors.spearman is None else f"{errors.spearman:.2f}",
    )
