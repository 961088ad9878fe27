"""What a worker does: it needs nothing but planopt and what it is given."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from planopt.catalog.open import Catalog, catalog_digest
from planopt.door import written
from planopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from planopt.sweeps.study import Chunk, Study

    Far: TypeAlias = Callable[[str, int, int, float | None], object]
    """Told by the core how far it is with a chunk."""


class Task(Struct, frozen=True):
    """All that a worker has to know of a chunk."""

    space: bytes
    assumptions: str
    catalog: tuple[str, ...]
    digest: str
    start: int
    end: int

    @classmethod
    def of(cls, study: Study, chunk: Chunk) -> Task:
        """Tell a worker of a chunk."""
        case = chunk.case
        return cls(
            space=written(case.request),
            assumptions=case.assumptions,
            catalog=study.catalog,
            digest=case.digest,
            start=chunk.start,
            end=chunk.end,
        )


def evaluate(task: Task, far: Far | None = None) -> bytes:
    """Evaluate every candidate of a chunk, on one thread; return its JSON."""
    frozen = _frozen(task.catalog, task.assumptions, task.digest)
    native = frozen.native if far is None else frozen.native.watched(far)
    cut = {"start": task.start, "end": task.end}
    return native.front(task.space, written({**cut, "exhaustive": True, "threads": 1}))


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
