"""Units worth buying, found and kept by the compiled core."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from planopt.acquisition import is_offer
from planopt.documents.parts import Search
from planopt.door import question
from planopt.serving.load import promised
from planopt.serving.pessimism import each_at_worst

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt._native import Found as NativeFound
    from planopt.catalog.open import Catalog
    from planopt.serving.question_types import Problem, ServedModel

__all__ = ["Aim", "Found", "Listed", "find_together", "find_units", "sought"]


class Nearest(Struct, frozen=True):
    """How close rejected candidates came."""

    memory_ratio: float | None = None
    tokens_per_second_per_user: float | None = None
    prefill_seconds: float | None = None

    def layout(self) -> dict[str, int]:
        """Name how it is divided."""
        names = ("tp", "cp", "dp", "ep", "pp", "batch", "in_flight")
        return {name: getattr(self, name) for name in names}


class _Summary(Struct, frozen=True):
    """What a search looked at."""

    covered: int
    evaluated: int
    rejected: dict[str, int]
    nearest: Nearest
    is_cut_by_price: bool
    """Whether there are units beyond the price that it went up to."""
    reduces_over_pcie: bool
    """Whether any host has accelerators that all-reduce over its PCIe."""
    rows: int


class Listed(Struct, frozen=True):
    """Rows with their names, as columns of one length."""

    accelerator: tuple[str, ...]
    host: tuple[str, ...]
    terms: tuple[str | None, ...]
    """Terms of an instance that is rented."""
    goodput: tuple[float, ...]
    """Share of the time that it is there and at work."""
    network: tuple[str | None, ...]
    nics_per_host: tuple[int, ...]
    switch: tuple[str | None, ...]
    switch_port_blocks: tuple[int, ...]
    hosts: tuple[int, ...]
    accelerators: tuple[int, ...]
    tp: tuple[int, ...]
    cp: tuple[int, ...]
    dp: tuple[int, ...]
    ep: tuple[int, ...]
    pp: tuple[int, ...]
    batch: tuple[int, ...]
    in_flight: tuple[int, ...]
    is_build: tuple[bool, ...]
    weights: tuple[str, ...]
    kv: tuple[str, ...]
    replicas: tuple[int, ...]
    users: tuple[int, ...]
    tokens_per_second_per_user: tuple[float, ...]
    tokens_per_second: tuple[float, ...]
    price_micro_usd: tuple[int, ...]
    capital_micro_usd: tuple[int, ...]
    usd_per_hour: tuple[float, ...]
    power_watts: tuple[float, ...]
    rack_units: tuple[float, ...]


_SUMMARY: Final = msgspec.json.Decoder(_Summary)


class Found:
    """What a search found, and what it looked at: the core keeps the rows."""

    def __init__(self, native: NativeFound) -> None:
        self.native = native
        self.rows = native.rows

    @cached_property
    def _summary(self) -> _Summary:
        return _SUMMARY.decode(self.native.summary)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def search(self) -> Search:
        """What was looked at."""
        told = self._summary
        return Search(
            candidates_covered=told.covered,
            candidates_evaluated=told.evaluated,
            candidates_pruned=told.covered - told.evaluated,
            rejected=told.rejected,
        )

    @property
    def nearest(self) -> Nearest:
        """How close rejected candidates came."""
        return self._summary.nearest

    @property
    def is_cut_by_price(self) -> bool:
        """Whether there are units beyond the price that it went up to."""
        return self._summary.is_cut_by_price

    @property
    def reduces_over_pcie(self) -> bool:
        """Whether any host has accelerators that all-reduce over its PCIe."""
        return self._summary.reduces_over_pcie

    def listed(self) -> Listed:
        """Every row with its names."""
        return msgspec.json.decode(self.native.listed(), type=Listed)


class Aim(Struct, frozen=True, kw_only=True):
    """How far a search goes, and what it keeps."""

    price_cap_usd: float | None = None
    """Price of a unit that is bought, at most."""
    each_batch_up_to: int | None = None
    """Offer each batch up to this one; default: the largest alone, which has the most
    users and throughput, or each even share of the users where latency is sought."""
    aim: str | None = None
    """``cost-per-token`` or ``latency``, if that alone is sought and nothing limits the
    purchase."""


def find_units(catalog: Catalog, problem: Problem, aim: Aim = Aim()) -> Found:  # noqa: B008 - frozen
    """Find the units that meet a question's speed, for each format that it allows."""
    (found,) = find_together(catalog, [(problem, aim)])
    return found


def find_together(
    catalog: Catalog, asked: Sequence[tuple[Problem, Aim]]
) -> list[Found]:
    """Find the units for several questions at once."""
    told = [
        [question("search_serving", part) for part in _parts(catalog, problem, aim)]
        for problem, aim in asked
    ]
    return [Found(native) for native in catalog.native.search(told)]


def _parts(catalog: Catalog, problem: Problem, aim: Aim) -> Iterator[dict[str, Any]]:
    """Tell the core what to search for: each format, bought and rented."""
    hourly = problem.acquisition.hourly
    for weights in (problem.served.weights, *problem.allow_quantization):
        served = replace(problem.served, weights=weights)
        for one in each_at_worst(catalog, problem):
            request = {
                **_units_sought(one, served),
                "each_batch_up_to": aim.each_batch_up_to,
                "aim": aim.aim,
                "price_cap_usd": aim.price_cap_usd,
                "hourly": hourly,
            }
            if problem.acquisition.way != "rent":
                yield request
            if problem.acquisition.rents:
                yield {
                    **request,
                    "hosts": [each for each in problem.hosts if is_offer(each)],
                    "price_cap_usd": None,
                    "rent": problem.acquisition.rent_request(),
                }


def sought(problem: Problem, served: ServedModel) -> dict[str, Any]:
    """Put what is promised and what there is to choose from, by options of the core."""
    return {
        **problem.asked(served),
        **promised(problem),
        "prefill_seconds": problem.predicted_ttft_seconds,
        "redundancy": problem.redundancy,
        "context_ranks": served.context_ranks,
        "max_accelerators": problem.replica_accelerators,
        **problem.hardware(),
        "hosts": [each for each in problem.hosts if not is_offer(each)],
    }


def _units_sought(problem: Problem, served: ServedModel) -> dict[str, Any]:
    return {
        **sought(problem, served),
        "batch": problem.batch,
        "in_flight": problem.in_flight,
        "batches_that_share": problem.users if problem.objective == "latency" else None,
        "builds": problem.top + 1,
        "exhaustive": problem.exhaustive,
        "within_host": problem.within_host,
    }
