"""What a sweep came to, laid out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.style import head
from planopt.report.table import Report

if TYPE_CHECKING:
    from planopt.documents.sweep import SweepResult


def render_sweep(result: SweepResult) -> Report:
    """Lay out the result of `planopt.sweep.sweep`."""
    lines = [
        head(f"{result.candidates:,} candidates in {result.chunks} chunks"),
        f"  evaluated  {result.evaluated:,}",
        f"  rejected   {result.rejected:,}",
        f"  front      {result.front:,} rows in {result.folder}/front.parquet",
        f"  checksum   {result.checksum}",
        f"  seconds    {result.seconds:.1f}",
    ]
    if result.resumed:
        lines.append(f"  resumed    {result.resumed} chunks were there already")
    return Report(*lines)
