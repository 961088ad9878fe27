"""A fleet in whole numbers: what is asked, and what an answer costs, uses and lacks.

Demands and supplies are in any common unit of a stream (thousandths of a token per
second, or runs of a training job), money is in cents, and every line of the bill is
rounded up to a cent. So "cheapest" means cheapest to the cent, and not to within a
tolerance.

Whatever may be chosen in the programmes of a fleet stands for a purchase, too: a column
of a selection, a cover, a single copy. So all of them cost and use what is said here.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, TypeAlias, TypeVar

from planopt._native import undominated_templates

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
    losses: int = 0  # Failures that must be borne with the whole demand still met

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
    micro_usd_per_hour: int = 0  # Rent
    uses: Mapping[str, int] = field(default_factory=dict)
    """What a copy takes of limited things from its acquisition on, as of ``budget``."""


@dataclass(frozen=True, slots=True)
class Template:
    """One way of meeting a stream's demand with copies of a kit."""

    stream: int
    kit: int
    supply: int  # What a copy gives
    loss: int = 0  # What a failure takes
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
    charge_cents: int  # Price of one, with its running cost to the end
    most: int  # How many there may be
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
        key = template, period, step
        if key not in self._rents:
            rate = self.kit_of(template).micro_usd_per_hour
            self._rents[key] = math.ceil(rate * self.hours(*key) / MICRO_USD_PER_CENT)
        return self._rents[key]

    @cached_property
    def _rents(self) -> dict[tuple[int, int, int], int]:
        """Rents that were asked for already."""
        return {}

    def only(self, templates: Sequence[int]) -> Fleet:
        """Return the same question with only some of its templates."""
        return replace(self, only_templates=tuple(templates))

    def asking(self, streams: Collection[int]) -> Fleet:
        """Return the same question with only some of its demands."""
        kept = (
            each if place in streams else self._silent[place]
            for place, each in enumerate(self.streams)
        )
        return replace(self, streams=tuple(kept))

    @cached_property
    def _silent(self) -> list[Stream]:
        """Its demands without any: made once, for a part asks nothing of all others."""
        nothing = tuple(() for _ in self.periods)
        return [replace(each, periods=nothing) for each in self.streams]


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


Key = TypeVar("Key", tuple[int, int], tuple[int, int, int])


@dataclass(frozen=True)
class Purchase:
    """An answer; whatever is not named is 0."""

    acquired: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """Copies of a kit that are bought, or put to use, in a period: (kit, period)."""
    deployed: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """Copies of a template at work on what is bought or owned: (template, period)."""
    rented: Mapping[tuple[int, int, int], int] = field(default_factory=dict)
    """Copies of a template rented in the hours of a step: (template, period, step)."""
    containers: Mapping[int, int] = field(default_factory=dict)

    @cached_property
    def spelling(self) -> tuple[tuple[object, ...], ...]:
        """All of it in one order, by which equal costs are told apart."""
        parts = (self.acquired, self.deployed, self.rented, self.containers)
        return tuple(tuple(sorted(part.items())) for part in parts)

    def __hash__(self) -> int:
        return hash(self.spelling)

    def at_work(self, templates: Collection[int], periods: Collection[int]) -> Purchase:
        """Take copies at work alone, of some templates in some periods."""

        def there(counts: Mapping[Key, int]) -> dict[Key, int]:
            return {
                key: count
                for key, count in counts.items()
                if key[0] in templates and key[1] in periods
            }

        return Purchase(deployed=there(self.deployed), rented=there(self.rented))

    def at_peak(self, template: int, period: int) -> int:
        """Count the copies of a template at work at the peak of a period."""
        rented = self.rented.get((template, period, 0), 0)
        return self.deployed.get((template, period), 0) + rented

    @property
    def most_rented(self) -> Mapping[tuple[int, int], int]:
        """Copies of each template rented at the same time in each period, at most."""
        most: Counter[tuple[int, int]] = Counter()
        for (template, period, _), count in self.rented.items():
            most[template, period] = max(most[template, period], count)
        return most


def total(parts: Iterable[tuple[Purchase, int]]) -> Purchase:
    """Add up so many times each of some purchases."""
    counts: dict[str, Counter[Any]] = defaultdict(Counter)
    for part, times in parts:
        for field_ in fields(part):
            for key, count in getattr(part, field_.name).items():
                counts[field_.name][key] += count * times
    return Purchase(**{name: +each for name, each in counts.items()})


