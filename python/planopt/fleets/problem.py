"""What a fleet is for, and what it may be made of: whole numbers throughout.

Demands and supplies are in any common unit of a stream (thousandths of a token per
second, or runs of a training job), money is in cents, and every line of the bill is
rounded up to a cent. So "cheapest" means cheapest to the cent, and not to within a
tolerance.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from planopt._native import undominated_templates

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from fractions import Fraction


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

    name: str
    periods: tuple[tuple[Step, ...], ...]
    """Its load duration curve in each period, the highest first; empty where nothing is
    asked for."""
    losses: int = 0
    """Failures that must be borne with the whole demand still met."""

    def peak(self, period: int) -> int:
        """Highest demand of a period."""
        steps = self.periods[period]
        return steps[0].demand if steps else 0

    @property
    def highest(self) -> int:
        """Highest demand of all periods."""
        return max(map(self.peak, range(len(self.periods))), default=0)

    @property
    def active(self) -> tuple[int, ...]:
        """Periods in which something is asked for."""
        return tuple(p for p in range(len(self.periods)) if self.peak(p) > 0)


@dataclass(frozen=True, slots=True)
class Kit:
    """Hardware that is acquired as one: hosts with their accelerators and network."""

    name: str
    way: Way
    """What is bought, or owned and put to use, stays to the end; what is rented is paid
    for in the hours that need it."""
    pool: str
    """Accelerator, region and way: kits of a pool draw on the same stock and quota."""
    charge_cents: tuple[int, ...] = ()
    """For each period, what a copy costs that is acquired in it and kept to the end."""
    micro_usd_per_hour: int = 0
    """Rent."""
    uses: Mapping[str, int] = field(default_factory=dict)
    """What a copy takes of limited things from its acquisition on, as of ``budget``."""


@dataclass(frozen=True, slots=True)
class Template:
    """One way of meeting a stream's demand with copies of a kit."""

    stream: int
    kit: int
    supply: int
    """What a copy gives."""
    loss: int = 0
    """What a failure takes."""
    uses: Mapping[str, int] = field(default_factory=dict)
    """What a copy takes of limited things while it is at work, as of ``power``."""
    hours: Fraction | None = None
    """Hours of a period that it is rented for, where that does not depend on the
    demand: the length of a training run."""


