"""What spaces of candidates came to: a front, and a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from planopt.report.front import SERVED, TRAINED, Plot, Row
from planopt.report.numbers import count, rate
from planopt.report.screen import HEIGHT, Ends, flagged
from planopt.report.style import faint, good, head
from planopt.report.table import Block, Report, Table, laid

if TYPE_CHECKING:
    from planopt.sweeps.run import SweepResult

_TITLES = {
    "accelerator": "accelerator",
    "accelerators": ">number",
    "host": "+host",
    "tp": ">tp",
    "pp": ">pp",
    "dp": ">dp",
    "batch": "+>batch",
    "users": ">users",
    "tokens_per_second_per_user": ">tok/s/user",
    "tokens_per_second": ">tok/s",
    "days": ">days",
    "mfu": ">MFU",
    "usd_per_million_tokens": ">$/Mtok",
    "price_usd": ">price $",
}


def render_frontier(
    rows: Sequence[Row],
    *,
    details: bool = False,
    saved: str | Path | None = None,
    top: int | None = None,
) -> Report:
    """Plot the rows and list some that nothing beats; with details list them all."""
    if not rows:
        return Report("nothing works")
    if saved is not None:
        return Report(f"{count(len(rows))} rows written to {saved}")
    axes = TRAINED if "days" in rows[0] else SERVED
    best = axes.front(rows)
    said = f"✔ {count(len(best))} choices that no other beats, of {count(len(rows))}"
    screen: list[Block] = [Ends(said, mark=flagged("✔", good)), Ends(f"  {axes.says}")]
    screen += ["", *Plot(rows, best, axes).lines()] if len(rows) > 1 else []
    if details:
        return Report(*screen, "", _table(rows, wraps=True))
    room = max(HEIGHT - len(laid(screen)) - len(("", "titles", "last")), 1)
    shown = _spread(best, top or room)
    listed = f"  {count(len(shown))} of {count(len(best))}"
    last = Ends(faint(listed), faint("--top 40 · --details · --out front.parquet"))
    return Report(*screen, "", _table(shown, wraps=False), last)


def _spread(front: Sequence[Row], most: int) -> list[Row]:
    """Return so many rows from one end of a front to the other."""
    last = len(front) - 1
    steps = max(min(most, len(front)) - 1, 1)
    places = {round(each * last / steps) for each in range(steps + 1)}
    return [front[place] for place in sorted(places)[:most]]


def _table(rows: Sequence[Row], *, wraps: bool) -> Table:
    """Lay out rows of a front; a column that none of them has is left out."""
    titles = {
        name: title.replace("+", "") if wraps else title.upper()
        for name, title in _TITLES.items()
        if name in rows[0]
    }
    cells = [[_cell(row[name]) for name in titles] for row in rows]
    return Table([*titles.values()], cells, wraps=wraps)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return rate(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def render_sweep(result: SweepResult) -> Report:
    """Lay out the result of `planopt.sweeps.sweep`."""
    lines = [
        head(f"{result.candidates:,} candidates, chunks: {result.chunks:,}"),
        f"  evaluated  {result.evaluated:,}",
        f"  rejected   {result.rejected:,}",
        f"  front      {result.front:,} rows in {result.folder}/front.parquet",
        f"  checksum   {result.checksum}",
        f"  seconds    {result.seconds:.1f}",
    ]
    if result.resumed:
        lines.append(f"  resumed    {result.resumed} chunks were there already")
    return Report(*lines)
