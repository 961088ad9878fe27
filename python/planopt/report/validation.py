"""Predictions beside measurements, as tables."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import ceil, floor, log10

from planopt.documents.validation import (
    Calibration,
    Comparison,
    Dataset,
    Statistics,
    Validation,
    Worst,
)
from planopt.report.numbers import percent
from planopt.report.style import UNKNOWN, head
from planopt.report.table import Report, Section, Table, listed

_ERRORS = (">n", ">of", ">MAPE", ">median", ">p90", ">bias", ">Spearman", ">floor")
_ERRORS_OF_PARTS = (
    *(">n", "+>of", ">MAPE", ">median", "+>p90", ">bias", "+>Spearman", "+>floor"),
)
_PARTS_SHOWN = 4  # of a derivation


def render_validation(errors: Validation) -> Report:
    """Lay the errors out by file: in all, apart, by part, and the worst rows."""
    return Report(*(part for each in errors.datasets for part in _dataset(each)))


def _dataset(dataset: Dataset) -> list[Section]:
    of_parts = ("metric", "accelerator", "model", "+engine", *_ERRORS_OF_PARTS)
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
        Section("intervals at 80%", _calibration(dataset.calibration)),
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
    return Table((*columns, "+>tenths of what was predicted"), rows)


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


_SIDE = 420
_MARGIN = 70
_BAND = 0.2
"""Error at which the lines beside the diagonal are drawn."""
# Colours that people with any colour vision tell apart (Okabe and Ito, 2008).
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def calibration_plot(errors: Validation) -> str:
    """Draw a square for each metric of each file, both axes logarithmic."""
    panels: dict[str, list[Comparison]] = {}
    for dataset, metric in (
        (of, name) for of in errors.datasets for name in of.metrics
    ):
        for each in dataset.comparisons:
            if each.metric == metric and each.standing == "counted":
                panels.setdefault(f"{dataset.file}: {metric}", []).append(each)
    width = _SIDE + 2 * _MARGIN
    height = width * max(len(panels), 1)
    drawn = [
        f'<g transform="translate(0 {place * width})">{_panel(title, members)}</g>'
        for place, (title, members) in enumerate(panels.items())
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
        f'<rect width="{width}" height="{height}" fill="white"/>'
        f"{''.join(drawn)}</svg>\n"
    )


def _panel(title: str, members: Sequence[Comparison]) -> str:
    values = [v for each in members for v in (each.measured, each.predicted) if v > 0]
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    decades = max(high - low, 1)

    def place(value: float) -> float:
        return (log10(value) - low) / decades * _SIDE

    def x(value: float) -> float:
        return round(_MARGIN + place(value), 1)

    def y(value: float) -> float:
        return round(_MARGIN + _SIDE - place(value), 1)

    least, most = 10.0**low, 10.0 ** (low + decades)
    parts = [
        f'<text x="{_MARGIN}" y="{_MARGIN - 40}" font-weight="bold">{escape(title)}'
        f", {len(members)} rows ({members[0].unit})</text>",
        f'<rect x="{_MARGIN}" y="{_MARGIN}" width="{_SIDE}" height="{_SIDE}" '
        'fill="none" stroke="#888"/>',
    ]
    for factor, dash in ((1.0, ""), (1 + _BAND, "4 4"), (1 - _BAND, "4 4")):
        start, end = max(least, least / factor), min(most, most / factor)
        parts.append(
            f'<line x1="{x(start)}" y1="{y(start * factor)}" x2="{x(end)}" '
            f'y2="{y(end * factor)}" stroke="#888" stroke-dasharray="{dash}"/>'
        )
    for power in range(low, low + decades + 1):
        value = 10.0**power
        parts.append(
            f'<text x="{x(value)}" y="{_MARGIN + _SIDE + 16}" '
            f'text-anchor="middle">{value:g}</text>'
            f'<text x="{_MARGIN - 6}" y="{y(value) + 4}" '
            f'text-anchor="end">{value:g}</text>'
        )
    kinds = sorted({each.accelerator for each in members})
    colour = {kind: _COLOURS[i % len(_COLOURS)] for i, kind in enumerate(kinds)}
    parts += [
        f'<circle cx="{x(each.measured)}" cy="{y(each.predicted)}" r="2.5" '
        f'fill="{colour[each.accelerator]}" fill-opacity="0.6">'
        f"<title>{escape(each.row)} {each.error:+.1%}</title></circle>"
        for each in members
        if each.measured > 0 and each.predicted > 0
    ]
    parts += [
        f'<text x="{_MARGIN + 8}" y="{_MARGIN + 16 + 14 * line}" '
        f'fill="{colour[kind]}">{escape(kind)}</text>'
        for line, kind in enumerate(kinds)
    ]
    middle = _MARGIN + _SIDE / 2
    parts.append(
        f'<text x="{middle}" y="{_MARGIN + _SIDE + 36}" text-anchor="middle">'
        "measured</text>"
        f'<text transform="translate({_MARGIN - 48} {middle}) rotate(-90)" '
        'text-anchor="middle">predicted</text>'
    )
    return "".join(parts)
