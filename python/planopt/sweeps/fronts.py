"""The Pareto front of a space of candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.json import decode

from planopt._native import Table
from planopt.catalog.open import DEFAULT_ASSUMPTIONS, open_catalog
from planopt.door import written
from planopt.errors import InputError
from planopt.steps import Step, Steps
from planopt.sweeps.parts import Evaluated
from planopt.sweeps.spaces import read_space


def front(
    space: str,
    *,
    exhaustive: bool = False,
    assumptions: str = DEFAULT_ASSUMPTIONS,
    catalog: Sequence[str] = (),
    on_progress: Callable[[Step], object] | None = None,
) -> list[dict[str, object]]:
    """Find the front of a space, the cheapest first: index, what it is, all metrics."""
    request = written(read_space(space).request)
    steps = Steps(on_progress, "evaluating")
    native = open_catalog(catalog, assumptions).watched(steps).native
    found = native.front(request, written({"exhaustive": exhaustive}))
    return decode(found, type=Evaluated).rows


def metrics(
    space: str,
    start: int = 0,
    end: int | None = None,
    *,
    assumptions: str = DEFAULT_ASSUMPTIONS,
    catalog: Sequence[str] = (),
) -> Table:
    """Every metric of candidates that work, as columns that nobody has to copy.

    ``pyarrow.table(metrics(...))``, ``polars.from_arrow`` and all others that speak the
    Arrow PyCapsule protocol take the table as it is; ``numpy.asarray`` takes a column.
    """
    request = written(read_space(space).request)
    native = open_catalog(catalog, assumptions).native
    count = native.space_count(request)
    last = count if end is None else end
    if not 0 <= start <= last <= count:
        raise InputError.of(
            "E003",
            "there are no such candidates",
            field="start, end",
            value=f"{start}, {last}",
            accepted=f"0 <= start <= end <= {count}",
        )
    return native.metrics(request, start, last)
