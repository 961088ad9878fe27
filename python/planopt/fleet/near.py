"""The fleet near at hand: a few templates of each pool, of which a mix is found soon.

Of thousands of templates a good mix uses a dozen. Those of each pool that cost least
for what they give are most of them; with those that a selection has chosen they make a
small problem whose answers are answers of the whole.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING

from planopt.fleet.exact import Purchase

if TYPE_CHECKING:
    from planopt.fleet.problem import Fleet

__all__ = ["Near"]


class Near:
    """A question with only some of its templates, and the way between the two."""

    def __init__(self, fleet: Fleet, known: Purchase | None, each: int) -> None:
        kept: set[int] = set()
        if known is not None:
            kept |= {key[0] for key in (*known.deployed, *known.rented)}
        pools: dict[tuple[int, str], list[tuple[Fraction, int]]] = defaultdict(list)
        for place, template in enumerate(fleet.templates):
            pool = template.stream, fleet.kits[template.kit].pool
            pools[pool].append((_cost_of_supply(fleet, place), place))
        for ranked in pools.values():
            kept |= {place for _, place in sorted(ranked)[:each]}
        self._whole = tuple(sorted(kept))
        self._near = {place: near for near, place in enumerate(self._whole)}
        self.fleet = fleet.only(self._whole)

    def narrowed(self, purchase: Purchase) -> Purchase:
        """Return an answer of the whole, of templates that stay, as one of this."""
        near = self._near
        return Purchase(
            purchase.acquired,
            {(near[key[0]], key[1]): count for key, count in purchase.deployed.items()},
            {(near[key[0]], *key[1:]): count for key, count in purchase.rented.items()},
            purchase.containers,
        )

    def widened(self, purchase: Purchase) -> Purchase:
        """Return an answer of this as one of the whole."""
        whole = self._whole
        return Purchase(
            purchase.acquired,
            {
                (whole[key[0]], key[1]): count
                for key, count in purchase.deployed.items()
            },
            {
                (whole[key[0]], *key[1:]): count
                for key, count in purchase.rented.items()
            },
            purchase.containers,
        )


def _cost_of_supply(fleet: Fleet, place: int) -> Fraction:
    template = fleet.templates[place]
    kit = fleet.kits[template.kit]
    cost = kit.micro_usd_per_hour if kit.way == "rent" else kit.charge_cents[0]
    return Fraction(cost, template.supply)
