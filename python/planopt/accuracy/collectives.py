"""All-reduces inside of a host, by the formulas of the reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from planopt.accuracy.columns import Count, Figure, Name
from planopt.documents.validation import Comparison, Missing, Outcome
from planopt.second_opinion import FactError, all_reduce_in_a_host

_MICRO: Final = 1e-6


class CollectiveRow(Struct, frozen=True, kw_only=True):
    """An all-reduce as it was measured."""

    id: Name
    """Of the row, in its source."""
    source: Name
    """Where it was published, in short."""
    accelerator: Name
    """Id in the catalog."""
    ranks: Count
    """Of one host."""
    library: Name
    """nccl, or the engine whose own kernel it is."""
    ring: bool
    """Whether messages go round; the kernels of engines read their peers' memory."""
    message_bytes: Figure
    """That every rank has."""
    launch_us: float = 0.0
    """Of a kernel that is launched from Python, not in a graph."""
    measured_us: Figure
    group: str = ""
    """Alike for rows that differ in versions and repetition alone."""


def predict_collectives(
    rows: Iterable[CollectiveRow], assumptions: str
) -> Iterator[Outcome]:
    """Predict the microseconds of every all-reduce inside of a host."""
    return (_predict(row, assumptions) for row in rows)


def _predict(row: CollectiveRow, assumptions: str) -> Outcome:
    try:
        seconds = all_reduce_in_a_host(
            row.message_bytes,
            row.accelerator,
            row.ranks,
            ring=row.ring,
            assumptions=assumptions,
        )
    except FactError as error:
        return Missing(row=row.id, reason=str(error))
    if seconds is None:
        return Missing(row=row.id, reason="not ranks of one host")
    return Comparison(
        row=row.id,
        source=row.source,
        metric="all_reduce",
        measured=row.measured_us,
        predicted=seconds / _MICRO + row.launch_us,
        unit="us",
        accelerator=row.accelerator,
        model=f"{row.ranks} ranks",
        engine=row.library,
        why={"bytes": row.message_bytes},
        group_of_alike=row.group,
    )
