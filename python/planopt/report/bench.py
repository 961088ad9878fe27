"""Candidates per second, laid out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt.report.style import PLAIN, Style
from planopt.report.table import table

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["render_bench"]

_HEADER = (
    "space",
    "all threads",
    "one thread",
    "per CPU second",
    "scaling",
    "evaluated",
    "rejected",
    "checksum",
)
_MILLION = 1e6


def render_bench(found: Mapping[str, Any], *, style: Style = PLAIN) -> str:
    """Lay out what `planopt.bench.bench` found."""
    spaces = [name for name, value in found.items() if isinstance(value, dict)]
    rows = [_cells(name, found[name]) for name in spaces]
    head = f"{found['cpu']}, {found['threads']} threads, {found['build_profile']} build"
    about = [f"  {name}: {found[name]['about']}" for name in spaces]
    note = "Candidates per second; every figure of each is part of the checksum."
    lines = table(_HEADER, rows, "<>>>>>>>", style=style)
    return "\n".join([style.head(head), *about, "", *lines, "", note])


def _cells(name: str, space: Mapping[str, Any]) -> tuple[str, ...]:
    checksum = space["checksum"]
    if checksum != space["checksum_of_one_thread"]:
        checksum = f"{checksum}, but {space['checksum_of_one_thread']} on one thread"
    return (
        name,
        *(
            f"{space[rate] / _MILLION:.1f} M/s"
            for rate in ("candidates_per_second", "one_thread", "per_cpu_second")
        ),
        f"{space['scaling']:.2f}",
        f"{space['evaluated']:,}",
        f"{space['rejected']:,}",
        checksum,
    )
