"""Templates that no best fleet needs: rust/planopt-core/src/search/mix/dominance.rs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from planopt._native import undominated_templates

if TYPE_CHECKING:
    from planopt.fleet.problem import Fleet

__all__ = ["columns_of", "undominated"]


Columns: TypeAlias = tuple[list[int], list[int], list[int], list[list[int]]]


def undominated(fleet: Fleet) -> list[int]:
    """Places of the templates that no other one replaces without loss."""
    return undominated_templates(*columns_of(fleet))


def columns_of(fleet: Fleet) -> Columns:
    """Pool, supply, loss and needs of all templates, as the core takes them."""
    # What is bought for one demand may be put to another in a later period.
    lasting = len(fleet.periods) > 1
    pools: dict[tuple[object, ...], int] = {}
    of_template = []
    for template in fleet.templates:
        kit = fleet.kits[template.kit]
        alone = template.kit if lasting and kit.way != "rent" else None
        losses = fleet.streams[template.stream].losses
        counted = template.loss if losses > 1 else None
        pool = template.stream, kit.way, kit.pool, template.hours, alone, counted
        of_template.append(pools.setdefault(pool, len(pools)))
    return (
        of_template,
        [template.supply for template in fleet.templates],
        [
            template.loss if fleet.streams[template.stream].losses else 0
            for template in fleet.templates
        ],
        _needs(fleet),
    )


def _needs(fleet: Fleet) -> list[list[int]]:
    """List what a copy of each template needs of all that is paid or limited."""
    periods = range(max((len(kit.charge_cents) for kit in fleet.kits), default=0))
    charges = [(*kit.charge_cents, *(0 for _ in periods)) for kit in fleet.kits]
    rents = [kit.micro_usd_per_hour for kit in fleet.kits]
    places = [template.kit for template in fleet.templates]
    needs = [[charges[kit][period] for kit in places] for period in periods]
    needs.append([rents[kit] for kit in places])
    for name in sorted(fleet.limits):
        of_kit = [kit.uses.get(name, 0) for kit in fleet.kits]
        needs.append(
            [of_kit[each.kit] + each.uses.get(name, 0) for each in fleet.templates]
        )
    return needs
