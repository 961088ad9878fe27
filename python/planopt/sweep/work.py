"""What a worker does: it needs nothing but planopt and what it is given."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from planopt.catalog.open import Catalog, catalog_digest
from planopt.errors import InputError

if TYPE_CHECKING:
    from planopt.sweep.study import Chunk, Study


def task_of(study: Study, chunk: Chunk) -> dict[str, Any]:
    """All that a worker has to know of a chunk."""
    return {
        "space": chunk.case.request,
        "assumptions": chunk.case.assumptions,
        "catalog": study.catalog,
        "digest": chunk.case.digest,
        "start": chunk.start,
        "end": chunk.end,
    }


def evaluate(task: dict[str, Any]) -> dict[str, Any]:
    """Evaluate every candidate of a chunk, on one thread."""
    frozen = _frozen(tuple(task["catalog"]), task["assumptions"], task["digest"])
    options = {
        "start": task["start"],
        "end": task["end"],
        "exhaustive": True,
        "threads": 1,
    }
    return dict(frozen.native.front(task["space"], options))


@lru_cache(maxsize=8)
def _frozen(overlays: tuple[str, ...], assumptions: str, digest: str) -> Catalog:
    """Open the catalog of this digest, which did not change while it was read."""
    before = catalog_digest(overlays, assumptions)
    opened = Catalog(overlays, assumptions)
    after = catalog_digest(overlays, assumptions)
    if not before == after == digest:
        raise InputError.of(
            "E009",
            "the catalog is another one than that of the study",
            field="catalog",
            value=after[:12],
            accepted=f"the catalog of digest {digest[:12]}, on every worker",
            help="install the same planopt everywhere; start again in a new folder "
            "if the catalog was changed",
        )
    return opened
