"""Parts of a fleet that share no hardware: each is planned by itself, and sooner.

Demands are in one part if some hardware can serve them both, one after the other. Parts
share nothing but limits. Each with all of the limits to itself is a relaxation, so what
the parts cost at least together the whole costs at least; and if what they buy together
keeps the limits, it is an answer of the whole.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from planopt.fleet.exact import Purchase
from planopt.fleet.problem import Stream

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planopt.fleet.problem import Fleet

__all__ = ["of_part", "parts_of", "together"]


def parts_of(fleet: Fleet) -> list[Fleet]:
    """Divide a fleet; places of streams, kits and templates stay what they are.

    Containers serve all demands, and keep them in one part. In a single period nothing
    passes from one demand to another.
    """
    if fleet.containers:
        return [fleet]
    groups = [{place} for place, each in enumerate(fleet.streams) if each.active]
    if len(fleet.periods) > 1:
        for templates in fleet.of_kit:
            linked = {fleet.templates[place].stream for place in templates}
            apart = [group for group in groups if not group & linked]
            joined = [group for group in groups if group & linked]
            groups = [*apart, set().union(*joined)] if joined else apart
    return [_only(fleet, group) for group in sorted(groups, key=min)]


def of_part(fleet: Fleet, part: Fleet, purchase: Purchase) -> Purchase:
    """Take from an answer of the whole what is for a part."""

    def at_work(template: int) -> bool:
        return bool(part.streams[fleet.templates[template].stream].active)

    kits = {fleet.templates[key[0]].kit for key in purchase.deployed if at_work(key[0])}
    return Purchase(
        {key: count for key, count in purchase.acquired.items() if key[0] in kits},
        {key: n for key, n in purchase.deployed.items() if at_work(key[0])},
        {key: n for key, n in purchase.rented.items() if at_work(key[0])},
    )


def together(purchases: Iterable[Purchase]) -> Purchase:
    """Put the answers of all parts together."""
    acquired: Counter[tuple[int, int]] = Counter()
    deployed: Counter[tuple[int, int]] = Counter()
    rented: Counter[tuple[int, int, int]] = Counter()
    for each in purchases:
        acquired.update(each.acquired)
        deployed.update(each.deployed)
        rented.update(each.rented)
    return Purchase(acquired, deployed, rented)


def _only(fleet: Fleet, streams: set[int]) -> Fleet:
    nothing = tuple(() for _ in fleet.periods)
    kept = (
        each if place in streams else Stream(each.name, nothing, each.losses)
        for place, each in enumerate(fleet.streams)
    )
    return replace(fleet, streams=tuple(kept))
