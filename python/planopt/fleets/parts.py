"""Parts of a fleet that share no hardware: each is planned by itself, and sooner.

Demands are in one part if some hardware can serve them both, one after the other. Parts
share nothing but limits. Each with all of the limits to itself is a relaxation, so what
the parts cost at least together the whole costs at least; and if what they buy together
keeps the limits, it is an answer of the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.fleets.purchase import Purchase

if TYPE_CHECKING:
    from planopt.fleets.problem import Fleet


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
    return [fleet.asking(group) for group in sorted(groups, key=min)]


def of_part(part: Fleet, purchase: Purchase) -> Purchase:
    """Take from an answer of the whole what is for a part."""
    asked = [place for place, each in enumerate(part.streams) if each.active]
    templates = {template for place in asked for template in part.of_stream[place]}
    copies = purchase.at_work(templates, part.periods)
    kits = {part.templates[template].kit for template, _ in copies.deployed}
    acquired = {key: n for key, n in purchase.acquired.items() if key[0] in kits}
    return Purchase(acquired, copies.deployed, copies.rented)
