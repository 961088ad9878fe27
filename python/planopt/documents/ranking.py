"""Accelerators ranked by what a dollar brings."""

from __future__ import annotations

from msgspec import Struct


class Value(Struct, frozen=True, kw_only=True):
    """What a dollar brings in one way of coming by an accelerator."""

    usd_per_million_tokens: float
    tokens_per_usd: float
    relative: float = 0.0
    """Tokens per dollar, as a share of the best of all accelerators and ways."""
    unit_usd: float
    """Price of the unit that they are put out by; rented, of an hour."""
    host: str
    """Host id, or the offer."""
    accelerators: int
    """Accelerators of one replica: what its memory takes first."""
    tokens_per_second: float
    """Of the unit."""


class Standing(Struct, frozen=True, kw_only=True):
    """One accelerator: how much memory it has, and what it brings."""

    accelerator: str
    name: str
    memory_bytes: float
    new: Value | None = None
    used: Value | None = None
    rented: Value | None = None

    @property
    def best(self) -> float:
        """The best of its ways, by which it is ranked."""
        return max(
            (each.relative for each in (self.new, self.used, self.rented) if each),
            default=0.0,
        )


class Ranking(Struct, frozen=True, kw_only=True):
    """Accelerators by what they put out for a dollar, the best first."""

    model: str
    context_tokens: int
    years: float
    duty: float
    electricity_usd_per_kwh: float
    standings: tuple[Standing, ...] = ()
    without: tuple[str, ...] = ()
    """Accelerators that cannot serve it, or that have no price in any way."""