def cost_cents(fleet: Fleet, purchase: Purchase) -> int:
    """Cost of an answer, to the cent."""
    acquired = (
        count * fleet.kits[kit].charge_cents[period]
        for (kit, period), count in purchase.acquired.items()
    )
    rented = (
        count * fleet.rent_cents(*key)
        for key, count in purchase.rented.items()
        if count
    )
    containers = (
        count * fleet.containers[place].charge_cents
        for place, count in purchase.containers.items()
    )
    return sum(acquired) + sum(rented) + sum(containers)


def used(fleet: Fleet, purchase: Purchase) -> Counter[tuple[str, int]]:
    """Add up what is used of each limited thing in each period, less what is given."""
    amounts: Counter[tuple[str, int]] = Counter()

    def use(uses: Mapping[str, int], period: int, times: int) -> None:
        for name, amount in uses.items():
            if name in fleet.limits:
                amounts[name, period] += amount * times

    for (kit, since), count in purchase.acquired.items():
        for period in fleet.periods[since:]:
            use(fleet.kits[kit].uses, period, count)
    for copies in (purchase.deployed, purchase.most_rented):
        for (template, period), count in copies.items():
            use(fleet.at_work[template], period, count)
    for place, count in purchase.containers.items():
        for period in fleet.periods:
            use(fleet.containers[place].uses, period, count)
            use(fleet.containers[place].gives, period, -count)
    return amounts


def shortfalls(fleet: Fleet, purchase: Purchase) -> dict[str, int]:
    """Demands that an answer does not meet and limits that it breaks, and by how much.

    Names are those of streams and limits, and ``hosts of KIT`` where more copies are at
    work than there are.
    """
    missing: Counter[str] = Counter()

    def note(name: str, amount: int) -> None:
        missing[name] = max(missing[name], amount)

    at_work: Counter[tuple[int, int]] = Counter()
    for (template, period), count in purchase.deployed.items():
        at_work[fleet.templates[template].kit, period] += count
    for (kit, period), count in at_work.items():
        held = sum(
            purchase.acquired.get((kit, since), 0) for since in range(period + 1)
        )
        note(f"hosts of {fleet.kits[kit].name}", count - held)
    for stream, asked in enumerate(fleet.streams):
        for period in asked.active:
            for step, there in enumerate(asked.periods[period]):
                _, left = supplied(fleet, purchase, stream, period, step)
                note(asked.name, there.demand - left)
    for (name, _), amount in used(fleet, purchase).items():
        note(name, amount - fleet.limits[name])
    for place, count in purchase.containers.items():
        container = fleet.containers[place]
        note(f"number of {container.name}", count - container.most)
    return {name: amount for name, amount in missing.items() if amount > 0}


def supplied(
    fleet: Fleet, purchase: Purchase, stream: int, period: int, step: int = 0
) -> tuple[int, int]:
    """Return what is supplied in a step, and what the worst failures leave of it."""
    supply, loss = 0, 0
    for place in fleet.of_stream[stream]:
        template = fleet.templates[place]
        count = purchase.deployed.get((place, period), 0)
        count += purchase.rented.get((place, period, step), 0)
        if count:
            supply += count * template.supply
            loss = max(loss, template.loss)
    return supply, supply - fleet.streams[stream].losses * loss


def trimmed(fleet: Fleet, purchase: Purchase) -> Purchase:
    """Leave out copies at work that no peak needs; what is acquired stays.

    Rented copies go first, and large ones before small ones. What is bought goes only
    where nothing is rented at the peak: other hours may count on it.
    """
    deployed, rented = dict(purchase.deployed), dict(purchase.rented)
    left = Purchase(purchase.acquired, deployed, rented, purchase.containers)
    for stream, asked in enumerate(fleet.streams):
        for period in asked.active:
            templates = sorted(
                fleet.of_stream[stream],
                key=lambda place: -fleet.templates[place].supply,
            )
            peaks = [(place, period, 0) for place in templates]
            _drop(fleet, left, stream, rented, peaks)
            if not any(rented.get(key) for key in peaks):
                bases = [(place, period) for place in templates]
                _drop(fleet, left, stream, deployed, bases)
    return left


def _drop(
    fleet: Fleet,
    left: Purchase,
    stream: int,
    counts: dict[Key, int],
    keys: Sequence[Key],
) -> None:
    """Lower some of its counts as far as the peak of stream and period stays met."""
    for key in keys:
        while counts.get(key):
            counts[key] -= 1
            _, supply = supplied(fleet, left, stream, key[1])
            if supply < fleet.streams[stream].peak(key[1]):
                counts[key] += 1
                break
        if key in counts and not counts[key]:
            del counts[key]
