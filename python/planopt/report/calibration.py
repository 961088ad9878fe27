"""What a device reached, and what that changes."""

from planopt.documents.calibration import Calibration, Change, Sample
from planopt.report.numbers import rate, share
from planopt.report.style import head, warn
from planopt.report.table import Report, Section, Sentence, Table

_QUIET = 0.5
"""Tasks for each core below which a machine counts as quiet."""


def sample_line(sample: Sample) -> str:
    """Tell of one measurement, as progress."""
    size = "x".join(map(str, sample.size))
    what = " ".join(filter(None, (sample.kind, sample.number_format, size)))
    return f"  {what:<36} {sample.seconds * 1e6:>12,.1f} us  {_rate(sample)}"


def render_calibration(calibration: Calibration) -> Report:
    """Lay the figures out, before and after, and say how to use them."""
    rates = calibration.rates
    reached = [
        *(
            (f"matrix products, {number_format}", _tflops(flop))
            for number_format, flop in rates.flop_per_second.items()
        ),
        ("attention", _tflops(rates.attention_flop_per_second)),
        ("memory, copying", _gigabytes(rates.copy_bytes_per_second)),
        ("memory, one row", _gigabytes(rates.read_bytes_per_second)),
        ("smallest operation", f"{rate(rates.launch_seconds * 1e6)} us"),
    ]
    if rates.all_reduce_bytes_per_second is not None:
        busbw = rates.all_reduce_bytes_per_second
        reached.append(("all-reduce, busbw", _gigabytes(busbw)))
    known = "in the catalogs" if calibration.known else "new: its peaks are these rates"
    use = f"--catalog {calibration.overlay} --assumptions {calibration.assumptions}"
    titles = ("figure", ">before", ">now", ">change", "unit")
    changes = [_cells(change) for change in calibration.changes]
    return Report(
        head(f"{calibration.device}  ({calibration.software})"),
        Sentence(f"{calibration.accelerator}: {known}"),
        Section("", Table(("reached", ">best"), reached)),
        Section("", Table(titles, changes)),
        Section("", Sentence(_busy(calibration.busy), "")),
        "",
        Sentence(f"Written to {calibration.overlay}. Use it with: {use}", ""),
    )


def _busy(tasks: float | None) -> str:
    """Warn of a machine that was not quiet."""
    if tasks is None or tasks < _QUIET:
        return ""
    waited = f"{tasks:.1f} tasks waited for each core when this began"
    return f"{warn('busy:')} {waited}; measure again on a quiet machine"


def _cells(change: Change) -> tuple[str, ...]:
    before = change.before
    by = None if before is None else change.after / before - 1
    return change.figure, rate(before), rate(change.after), share(by), change.unit


def _tflops(flop_per_second: float) -> str:
    return f"{rate(flop_per_second / 1e12)} TFLOPS"


def _gigabytes(bytes_per_second: float) -> str:
    return f"{rate(bytes_per_second / 1e9)} GB/s"


def _rate(sample: Sample) -> str:
    if sample.flop and sample.kind != "one-row":
        return _tflops(sample.flop / sample.seconds)
    if sample.moved_bytes:
        return _gigabytes(sample.moved_bytes / sample.seconds)
    return ""
