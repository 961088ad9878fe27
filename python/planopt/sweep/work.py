"""What a worker does: it needs nothing but planopt and what it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planopt.sweep.study import Chunk, Study

__all__ = ["evaluate", "task_of"]


def task_of(study: Study, chunk: Chunk) -> dict[str, Any]:
    """All that a worker has to know of a chunk."""
    return {
        "space": chunk.case.request,
        "assumptions": chunk.case.assumptions,
        "catalog": study.catalog,
        "start": chunk.start,
        "end": chunk.end,
    }


def evaluate(task: dict[str, Any]) -> dict[str, Any]:
    """Evaluate every candidate of a chunk, on one thread.

    Parameters
    ----------
    task : dict
        Of `task_of`.

    Returns
    -------
    dict
        The front under ``rows``, with the counts and the checksum of all candidates.
    """
    from planopt.catalog import open_catalog

    opened = open_catalog(tuple(task["catalog"]), task["assumptions"])
    options = {
        "start": task["start"],
        "end": task["end"],
        "exhaustive": True,
        "threads": 1,
    }
    return dict(opened.native.front(task["space"], options))
