"""An answer in whole numbers: what it costs, uses and lacks, added up without a solver.

Whatever may be chosen in the programmes of a fleet stands for a purchase, too: a column
of a selection, a cover, a single copy. So all of them cost and use what is said here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from planopt.fleets.problem import Fleet


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

    @property
    def spelling(self) -> tuple[tuple[object, ...], ...]:
        """All of it in one order, by which equal costs are told apart."""
        parts = (self.acquired, self.deployed, self.rented, self.containers)
        return tuple(tuple(sorted(part.items())) for part in parts)

    def __hash__(self) -> int:
        return hash(self.spelling)

    def at_work(self, templates: Collection[int], periods: Collection[int]) -> Purchase:
        """Take copies at work alone, of some templates in some periods."""
        deployed = self.deployed.items()
        rented = self.rented.items()
        return Purchase(
            deployed={
                (place, period): count
                for (place, period), count in deployed
                if place in templates and period in periods
            },
            rented={
                (place, period, step): count
                for (place, period, step), count in rented
                if place in templates and period in periods
            },
        )

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
    acquired: Counter[tuple[int, int]] = Counter()
    deployed: Counter[tuple[int, int]] = Counter()
    rented: Counter[tuple[int, int, int]] = Counter()
    containers: Counter[int] = Counter()
    for part, times in parts:
        for kit_key, count in part.acquired.items():
            acquired[kit_key] += count * times
        for key, count in part.deployed.items():
            deployed[key] += count * times
        for step_key, count in part.rented.items():
            rented[step_key] += count * times
        for place, count in part.containers.items():
            containers[place] += count * times
    return Purchase(+acquired, +deployed, +rented, +containers)


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
            for step in range(len(asked.periods[period])):
                unmet = _unmet(fleet, purchase, stream, period, step)
                note(asked.name, unmet)
    for (name, _), amount in used(fleet, purchase).items():
        note(name, amount - fleet.limits[name])
    for place, count in purchase.containers.items():
        container = fleet.containers[place]
        note(f"number of {container.name}", count - container.most)
    return {name: amount for name, amount in missing.items() if amount > 0}


def _unmet(
    fleet: Fleet, purchase: Purchase, stream: int, period: int, step: int
) -> int:
    """Demand of a step that is not met when the worst failures have happened."""
    asked = fleet.streams[stream]
    supply, loss = 0, 0
    for place in fleet.of_stream[stream]:
        template = fleet.templates[place]
        count = purchase.deployed.get((place, period), 0)
        count += purchase.rented.get((place, period, step), 0)
        if count:
            supply += count * template.supply
            loss = max(loss, template.loss)
    return asked.periods[period][step].demand + asked.losses * loss - supply


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
            if _unmet(fleet, left, stream, key[1], 0) > 0:
                counts[key] += 1
                break
        if key in counts and not counts[key]:
            del counts[key]
