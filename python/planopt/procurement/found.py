"""What a search found: the core keeps it, a purchase is made of its rows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from planopt.documents.parts import Search

if TYPE_CHECKING:
    from planopt._native import Found as NativeFound


class Nearest(Struct, frozen=True):
    """How close rejected candidates came."""

    memory_ratio: float | None = None
    tokens_per_second_per_user: float | None = None
    prefill_seconds: float | None = None


class Summary(Struct, frozen=True):
    """What a search looked at."""

    covered: int
    evaluated: int
    rejected: dict[str, int]
    nearest: Nearest
    is_cut_by_price: bool
    """Whether there are units beyond the price that it went up to."""
    is_cut_by_time: bool
    """Whether there was no time to look at all."""
    reduces_over_pcie: bool
    """Whether any host has accelerators that all-reduce over its PCIe."""
    rows: int


class Listed(Struct, frozen=True, kw_only=True):
    """Rows with their names, as columns of one length."""

    accelerator: tuple[str, ...]
    accelerators: tuple[int, ...]
    host: tuple[str, ...]
    hosts: tuple[int, ...]
    terms: tuple[str | None, ...]
    """Terms of an instance that is rented."""
    network: tuple[str | None, ...]
    nics_per_host: tuple[int, ...]
    switch: tuple[str | None, ...]
    switch_port_blocks: tuple[int, ...]
    tp: tuple[int, ...]
    cp: tuple[int, ...]
    dp: tuple[int, ...]
    ep: tuple[int, ...]
    pp: tuple[int, ...]
    batch: tuple[int, ...]
    goodput: tuple[float, ...]
    """Share of the time that it is there and at work."""
    is_build: tuple[bool, ...]
    replicas: tuple[int, ...]
    users: tuple[int, ...]
    tokens_per_second_per_user: tuple[float, ...]
    tokens_per_second: tuple[float, ...]
    price_micro_usd: tuple[int, ...]
    capital_micro_usd: tuple[int, ...]
    usd_per_hour: tuple[float, ...]
    power_watts: tuple[float, ...]
    rack_units: tuple[float, ...]


class ListedUnits(Listed, frozen=True, kw_only=True):
    """The same of units that serve."""

    in_flight: tuple[int, ...]
    weights: tuple[str, ...]
    kv: tuple[str, ...]


class ListedRuns(Listed, frozen=True, kw_only=True):
    """The same of clusters that train: what is rented has the price of its run."""

    shard: tuple[str, ...]
    run_seconds: tuple[float, ...]
    """The run, failures included."""


_SUMMARY: Final = msgspec.json.Decoder(Summary)


class Found:
    """What a search found, and what it looked at: the core keeps the rows."""

    def __init__(self, native: NativeFound) -> None:
        self.native = native
        self.rows = native.rows

    @cached_property
    def summary(self) -> Summary:
        """What it looked at, as the core tells it."""
        return _SUMMARY.decode(self.native.summary)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def search(self) -> Search:
        """What was looked at."""
        told = self.summary
        return Search(
            candidates_covered=told.covered,
            candidates_evaluated=told.evaluated,
            candidates_pruned=told.covered - told.evaluated,
            rejected=told.rejected,
        )

    def listed(self) -> ListedUnits:
        """Every unit with its names."""
        return msgspec.json.decode(self.native.listed(), type=ListedUnits)

    def runs(self) -> ListedRuns:
        """Every cluster with its names, where they train."""
        return msgspec.json.decode(self.native.listed(), type=ListedRuns)
