"""What machines in homes do, on a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.documents.islands import IslandsPlan
from planopt.report.islands import render_islands
from planopt.report.neighbours import render_neighbours

if TYPE_CHECKING:
    from planopt.documents.neighbours import HomesPlan
    from planopt.report.table import Report


def render_homes(plan: HomesPlan) -> Report:
    """Lay it out for a terminal."""
    if isinstance(plan, IslandsPlan):
        return render_islands(plan)
    return render_neighbours(plan)
