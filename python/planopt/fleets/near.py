"""The fleet near at hand: a few templates of each pool, of which a mix is found soon.

Of thousands of templates a good mix uses a dozen. Those of each pool that cost least
for what they give are most of them; with those that a selection has chosen they make a
small problem whose answers are answers of the whole.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planopt.fleets.problem import Fleet
    from planopt.fleets.purchase import Purchase


def near(fleet: Fleet, known: Purchase | None, each: int) -> Fleet:
    """Keep what a known answer is of, and so many of each pool that cost least."""
    kept: set[int] = set()
    if known is not None:
        kept |= {key[0] for key in (*known.deployed, *known.rented)}
    pools: dict[tuple[int, str], list[tuple[Fraction, int]]] = defaultdict(list)
    for place in fleet.offered:
        kit = fleet.kit_of(place)
        cost = kit.micro_usd_per_hour if kit.way == "rent" else kit.charge_cents[0]
        template = fleet.templates[place]
        ranked = Fraction(cost, template.supply), place
        pools[template.stream, kit.pool].append(ranked)
    for pool in pools.values():
        kept |= {place for _, place in sorted(pool)[:each]}
    return fleet.only(sorted(kept))
