"""What a fleet is for, and what it may be made of: whole numbers throughout.

Demands and supplies are in any common unit of a stream (thousandths of a token per
second, or runs of a training job), money is in cents, and every line of the bill is
rounded up to a cent. So "cheapest" means cheapest to the cent, and not to within a
tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

__all__ = [
    "Container",
    "Fleet",
    "Kit",
    "Step",
    "Stream",
    "Template",
    "Way",
    "copies_for",
    "rent_cents",
    "reserve_of",
]

Way = Literal["buy", "own", "rent"]

MICRO_USD_PER_CENT = 10**4


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a load duration curve: so much is asked for in so many hours."""

    demand: int
    hours: Fraction


@dataclass(frozen=True, slots=True)
class Stream:
    """One demand to be met: requests of a size of a workload in a region, or a run."""

    name: str  # What it is called in messages
    # Its load duration curve in each period, the highest first; empty where nothing is
    # asked for.
    periods: tuple[tuple[Step, ...], ...]
    losses: int = 0  # Failures that must be borne with the whole demand still met

    def peak(self, period: int) -> int:
        """Highest demand of a period."""
        steps = self.periods[period]
        return steps[0].demand if steps else 0

    @property
    def active(self) -> tuple[int, ...]:
        """Periods in which something is asked for."""
        return tuple(p for p in range(len(self.periods)) if self.peak(p) > 0)


@dataclass(frozen=True, slots=True)
class Kit:
    """Hardware that is acquired as one: hosts with their accelerators and network."""

    name: str  # What it is called
    # What is bought, or owned and put to use, stays to the end; what is rented is paid
    # for in the hours that need it.
    way: Way
    # Accelerator, region and way: kits of a pool draw on the same stock and quota.
    pool: str
    # For each period, what a copy costs that is acquired in it and kept to the end.
    charge_cents: tuple[int, ...] = ()
    micro_usd_per_hour: int = 0  # Rent
    # What a copy takes of limited things from its acquisition on, such as ``budget``.
    uses: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Template:
    """One way of meeting a stream's demand with copies of a kit."""

    # Their places.
    stream: int
    kit: int
    supply: int  # What a copy gives
    loss: int = 0  # What a failure takes
    # What a copy takes of limited things while it is at work, such as ``power``.
    uses: Mapping[str, int] = field(default_factory=dict)
    # Hours of a period that it is rented for, where that does not depend on the demand:
    # the length of a training run.
    hours: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Container:
    """Racks or switches of a kind: each adds to what is limited."""

    name: str  # What it is called
    gives: Mapping[str, int]  # What one adds, by the name of the limit
    charge_cents: int  # Price of one, with its running cost to the end
    most: int  # How many there may be
    # What one takes of limited things.
    uses: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Fleet:
    """A question: which copies of which templates, acquired when."""

    # Demands, and what can meet them.
    streams: tuple[Stream, ...]
    kits: tuple[Kit, ...]
    templates: tuple[Template, ...]
    # How much there is of what kits, templates and containers use; of things not named
    # there is no limit. Limits hold in each period.
    limits: Mapping[str, int] = field(default_factory=dict)
    containers: tuple[Container, ...] = ()

    @property
    def periods(self) -> range:
        """Periods, from the first to the last."""
        return range(len(self.streams[0].periods) if self.streams else 0)

    @cached_property
    def of_stream(self) -> tuple[tuple[int, ...], ...]:
        """Templates of each stream."""
        places: list[list[int]] = [[] for _ in self.streams]
        for place, template in enumerate(self.templates):
            places[template.stream].append(place)
        return tuple(map(tuple, places))

    @cached_property
    def of_kit(self) -> tuple[tuple[int, ...], ...]:
        """Templates of each kit."""
        places: list[list[int]] = [[] for _ in self.kits]
        for place, template in enumerate(self.templates):
            places[template.kit].append(place)
        return tuple(map(tuple, places))

    def kit_of(self, template: int) -> Kit:
        """Kit of a template."""
        return self.kits[self.templates[template].kit]

    def only(self, templates: Sequence[int]) -> Fleet:
        """Return the same question with only some of its templates."""
        return Fleet(
            streams=self.streams,
            kits=self.kits,
            templates=tuple(self.templates[place] for place in templates),
            limits=self.limits,
            containers=self.containers,
        )


def copies_for(demand: int, supply: int, parts: int = 1) -> int:
    """Count the copies that meet a demand given in parts of its unit."""
    return -(-demand // (supply * parts))


def reserve_of(stream: Stream, template: Template) -> int:
    """Tell what a stream's failures take of a template, at most."""
    return stream.losses * template.loss


def rent_cents(kit: Kit, hours: Fraction) -> int:
    """Rent of a copy for some hours, rounded up to a cent."""
    exact = kit.micro_usd_per_hour * hours / MICRO_USD_PER_CENT
    return -(-exact.numerator // exact.denominator)
