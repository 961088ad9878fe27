"""Clusters that train a model, found by the compiled core."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from planopt.documents.parts import Search
from planopt.procurement.problem import rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt._native import Rows
    from planopt.catalog.open import Catalog
    from planopt.training.problem import TrainingProblem

__all__ = ["Clusters", "find_clusters"]

_LAYOUT = (
    "tp",
    "sequence_parallel",
    "pp",
    "vpp",
    "dp",
    "cp",
    "context_parallel",
    "ep",
    "micro_batch",
    "recompute",
    "shard",
    "shard_group",
)
SECONDS_PER_HOUR = 3600
_HARDWARE = ("accelerator", "host", "network")
_SYSTEM = (*_HARDWARE, "accelerators", "hosts", "nics_per_host")


@dataclass(frozen=True)
class Clusters:
    """What a search found, and what it looked at."""

    rows: Rows = field(repr=False, compare=False)
    """The clusters as rows of a purchase: each carries the whole run."""
    cells: list[dict[str, Any]] = field(default_factory=list)
    """The same as the core tells of them."""
    search: Search = field(default_factory=Search)
    memory_ratio: float | None = None
    """Smallest ratio of memory needed to memory there, of what does not fit."""

    def request(self, row: int) -> dict[str, Any]:
        """Hardware and layout of a cluster, by options of the core."""
        cell = self.cells[row]
        names = (*_HARDWARE, *_LAYOUT)
        request = {name: cell[name] for name in names if cell[name] is not None}
        if cell["network"] is not None:
            request["nics_per_host"] = cell["nics_per_host"]
        if cell["terms"] is not None:
            request["terms"] = cell["terms"]
        return request


def find_clusters(
    catalog: Catalog, problem: TrainingProblem, *, price_cap_usd: float | None = None
) -> Clusters:
    """Find the best cluster of each accelerator, host and network."""
    request = problem.native(catalog)
    if price_cap_usd is not None:
        request["price_usd"] = price_cap_usd
    answer = catalog.ask("search_training", request)
    columns = answer["clusters"]
    cells = [
        dict(zip(columns, cell, strict=True))
        for cell in zip(*columns.values(), strict=True)
    ]
    return Clusters(
        rows=rows_of(map(_row, cells)),
        cells=cells,
        search=Search(
            candidates_covered=answer["covered"],
            candidates_evaluated=answer["evaluated"],
            candidates_pruned=answer["covered"] - answer["evaluated"],
            rejected={k: count for k, count in answer["rejected"].items() if count},
        ),
        memory_ratio=answer["memory_ratio"],
    )


def _row(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Put a cluster up for sale: it serves one run, at the run's own speed.

    What is rented costs what its run does; its price is that of an hour.
    """
    hours = 1.0 if cell["terms"] is None else cell["run_seconds"] / SECONDS_PER_HOUR
    return {
        "system": {name: cell[name] for name in _SYSTEM},
        "stock": cell["accelerator"],
        "price_micro_usd": round(cell["price_micro_usd"] * hours),
        "usd_per_hour": cell["usd_per_hour"],
        "power_watts": cell["power_watts"],
        "rack_units": cell["rack_units"],
        "replicas": 1,
        "users": 1,
        "tokens_per_second": cell["tokens_per_second"],
        "tokens_per_second_per_user": cell["tokens_per_second"],
    }
