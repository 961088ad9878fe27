"""What spaces of candidates came to: a front, and a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.style import head
from planopt.report.table import Report, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planopt.documents.sweep import SweepResult

_TITLES = {
    "accelerator": "accelerator",
    "accelerators": ">number",
    "host": "host",
    "tp": ">tp",
    "pp": ">pp",
    "dp": ">dp",
    "batch": ">batch",
    "users": ">users",
    "tokens_per_second_per_user": ">tok/s/user",
    "tokens_per_second": ">tok/s",
    "days": ">days",
    "mfu": ">MFU",
    "usd_per_million_tokens": ">$/Mtok",
    "price_usd": ">price $",
}


def render_frontier(rows: Sequence[Mapping[str, object]]) -> Report:
    """Lay out rows of a front; a column that none of them has is left out."""
    if not rows:
        return Report("nothing works")
    titles = {name: title for name, title in _TITLES.items() if name in rows[0]}
    cells = [[_cell(row[name]) for name in titles] for row in rows]
    return Report(Table([*titles.values()], cells))


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def render_sweep(result: SweepResult) -> Report:
    """Lay out the result of `planopt.sweeps.sweep`."""
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
