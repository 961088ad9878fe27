"""What is bought, within what, and what a purchase adds up to: exact arithmetic.

A *unit* is the smallest thing bought on its own (docs/reference/model.md, section 7).
A purchase is a count of each unit. This module knows nothing of solvers: it is what
their answers are checked against.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from planopt.procurement.model import exact

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["Counts", "Limits", "Objective", "Purchase", "Totals", "Unit"]

Objective = Literal["cheapest", "throughput", "cost-per-token", "latency"]
Counts = Mapping[int, int]
"""How many of each unit, by the unit's index; units not bought are absent."""

MICRO_USD = 10**6
TOKENS_PER_HOUR = 3600 * Fraction(1, 10**6)
"""Millions of tokens per hour, of one token per second."""


@dataclass(frozen=True, slots=True)
class Unit:
    """The smallest thing that is bought on its own.

    Parameters
    ----------
    index : int
        Position in the search result.
    signature : tuple
        The hardware: accelerator, accelerators, host, hosts, network, NICs per host,
        switch.
    accelerator : str
        Catalog id, as in `Limits.stock`.
    accelerators : int
        Accelerators bought.
    price_micro_usd : int
        Price; where anything may be rented, of an hour.
    usd_per_hour : float
        Running cost with depreciation.
    power_watts : float
        Power drawn.
    rack_units : float
        Height in racks.
    replicas : int
        Replicas of the model in it.
    users : int
        Users of all its replicas together: ``replicas * replica_users``.
    replica_users : int
        Users of one replica.
    tokens_per_second : float
        Of all its replicas together.
    tokens_per_second_per_user : float
        Speed of each user.
    capital_micro_usd : int
        Purchase money, where the price is that of an hour.
    """

    index: int
    signature: tuple[str | int | None, ...]
    accelerator: str
    accelerators: int
    price_micro_usd: int
    usd_per_hour: float
    power_watts: float
    rack_units: float
    replicas: int
    users: int
    replica_users: int
    tokens_per_second: float
    tokens_per_second_per_user: float
    capital_micro_usd: int = 0

    def users_up_to(self, cap: int) -> int:
        """Users if no replica could have more than `cap`."""
        return self.replicas * min(self.replica_users, cap)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a purchase must supply, and what it must stay within.

    Parameters
    ----------
    users : int
        Users served at the same time.
    tokens_per_second : float
        Total throughput; 0 for none.
    budget_micro_usd, power_watts, rack_units, accelerators : optional
        Upper limits; none where there is none.
    stock : mapping
        Accelerators that can be had, by id; those not named have no limit.
    redundancy : int
        Replicas, whichever they are, that may fail with all users still served.
    capital_micro_usd : int, optional
        Upper limit of purchase money, where prices are those of an hour.
    hourly : bool
        Whether prices are those of an hour.
    """

    users: int
    tokens_per_second: float = 0.0
    budget_micro_usd: int | None = None
    power_watts: float | None = None
    rack_units: float | None = None
    accelerators: int | None = None
    stock: Mapping[str, int] = field(default_factory=dict)
    redundancy: int = 0
    capital_micro_usd: int | None = None
    hourly: bool = False

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the limits that are set: demands first, then what is scarce."""
        set_ = {
            "users": self.users > 0,
            "throughput": self.tokens_per_second > 0,
            "budget": self.budget_micro_usd is not None,
            "purchase": self.capital_micro_usd is not None,
            "power": self.power_watts is not None,
            "racks": self.rack_units is not None,
            "accelerators": self.accelerators is not None,
        }
        stock = (f"stock:{name}" for name in sorted(self.stock))
        return (*(group for group, there in set_.items() if there), *stock)

    def only(self, groups: Collection[str]) -> Limits:
        """Return the same limits without those not named."""
        return replace(
            self,
            users=self.users if "users" in groups else 0,
            tokens_per_second=self.tokens_per_second if "throughput" in groups else 0.0,
            budget_micro_usd=self.budget_micro_usd if "budget" in groups else None,
            capital_micro_usd=self.capital_micro_usd if "purchase" in groups else None,
            power_watts=self.power_watts if "power" in groups else None,
            rack_units=self.rack_units if "racks" in groups else None,
            accelerators=self.accelerators if "accelerators" in groups else None,
            stock={k: v for k, v in self.stock.items() if f"stock:{k}" in groups},
        )

    def resources(
        self, units: Sequence[Unit]
    ) -> dict[str, tuple[list[Fraction], Fraction]]:
        """Tell what each unit needs of each upper limit, and the limit, by group."""
        needs: dict[str, tuple[list[Fraction], Fraction]] = {}

        def limited(group: str, limit: float | None, each: list[float]) -> None:
            if limit is not None:
                needs[group] = list(map(exact, each)), exact(limit)

        limited("budget", self.budget_micro_usd, [u.price_micro_usd for u in units])
        limited(
            "purchase", self.capital_micro_usd, [u.capital_micro_usd for u in units]
        )
        limited("power", self.power_watts, [u.power_watts for u in units])
        limited("racks", self.rack_units, [u.rack_units for u in units])
        limited("accelerators", self.accelerators, [u.accelerators for u in units])
        for name, stock in sorted(self.stock.items()):
            of_it = [u.accelerators * (u.accelerator == name) for u in units]
            limited(f"stock:{name}", stock, list(of_it))
        return needs


