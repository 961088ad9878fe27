"""What an answer costs and which limits it breaks, added up without a solver."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from planopt.fleet.problem import rent_cents

Key = TypeVar("Key", tuple[int, int], tuple[int, int, int])

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planopt.fleet.problem import Fleet

__all__ = ["Purchase", "cost_cents", "shortfalls", "trimmed"]


@dataclass(frozen=True)
class Purchase:
    """An answer; whatever is not named is 0."""

    # Copies of a kit that are bought, or put to use, in a period: (kit, period).
    acquired: Mapping[tuple[int, int], int] = field(default_factory=dict)
    # Copies of a template at work on what is bought or owned: (template, period).
    deployed: Mapping[tuple[int, int], int] = field(default_factory=dict)
    # Copies of a template rented in the hours of a step: (template, period, step).
    rented: Mapping[tuple[int, int, int], int] = field(default_factory=dict)
    containers: Mapping[int, int] = field(default_factory=dict)  # How many of each

    @property
    def spelling(self) -> tuple[tuple[object, ...], ...]:
        """All of it in one order, by which equal costs are told apart."""
        parts = (self.acquired, self.deployed, self.rented, self.containers)
        return tuple(tuple(sorted(part.items())) for part in parts)


def cost_cents(fleet: Fleet, purchase: Purchase) -> int:
    """Cost of an answer, to the cent."""
    total = sum(
        count * fleet.kits[kit].charge_cents[period]
        for (kit, period), count in purchase.acquired.items()
    )
    for (place, period, step), count in purchase.rented.items():
        template = fleet.templates[place]
        hours = template.hours
        if hours is None:
            hours = fleet.streams[template.stream].periods[period][step].hours
        total += count * rent_cents(fleet.kits[template.kit], hours)
    return total + sum(
        count * fleet.containers[place].charge_cents
        for place, count in purchase.containers.items()
    )


def shortfalls(fleet: Fleet, purchase: Purchase) -> dict[str, int]:
    """Demands that an answer does not meet and limits that it breaks, and by how much.

    Names are those of streams and limits, and ``hosts of KIT`` where more copies are at
    work than there are.
    """
    missing: Counter[str] = Counter()

    def note(name: str, amount: int) -> None:
        missing[name] = max(missing[name], amount)

    for period in fleet.periods:
        held = _held(purchase, period)
        at_work: Counter[int] = Counter()
        for (place, when), count in purchase.deployed.items():
            if when == period:
                at_work[fleet.templates[place].kit] += count
        for kit, count in at_work.items():
            note(f"hosts of {fleet.kits[kit].name}", count - held[kit])
        for stream in range(len(fleet.streams)):
            for step in range(len(fleet.streams[stream].periods[period])):
                name = fleet.streams[stream].name
                note(name, _unmet(fleet, purchase, stream, period, step))
        for name, used in _used(fleet, purchase, period, held).items():
            note(name, used - _room(fleet, purchase, name))
    for place, count in purchase.containers.items():
        container = fleet.containers[place]
        note(f"number of {container.name}", count - container.most)
    return {name: amount for name, amount in missing.items() if amount > 0}


def _held(purchase: Purchase, period: int) -> Counter[int]:
    held: Counter[int] = Counter()
    for (kit, when), count in purchase.acquired.items():
        if when <= period:
            held[kit] += count
    return held


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


def _used(
    fleet: Fleet, purchase: Purchase, period: int, held: Counter[int]
) -> Counter[str]:
    """Add up what is used of each limited thing in a period."""
    used: Counter[str] = Counter()

    def use(uses: Mapping[str, int], count: int) -> None:
        for name, amount in uses.items():
            if name in fleet.limits:
                used[name] += count * amount

    for kit, count in held.items():
        use(fleet.kits[kit].uses, count)
    for (place, when), count in purchase.deployed.items():
        if when == period:
            use(fleet.templates[place].uses, count)
    for place, count in _most_rented(purchase, period).items():
        use(fleet.templates[place].uses, count)
        use(fleet.kit_of(place).uses, count)
    for place, count in purchase.containers.items():
        use(fleet.containers[place].uses, count)
    return used


def _most_rented(purchase: Purchase, period: int) -> Counter[int]:
    """Count the copies of each template rented at the same time, at most."""
    most: Counter[int] = Counter()
    for (place, when, _), count in purchase.rented.items():
        if when == period:
            most[place] = max(most[place], count)
    return most


def _room(fleet: Fleet, purchase: Purchase, name: str) -> int:
    given = sum(
        count * fleet.containers[place].gives.get(name, 0)
        for place, count in purchase.containers.items()
    )
    return fleet.limits[name] + given


def trimmed(fleet: Fleet, purchase: Purchase) -> Purchase:
    """Leave out copies at work that no peak needs; what is acquired stays.

    Rented copies go first, and large ones before small ones. What is bought goes only
    where nothing is rented at the peak: other hours may count on it.
    """
    deployed, rented = dict(purchase.deployed), dict(purchase.rented)
    for stream, asked in enumerate(fleet.streams):
        for period in asked.active:
            templates = sorted(
                fleet.of_stream[stream],
                key=lambda place: -fleet.templates[place].supply,
            )
            peaks = [(place, period, 0) for place in templates]
            _drop(fleet, rented, peaks, stream, deployed, rented)
            if not any(rented.get(key) for key in peaks):
                bases = [(place, period) for place in templates]
                _drop(fleet, deployed, bases, stream, deployed, rented)
    return Purchase(purchase.acquired, deployed, rented, purchase.containers)


def _drop(
    fleet: Fleet,
    counts: dict[Key, int],
    keys: Sequence[Key],
    stream: int,
    deployed: dict[tuple[int, int], int],
    rented: dict[tuple[int, int, int], int],
) -> None:
    """Lower some counts as far as the peak of their stream and period stays met."""
    for key in keys:
        while counts.get(key):
            counts[key] -= 1
            left = Purchase({}, deployed, rented, {})
            if _unmet(fleet, left, stream, key[1], 0) > 0:
                counts[key] += 1
                break
        if key in counts and not counts[key]:
            del counts[key]
