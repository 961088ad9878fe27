"""Predictions beside measurements, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.numbers import UNKNOWN, percent
from planopt.report.style import head
from planopt.report.table import Report, Section, Table, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from planopt.documents.validation import (
        Calibration,
        Dataset,
        Statistics,
        Validation,
        Worst,
    )

_ERRORS = (">n", ">of", ">MAPE", ">median", ">p90", ">bias", ">Spearman", ">floor")
_PARTS_SHOWN = 4  # of a derivation


def render_validation(errors: Validation) -> Report:
    """Lay the errors out by file: in all, apart, by part, and the worst rows."""
    return Report(*(part for each in errors.datasets for part in _dataset(each)))


def _dataset(dataset: Dataset) -> list[Section]:
    of_parts = ("metric", "accelerator", "model", "engine", *_ERRORS)
    parts = [
        (each.metric, each.accelerator, each.model, each.engine, *_cells(each.errors))
        for each in dataset.parts
    ]
    skipped = [(str(count), reason) for reason, count in dataset.skipped.items()]
    return [
        Section("", head(dataset.file)),
        Section("", _metrics(dataset.metrics)),
        Section("layout searched, no threshold", _metrics(dataset.searched)),
        Section("marked, no threshold", _metrics(dataset.outside)),
        Section("intervals at 80 %", _calibration(dataset.calibration)),
        Section("", Table(of_parts, parts)),
        Section("furthest off", *listed(map(_furthest, dataset.worst))),
        Section("", Table((">rows", "not predicted because"), skipped)),
    ]


def _metrics(metrics: Mapping[str, Statistics]) -> Table:
    rows = [(metric, *_cells(errors)) for metric, errors in metrics.items()]
    return Table(("metric", *_ERRORS), rows)


def _calibration(found: Iterable[Calibration]) -> Table:
    """Lay out coverage and width by class; the last column is the PIT histogram."""
    rows = [
        (
            each.metric,
            each.of,
            str(each.n),
            percent(each.inside),
            f"±{percent(each.width)}",
            f"{each.score:.2f}",
            " ".join(f"{share / each.n:3.0%}" for share in each.pit),
        )
        for each in found
    ]
    columns = ("metric", "class", ">n", ">inside", ">width", ">score")
    return Table((*columns, ">tenths of what was predicted"), rows)


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


def _cells(errors: Statistics) -> tuple[str, ...]:
    """Return the cells of one line of errors."""
    return (
        str(errors.n),
        str(errors.n_total),
        percent(errors.mape),
        percent(errors.median_ape),
        percent(errors.p90_ape),
        percent(errors.bias, sign="+"),
        UNKNOWN if errors.spearman is None else f"{errors.spearman:.2f}",
        percent(errors.floor),
    )
