"""Units made by hand, and what the core and OR-Tools make of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from planopt._native import Rows
from planopt.procurement.problem import (
    Limits,
    Objective,
    Purchase,
    Wanted,
    broken,
    offer,
)
from planopt.procurement.problem import (
    offered as offered_of,
)
from planopt.procurement.purchase import buy as buy_offered
from planopt.procurement.purchase import satisfiable as satisfiable_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planopt.procurement.problem import Alternative, Offer
    from planopt.procurement.solver import Solver


@dataclass(frozen=True, kw_only=True)
class Unit:
    """The smallest thing that is bought on its own: a row, as somebody says it."""

    index: int
    host: str = "desktop"
    hosts: int = 1
    switch: str | None = None
    stock: str
    accelerators: int
    price_micro_usd: int
    usd_per_hour: float
    power_watts: float
    rack_units: float
    replicas: int
    replica_users: int
    tokens_per_second: float
    tokens_per_second_per_user: float
    capital_micro_usd: int = 0

    @property
    def users(self) -> int:
        return self.replicas * self.replica_users

    @property
    def accelerator(self) -> str:
        return self.stock

    @property
    def name(self) -> tuple[str, int, str, int, str]:
        """What rows are ordered by."""
        switch = self.switch or ""
        return self.stock, self.accelerators, self.host, self.hosts, switch

    def said(self) -> tuple[dict[str, Any], str, dict[str, Any]]:
        figures = (
            *("price_micro_usd", "capital_micro_usd", "usd_per_hour"),
            *("power_watts", "rack_units", "replicas", "users", "tokens_per_second"),
            "tokens_per_second_per_user",
        )
        system = {
            "accelerator": self.stock,
            "accelerators": self.accelerators,
            "host": self.host,
            "hosts": self.hosts,
            "switch": self.switch,
        }
        return system, self.stock, {name: getattr(self, name) for name in figures}


def rows(units: Sequence[Unit]) -> Rows:
    """Put units into a table, in the order in which they are given."""
    return Rows.said(msgspec.json.encode([unit.said() for unit in units]))


def buy(
    units: Sequence[Unit],
    limits: Limits,
    objective: Objective,
    solver: Solver,
    time_limit: float,
) -> Purchase:
    """Buy as `planopt solve` does, the core's check of limits included."""
    table = rows(units)
    purchase = buy_offered(offer(table, limits, objective), solver, time_limit)
    assert not broken(table, limits, purchase.counts) or not purchase.counts
    return purchase


def satisfiable(
    units: Sequence[Unit], limits: Limits, solver: Solver, time_limit: float
) -> bool:
    return satisfiable_rows(rows(units), limits, solver, time_limit)


def scan(
    units: Sequence[Unit], limits: Limits, objective: Objective
) -> Mapping[int, int] | None:
    """Give the best purchase of one kind of unit, if any does alone."""
    alone = offered(units, limits, objective).alone
    return None if alone is None else {alone.row: alone.count}


def offered(units: Sequence[Unit], limits: Limits, objective: Objective) -> Offer:
    return offer(rows(units), limits, objective)


def builds(units: Sequence[Unit], limits: Limits, most: int) -> tuple[Alternative, ...]:
    return offered_of(rows(units), Wanted(limits, (), most)).builds


def undominated(
    units: Sequence[Unit], redundancy: Mapping[str, float] | None = None
) -> list[Unit]:
    may_fail = msgspec.json.encode(redundancy or {})
    return [units[row] for row in rows(units).undominated(may_fail)]