@dataclass(frozen=True, slots=True)
class Totals:
    """What a purchase adds up to."""

    price_micro_usd: int
    usd_per_hour: Fraction
    power_watts: Fraction
    rack_units: Fraction
    accelerators: int
    users: int
    tokens_per_second: Fraction
    slowest: Fraction
    """Speed of the slowest user, tokens per second."""

    @classmethod
    def of(cls, units: Sequence[Unit], counts: Counts) -> Totals:
        """Add up a purchase."""
        bought = [(unit, counts[unit.index]) for unit in units if unit.index in counts]

        def whole(name: str) -> int:
            return sum(n * getattr(u, name) for u, n in bought)

        def total(name: str) -> Fraction:
            return sum((n * exact(getattr(u, name)) for u, n in bought), Fraction(0))

        return cls(
            price_micro_usd=whole("price_micro_usd"),
            usd_per_hour=total("usd_per_hour"),
            power_watts=total("power_watts"),
            rack_units=total("rack_units"),
            accelerators=whole("accelerators"),
            users=whole("users"),
            tokens_per_second=total("tokens_per_second"),
            slowest=min(
                (exact(u.tokens_per_second_per_user) for u, _ in bought),
                default=Fraction(0),
            ),
        )

    @property
    def usd_per_million_tokens(self) -> Fraction:
        """Running cost per million tokens at a duty of 100 %."""
        return self.usd_per_hour / (self.tokens_per_second * TOKENS_PER_HOUR)


@dataclass(frozen=True, slots=True)
class Purchase:
    """An answer: what to buy, and what is proven about it.

    Parameters
    ----------
    status : {"optimal", "feasible", "infeasible", "unknown"}
        Proven best; best at the time limit; proven that there is none; neither found
        nor excluded within the time limit.
    counts : dict
        How many of each unit, by the unit's index.
    price_micro_usd : int, optional
        Price.
    bound_micro_usd : int, optional
        No purchase is cheaper; none where another objective was asked for.
    objective_value, objective_bound : float, optional
        In the objective's own unit: dollars, tokens per second, dollars per million
        tokens at a duty of 100 %, tokens per second per user.
    gap : float, optional
        Their distance as a share of the value.
    seconds : float
        Time it took.
    """

    status: Literal["optimal", "feasible", "infeasible", "unknown"]
    counts: dict[int, int] = field(default_factory=dict)
    price_micro_usd: int | None = None
    bound_micro_usd: int | None = None
    objective_value: float | None = None
    objective_bound: float | None = None
    gap: float | None = None
    seconds: float = 0.0


def by_name(unit: Unit) -> tuple[Any, ...]:
    """Sort key: the signature, parts that are absent first, then the index."""
    return *((part is not None, part) for part in unit.signature), unit.index


def survivors(units: Sequence[Unit], counts: Counts, losses: int) -> int:
    """Users served after the worst failure of `losses` replicas."""
    left = losses
    users = 0
    for unit in sorted(units, key=lambda unit: -unit.replica_users):
        replicas = unit.replicas * counts.get(unit.index, 0)
        lost = min(left, replicas)
        left -= lost
        users += (replicas - lost) * unit.replica_users
    return users


def shortfalls(
    units: Sequence[Unit], counts: Counts, limits: Limits
) -> dict[str, Fraction]:
    """Limits that a purchase breaks, and by how much, by group."""
    units = [unit for unit in units if unit.index in counts]
    missing = {
        "users": Fraction(limits.users - survivors(units, counts, limits.redundancy)),
    }
    if limits.tokens_per_second > 0:
        supplied = sum(counts[u.index] * exact(u.tokens_per_second) for u in units)
        missing["throughput"] = exact(limits.tokens_per_second) - supplied
    for group, (needs, limit) in limits.resources(units).items():
        used = sum(counts[u.index] * n for u, n in zip(units, needs, strict=True))
        missing[group] = used - limit
    return {group: amount for group, amount in missing.items() if amount > 0}


def figure(totals: Totals, objective: Objective) -> Fraction:
    """Value of a purchase in the objective's own unit."""
    if objective == "cheapest":
        return Fraction(totals.price_micro_usd, MICRO_USD)
    if objective == "throughput":
        return totals.tokens_per_second
    if objective == "cost-per-token":
        return totals.usd_per_million_tokens
    return totals.slowest


def rank(totals: Totals, objective: Objective) -> tuple[Fraction, ...]:
    """Key by which purchases are ordered, the best first, save for their names.

    After the objective come the price, $/Mtok and power.
    """
    first = figure(totals, objective)
    return (
        first if objective in ("cheapest", "cost-per-token") else -first,
        Fraction(totals.price_micro_usd),
        totals.usd_per_million_tokens,
        totals.power_watts,
    )


def copies_enough(unit: Unit, limits: Limits) -> int:
    """Count the copies of one unit that meet the demands alone.

    Of identical replicas of r users, ``ceil(users / r)`` must be left.
    """
    users = 0
    if limits.users > 0:
        replicas = math.ceil(limits.users / unit.replica_users) + limits.redundancy
        users = math.ceil(replicas / unit.replicas)
    demand = exact(limits.tokens_per_second)
    return max(users, math.ceil(demand / exact(unit.tokens_per_second)), 1)


def copies_possible(units: Sequence[Unit], limits: Limits) -> list[int | None]:
    """Count the copies of each unit that the upper limits allow; none if unlimited."""
    most: list[int | None] = [None] * len(units)
    for needs, limit in limits.resources(units).values():
        for i, need in enumerate(needs):
            if need > 0:
                copies = max(0, math.floor(limit / need))
                known = most[i]
                most[i] = copies if known is None else min(known, copies)
    return most
