"""Templates that no best fleet needs: rust/planopt-core/src/search/mix/dominance.rs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from planopt._native import undominated_templates

if TYPE_CHECKING:
    from planopt.fleets.problem import Fleet


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
