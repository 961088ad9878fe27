"""Stages of a pipeline: which operations each has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt_reference.derivation import formula

if TYPE_CHECKING:
    from planopt_reference.operations import Model, Operation


@dataclass(frozen=True)
class Stage:
    """The operations of a pipeline stage: the first embeds, the last has the head."""

    embedding: tuple[Operation, ...]
    layers: tuple[tuple[Operation, ...], ...]
    head: tuple[Operation, ...]
    first: bool = False
    last: bool = False
    """Whether it is the last one, which drafts: not every model has a head."""

    @property
    def body(self) -> list[Operation]:
        """Return every operation in front of the head."""
        inside = [operation for layer in self.layers for operation in layer]
        return [*self.embedding, *inside]


# Section 5, "Layers per stage".
@formula(
    "floor(L/p), and one more for stages p-2, p-3, ... until the rest is assigned",
    section="5",
    unit="layers",
)
def layers_per_stage(layers: int, p: int) -> list[int]:
    """Partition layers into `p` stages, the rest from the last but one backwards."""
    each, rest = divmod(layers, p)
    return [each + (p - 1 - rest <= stage < p - 1) for stage in range(p)]


# Section 5, "The embedding is on the first stage, the head on the last".
def stages(model: Model, p: int) -> list[Stage]:
    """Cut a model into `p` stages."""
    assigned: list[Stage] = []
    first = 0
    for stage, layers in enumerate(layers_per_stage(len(model.layers), p)):
        assigned.append(
            Stage(
                embedding=model.embedding if stage == 0 else (),
                layers=model.layers[first : first + layers],
                head=model.head if stage == p - 1 else (),
                first=stage == 0,
                last=stage == p - 1,
            )
        )
        first += layers
    return assigned
