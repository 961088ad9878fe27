"""What a device reached, and what that changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.numbers import UNKNOWN, rate
from planopt.report.style import PLAIN, Style
from planopt.report.table import table, wrapped

if TYPE_CHECKING:
    from planopt.documents.calibration import Calibration, Change, Sample

__all__ = ["render_calibration", "sample_line"]

_QUIET = 0.5
"""Tasks for each core below which a machine counts as quiet."""


def sample_line(sample: Sample) -> str:
    """Tell of one measurement, as progress."""
    what = " ".join(filter(None, (sample.kind, sample.number_format, _size(sample))))
    return f"  {what:<36} {sample.seconds * 1e6:>12,.1f} us  {_rate(sample)}"


def render_calibration(calibration: Calibration, *, style: Style = PLAIN) -> str:
    """Lay the figures out, before and after, and say how to use them."""
    rates = calibration.rates
    reached = [
        *(
            (f"matrix products, {number_format}", f"{rate(flop / 1e12)} TFLOPS")
            for number_format, flop in rates.flop_per_second.items()
        ),
        ("attention", f"{rate(rates.attention_flop_per_second / 1e12)} TFLOPS"),
        ("memory, copying", f"{rate(rates.copy_bytes_per_second / 1e9)} GB/s"),
        ("memory, one row", f"{rate(rates.read_bytes_per_second / 1e9)} GB/s"),
        ("smallest operation", f"{rate(rates.launch_seconds * 1e6)} us"),
    ]
    if rates.all_reduce_bytes_per_second is not None:
        busbw = rates.all_reduce_bytes_per_second / 1e9
        reached.append(("all-reduce, busbw", f"{rate(busbw)} GB/s"))
    known = "in the catalogs" if calibration.known else "new: its peaks are these rates"
    use = f"--catalog {calibration.overlay} --assumptions {calibration.assumptions}"
    return "\n".join(
        [
            style.head(f"{calibration.device}  ({calibration.software})"),
            *wrapped(f"{calibration.accelerator}: {known}", indent="  "),
            "",
            *table(("reached", "best"), reached, "<>", style=style),
            "",
            *table(
                ("figure", "before", "now", "change", "unit"),
                [_cells(change) for change in calibration.changes],
                "<>>><",
                style=style,
            ),
            "",
            *wrapped(
                f"Written to {calibration.overlay}. Use it with: {use}", indent=""
            ),
        ]
    )


def _busy(calibration: Calibration, style: Style) -> list[str]:
    if calibration.busy is None or calibration.busy < _QUIET:
        return []
    return [
        *wrapped(
            f"{style.warn('busy:')} {calibration.busy:.1f} tasks waited for each core"
            " when this began; measure again on a quiet machine",
            indent="",
        ),
        "",
    ]


def _cells(change: Change) -> tuple[str, ...]:
    if change.before is None:
        return (change.figure, UNKNOWN, rate(change.after), UNKNOWN, change.unit)
    return (
        change.figure,
        rate(change.before),
        rate(change.after),
        f"{change.after / change.before - 1:+.0%}",
        change.unit,
    )


def _size(sample: Sample) -> str:
    return "x".join(map(str, sample.size))


def _rate(sample: Sample) -> str:
    if sample.flop and sample.kind != "one-row":
        return f"{rate(sample.flop / sample.seconds / 1e12)} TFLOPS"
    if sample.moved_bytes:
        return f"{rate(sample.moved_bytes / sample.seconds / 1e9)} GB/s"
    return ""
