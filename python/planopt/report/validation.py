"""Predictions beside measurements, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.numbers import UNKNOWN
from planopt.report.style import PLAIN, Style
from planopt.report.table import table, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.documents.validation import (
        Dataset,
        Part,
        Statistics,
        Validation,
        Worst,
    )

__all__ = ["error_cells", "render_validation"]

ERRORS = ("n", "of", "MAPE", "median", "p90", "bias", "ranks")
_PARTS_SHOWN = 4  # of a derivation


def render_validation(errors: Validation, *, style: Style = PLAIN) -> str:
    """Lay the errors out by file: in all, apart, by part, and the worst rows."""
    return "\n\n".join(_dataset(each, style) for each in errors.datasets)


def _dataset(dataset: Dataset, style: Style) -> str:
    blocks = [
        [style.head(dataset.file)],
        _metrics("", dataset.metrics, style),
        _metrics("layout searched, no threshold", dataset.searched, style),
        _metrics("marked, no threshold", dataset.outside, style),
        _parts(dataset.parts, style),
        _worst(dataset.worst, style),
        _skipped(dataset.skipped, style),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _metrics(title: str, metrics: Mapping[str, Statistics], style: Style) -> list[str]:
    if not metrics:
        return []
    rows = [(metric, *error_cells(errors)) for metric, errors in metrics.items()]
    lines = table(("metric", *ERRORS), rows, "<>>>>>>>", style=style)
    return [style.head(f" {title}"), *lines] if title else lines


def _parts(parts: tuple[Part, ...], style: Style) -> list[str]:
    rows = [
        (
            part.metric,
            part.accelerator,
            part.model,
            part.engine,
            *error_cells(part.errors),
        )
        for part in parts
    ]
    header = ("metric", "accelerator", "model", "engine", *ERRORS)
    return table(header, rows, "<<<<>>>>>>>", style=style) if rows else []


def _worst(worst: tuple[Worst, ...], style: Style) -> list[str]:
    lines = [style.head(" furthest off")] if worst else []
    for each in worst:
        parts = sorted(
            (
                (name, value)
                for name, value in each.why.items()
                if isinstance(value, int | float)
            ),
            key=lambda part: -part[1],
        )
        derivation = ", ".join(
            f"{name} {value:.4g}" for name, value in parts[:_PARTS_SHOWN]
        )
        words = [v for v in each.why.values() if isinstance(v, str)]
        text = (
            f"{each.row}: {each.metric} {each.predicted:.4g} {each.unit}, measured "
            f"{each.measured:.4g} ({each.error:+.1%}); {each.model} on "
            f"{each.accelerator}, {each.engine}, {each.layout}: "
            + "; ".join(filter(None, [derivation, *words]))
        )
        lines += wrapped(text, hanging="    ")
    return lines


def _skipped(skipped: Mapping[str, int], style: Style) -> list[str]:
    if not skipped:
        return []
    rows = [(str(count), reason) for reason, count in skipped.items()]
    return table(("rows", "not predicted because"), rows, "><", style=style)


def error_cells(errors: Statistics) -> tuple[str, ...]:
    """Return the cells of one line of errors."""
    shares = (errors.mape, errors.median_ape, errors.p90_ape)
    return (
        str(errors.n),
        str(errors.n_total),
        *(UNKNOWN if value is None else f"{value:.1%}" for value in shares),
        UNKNOWN if errors.bias is None else f"{errors.bias:+.1%}",
        UNKNOWN if errors.spearman is None else f"{errors.spearman:.2f}",
    )
