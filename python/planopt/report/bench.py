"""Candidates per second, laid out."""

from collections.abc import Mapping

from planopt.report.style import head
from planopt.report.table import Report, Section, Table
from planopt.sweeps.bench import Measured

_RATES = {
    "candidates_per_second": ">all threads",
    "one_thread": ">one thread",
    "per_cpu_second": ">per CPU second",
}
_TITLES = (
    *("space", *_RATES.values(), ">scaling"),
    *(">evaluated", ">rejected", ">checksum"),
)
_MILLION = 1e6


def render_bench(found: Mapping[str, object]) -> Report:
    """Lay out what `planopt.sweeps.bench.bench` found."""
    spaces = [(name, of) for name, of in found.items() if isinstance(of, Measured)]
    rows = [_cells(name, space) for name, space in spaces]
    on = f"{found['cpu']}, {found['threads']} threads, {found['build_profile']} build"
    note = "Candidates per second; every figure of each is part of the checksum."
    abouts = (f"  {name}: {space.about}" for name, space in spaces)
    return Report(head(on), *abouts, Section("", Table(_TITLES, rows)), "", note)


def _cells(name: str, space: Measured) -> tuple[str, ...]:
    checksum = space.checksum
    if checksum != space.checksum_of_one_thread:
        checksum = f"{checksum}, but {space.checksum_of_one_thread} on one thread"
    return (
        name,
        *(f"{getattr(space, rate) / _MILLION:.1f} M/s" for rate in _RATES),
        f"{space.scaling:.2f}",
        f"{space.evaluated:,}",
        f"{space.rejected:,}",
        checksum,
    )
