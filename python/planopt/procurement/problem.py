"""What is bought, within what, and what of it a solver is offered.

A *unit* is the smallest thing bought on its own (docs/reference/model.md, section 7);
what a search found are rows of units, which the compiled core keeps. A purchase is a
count of each row. The core adds purchases up, exactly, and checks them against limits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Final, Literal, NamedTuple

import msgspec
from msgspec import Struct

from planopt._native import Found as NativeFound
from planopt._native import Rows
from planopt.documents.parts import Search
from planopt.errors import InternalError
from planopt.units import MICRO_USD

Objective = Literal["cheapest", "throughput", "cost-per-token", "latency"]
Counts = Mapping[int, int]  # How many of each row; rows not bought are absent

TOKENS_PER_HOUR = 3600 * Fraction(1, 10**6)
"""Millions of tokens per hour, of one token per second."""
LARGEST: Final = 2**63 - 1
"""Micro-dollars that a limit of money is told as, at most: more than anything costs."""


def micro_usd(usd: float | None) -> int | None:
    """Return a limit of money as the core counts it, where there is one."""
    return None if usd is None else min(round(usd * MICRO_USD), LARGEST)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a purchase must supply, and what it must stay within."""

    users: int  # Users served at the same time
    tokens_per_second: float = 0.0  # Total throughput; 0 for none
    # Upper limits; none where there is none.
    budget_micro_usd: int | None = None
    power_watts: float | None = None
    rack_units: float | None = None
    accelerators: int | None = None
    # Accelerators that can be had, by id; those not named have no limit.
    stock: Mapping[str, int] = field(default_factory=dict)
    # Parts that are there already, by id: no more of them are free.
    owned: Mapping[str, int] = field(default_factory=dict)
    # How many of each part (device, host, switch, rack), whichever they are, may fail
    # with all that is asked still given; and the share of it that one may take (loss).
    redundancy: Mapping[str, float] = field(default_factory=dict)
    # Upper limit of purchase money, where prices are those of an hour.
    capital_micro_usd: int | None = None

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the limits that are set: demands first, then what is scarce."""
        set_ = (
            group
            for group, field in _GROUPS.items()
            if getattr(self, field) != getattr(_NONE, field)
        )
        return (*set_, *(f"stock:{name}" for name in sorted(self.stock)))

    def only(self, groups: Collection[str]) -> Limits:
        """Return the same limits without those not named."""
        stock = {k: v for k, v in self.stock.items() if f"stock:{k}" in groups}
        others = (field for group, field in _GROUPS.items() if group not in groups)
        left_out = {field: getattr(_NONE, field) for field in others}
        return replace(self, stock=stock, **left_out)


_NONE: Final = Limits(users=0)
_GROUPS: Final = {
    "concurrency": "users",
    "throughput": "tokens_per_second",
    "budget": "budget_micro_usd",
    "purchase": "capital_micro_usd",
    "power": "power_watts",
    "racks": "rack_units",
    "accelerators": "accelerators",
}
"""Fields of limits, by the names that conflicts have for them."""


class Need(Struct, frozen=True):
    """An upper limit, with what each row needs of it."""

    group: str
    limit: str
    each: tuple[int | float, ...]


class Demand(Struct, frozen=True):
    """What a purchase must supply."""

    users: int
    tokens_per_second: float


class Failure(Struct, frozen=True):
    """What may fail, with the parts of each row that then fail one at a time."""

    domain: str
    losses: int
    share: float
    """Of the demand, the most that one may take; 0 where that is not bounded."""
    parts: tuple[int, ...]  # Of each row; 0 where nothing of it fails
    part_users: tuple[int, ...]
    part_tokens: tuple[float, ...]


class Broken(Struct, frozen=True):
    """A limit that a purchase breaks."""

    group: str
    by: str

    @property
    def amount(self) -> Fraction:
        """By how much, in the limit's own unit."""
        return Fraction(self.by)


class Alternative(Struct, frozen=True):
    """Copies of one row, and the limits that they break."""

    row: int
    count: int
    broken: tuple[Broken, ...] = ()


class Offer(Struct, frozen=True):
    """Rows that a best purchase may have, by name, with what a programme needs."""

    objective: Objective
    demand: Demand
    rows: tuple[int, ...]
    places: tuple[int, ...]
    """In the order of names, from 1: ties are broken by it, whatever is left out."""
    uppers: tuple[int, ...]  # Most copies of each that a best purchase has
    needs: tuple[Need, ...]
    failures: tuple[Failure, ...]
    price_micro_usd: tuple[int, ...]
    usd_per_hour: tuple[float, ...]
    power_watts: tuple[float, ...]
    users: tuple[int, ...]
    tokens_per_second: tuple[float, ...]
    tokens_per_second_per_user: tuple[float, ...]
    alone: Alternative | None = None
    """The best purchase of one of them: a mix of them may be better."""
    unlimited: str | None = None
    """Accelerator of which nothing limits the number, though it should."""