@dataclass(frozen=True, slots=True)
class Container:
    """Racks or switches of a kind: each adds to what is limited."""

    name: str
    gives: Mapping[str, int]
    charge_cents: int
    """Price of one, with its running cost to the end."""
    most: int
    """How many there may be."""
    uses: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Fleet:
    """A question: which copies of which templates, acquired when."""

    streams: tuple[Stream, ...]
    kits: tuple[Kit, ...]
    templates: tuple[Template, ...]
    limits: Mapping[str, int] = field(default_factory=dict)
    """How much there is, in each period, of what is used; of things not named there is
    no limit."""
    containers: tuple[Container, ...] = ()
    only_templates: tuple[int, ...] | None = None
    """Templates to choose from; all of them unless said."""

    @property
    def periods(self) -> range:
        """Periods, from the first to the last."""
        return range(len(self.streams[0].periods) if self.streams else 0)

    @property
    def offered(self) -> Sequence[int]:
        """Templates to choose from."""
        if self.only_templates is None:
            return range(len(self.templates))
        return self.only_templates

    @cached_property
    def of_stream(self) -> tuple[tuple[int, ...], ...]:
        """Templates of each stream to choose from."""
        return self._grouped([each.stream for each in self.templates], self.streams)

    @property
    def unserved(self) -> list[str]:
        """Demands that none of the templates serves."""
        return [
            stream.name
            for place, stream in enumerate(self.streams)
            if stream.active and not self.of_stream[place]
        ]

    @cached_property
    def of_kit(self) -> tuple[tuple[int, ...], ...]:
        """Templates of each kit to choose from."""
        return self._grouped([each.kit for each in self.templates], self.kits)

    def _grouped(
        self, group_of: Sequence[int], groups: Sequence[object]
    ) -> tuple[tuple[int, ...], ...]:
        places: list[list[int]] = [[] for _ in groups]
        for place in self.offered:
            places[group_of[place]].append(place)
        return tuple(map(tuple, places))

    @cached_property
    def at_work(self) -> tuple[Mapping[str, int], ...]:
        """What a copy of each template uses at work: of what is rented, its kit too."""
        return tuple(
            self.uses[place] if self.rents(place) else each.uses
            for place, each in enumerate(self.templates)
        )

    @cached_property
    def uses(self) -> tuple[Mapping[str, int], ...]:
        """What a copy of each template uses, with its kit."""
        together = [Counter(each.uses) for each in self.templates]
        for place, each in enumerate(together):
            each.update(self.kit_of(place).uses)
        return tuple(together)

    def kit_of(self, template: int) -> Kit:
        """Kit of a template."""
        return self.kits[self.templates[template].kit]

    def rents(self, template: int) -> bool:
        """Whether copies of a template are rented."""
        return self.kit_of(template).way == "rent"

    def reserve(self, template: int) -> int:
        """Tell what its stream's failures take of a template, at most."""
        each = self.templates[template]
        return self.streams[each.stream].losses * each.loss

    def copies(self, template: int, demand: int, parts: int = 1) -> int:
        """Count the copies that meet a demand, given in parts of its unit, alone.

        More of one template are never needed: with so many, all others can be left out.
        """
        if demand <= 0:
            return 0
        needed = demand + self.reserve(template) * parts
        return -(-needed // (self.templates[template].supply * parts))

    def allowed(self, uses: Mapping[str, int]) -> list[int]:
        """Count the copies that each limit allows, where no container adds to it."""
        given = {name for container in self.containers for name in container.gives}
        return [
            self.limits[name] // amount
            for name, amount in uses.items()
            if amount > 0 and name in self.limits and name not in given
        ]

    def hours(self, template: int, period: int, step: int) -> Fraction:
        """Hours that a copy of a template is rented for in a step."""
        each = self.templates[template]
        if each.hours is not None:
            return each.hours
        return self.streams[each.stream].periods[period][step].hours

    def rent_cents(self, template: int, period: int, step: int) -> int:
        """Rent of a copy for the hours of a step, rounded up to a cent."""
        hours = self.hours(template, period, step)
        exact = self.kit_of(template).micro_usd_per_hour * hours / MICRO_USD_PER_CENT
        return -(-exact.numerator // exact.denominator)

    def only(self, templates: Sequence[int]) -> Fleet:
        """Return the same question with only some of its templates."""
        return replace(self, only_templates=tuple(templates))

    def asking(self, streams: Collection[int]) -> Fleet:
        """Return the same question with only some of its demands."""
        kept = list(self._silent)
        for place in streams:
            kept[place] = self.streams[place]
        return replace(self, streams=tuple(kept))

    @cached_property
    def _silent(self) -> tuple[Stream, ...]:
        """Its streams without demands."""
        nothing = tuple(() for _ in self.periods)
        return tuple(replace(each, periods=nothing) for each in self.streams)


Columns: TypeAlias = tuple[list[int], list[int], list[int], list[list[int]]]


def undominated(fleet: Fleet) -> list[int]:
    """Places of the templates that no other one replaces without loss."""
    return undominated_templates(*columns_of(fleet))


def columns_of(fleet: Fleet) -> Columns:
    """Pool, supply, loss and needs of all templates, as the core takes them."""
    # What is bought for one demand may be put to another in a later period.
    lasting = len(fleet.periods) > 1
    pools: dict[tuple[object, ...], int] = {}
    of_template, supply, loss = [], [], []
    for template in fleet.templates:
        kit = fleet.kits[template.kit]
        alone = template.kit if lasting and kit.way != "rent" else None
        losses = fleet.streams[template.stream].losses
        counted = template.loss if losses > 1 else None
        pool = template.stream, kit.way, kit.pool, template.hours, alone, counted
        of_template.append(pools.setdefault(pool, len(pools)))
        supply.append(template.supply)
        loss.append(template.loss if losses else 0)
    kits = [fleet.kits[template.kit] for template in fleet.templates]
    rents = [kit.micro_usd_per_hour for kit in kits]
    charges = [[*kit.charge_cents] or [0 for _ in fleet.periods] for kit in kits]
    uses = [[each.get(name, 0) for each in fleet.uses] for name in sorted(fleet.limits)]
    needs = [*map(list, zip(*charges, strict=True)), rents, *uses]
    return of_template, supply, loss, needs