class Offered(Struct, frozen=True):
    """What can be bought of some rows, for each objective, and what lies beside."""

    offers: dict[Objective, Offer]
    builds: tuple[Alternative, ...]
    """The cheapest build of one kind of row for each hardware, by price."""
    least_micro_usd: int | None = None
    """Price of the cheapest of the builds that a search names, if any does alone."""


class Wanted(NamedTuple):
    """What is bought of some rows, and what is told beside."""

    limits: Limits
    objectives: Sequence[Objective]
    builds: int = 0
    """Builds of one kind of row, at most."""
    only: Sequence[int] | None = None
    """Rows that are offered, whatever replaces them; else all that nothing does."""

    def written(self) -> bytes:
        """Put it as the core reads it."""
        return msgspec.json.encode(self._asdict())


@dataclass(frozen=True, slots=True)
class Purchase:
    """An answer: what to buy, and what is proven about it."""

    # Proven best; best at the time limit; proven that there is none; neither found nor
    # excluded within the time limit.
    status: Literal["optimal", "feasible", "infeasible", "unknown"]
    counts: dict[int, int] = field(default_factory=dict)  # How many of each row
    price_micro_usd: int | None = None  # Price
    # No purchase is cheaper; none where another objective was asked for.
    bound_micro_usd: int | None = None
    # In the objective's own unit: dollars, tokens per second, dollars per million
    # tokens at a duty of 100 %, tokens per second per user.
    objective_value: float | None = None
    objective_bound: float | None = None
    gap: float | None = None  # Their distance as a share of the value
    # Why it is not proven: a rate too near its limit to be told, the time, no method.
    why: Literal["edge", "time", "space"] | None = None
    seconds: float = 0.0  # Time it took

    def cut(self) -> Purchase:
        """Return the same, bounded by nothing: there was no time to look at all."""
        return replace(
            self,
            status="feasible" if self.counts else "unknown",
            why="time",
            bound_micro_usd=None,
            gap=None,
        )


_OFFERED: Final = msgspec.json.Decoder(Offered)


def offered(rows: Rows, wanted: Wanted) -> Offered:
    """Ask the core what a solver is to be offered of some rows."""
    return _OFFERED.decode(rows.offered(wanted.written()))


def offer(
    rows: Rows, limits: Limits, objective: Objective, only: Sequence[int] | None = None
) -> Offer:
    """Ask the core the same of one objective alone."""
    wanted = Wanted(limits, [objective], only=only)
    return offered(rows, wanted).offers[objective]


def check(broken: Collection[Broken]) -> None:
    """Refuse an answer of the solver that breaks a limit."""
    if broken:
        raise InternalError.of("E903", "the solver's answer breaks a limit")


def broken(rows: Rows, limits: Limits, counts: Counts) -> tuple[Broken, ...]:
    """Ask the core which limits a purchase breaks, by exact sums."""
    response = rows.broken(
        msgspec.json.encode(limits), msgspec.json.encode(dict(counts))
    )
    return msgspec.json.decode(response, type=tuple[Broken, ...])


# --- What a search found --------------------------------------------------------------


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
    is_cut_by_price: bool  # Whether there are units beyond the price that it went up to
    is_cut_by_time: bool  # Whether there was no time to look at all
    reduces_over_pcie: bool
    """Whether any host has accelerators that all-reduce over its PCIe."""
    rows: int


class Listed(Struct, frozen=True, kw_only=True):
    """Rows with their names, as columns of one length."""

    accelerator: tuple[str, ...]
    accelerators: tuple[int, ...]
    host: tuple[str, ...]
    hosts: tuple[int, ...]
    terms: tuple[str | None, ...]  # Terms of an instance that is rented
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
    goodput: tuple[float, ...]  # Share of the time that it is there and at work
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
    run_seconds: tuple[float, ...]  # The run, failures included


class _Told(Struct, frozen=True):
    """What is told of what a search found."""

    summary: Summary
    offered: Offered | None = None


_TOLD: Final = msgspec.json.Decoder(_Told)


class Found:
    """What a search found, and what it looked at: the core keeps the rows."""

    def __init__(self, native: NativeFound, told: bytes) -> None:
        self.native = native
        self._written = told

    @property
    def rows(self) -> Rows:
        """What can be bought."""
        return self.native.rows

    @cached_property
    def _told(self) -> _Told:
        return _TOLD.decode(self._written)

    @property
    def summary(self) -> Summary:
        """What it looked at, as the core tells it."""
        return self._told.summary

    @property
    def offered(self) -> Offered:
        """What a solver is offered of it."""
        offered = self._told.offered
        assert offered is not None  # Who buys of it has wanted that
        return offered

    def __len__(self) -> int:
        return self.summary.rows

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
