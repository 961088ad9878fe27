"""What operations take and keep, added up (training.md, section 3)."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Work:
    """Seconds, FLOP and bytes of one micro-batch on one rank.

    `kept` is what backward needs and `beginning` what a layer starts from;
    `tensor_*` are collectives that are waited for, `overlapped` those that overlap the
    gradients; `modules` is what each module has of it; `to_weights` of `backward`
    are gradients of weights.
    """

    forward: float = 0.0
    backward: float = 0.0
    forward_kernels: float = 0.0
    backward_kernels: float = 0.0
    routed: float = 0.0
    flops: float = 0.0
    kept: float = 0.0
    beginning: float = 0.0
    tensor_forward: float = 0.0
    tensor_backward: float = 0.0
    overlapped: float = 0.0
    context_forward: float = 0.0
    context_backward: float = 0.0
    expert_forward: float = 0.0
    expert_backward: float = 0.0
    to_weights: float = 0.0
    modules: tuple[tuple[str, Work], ...] = ()

    def of(self, module: str | None) -> Work:
        """Return the same, as a part of a module."""
        return self if module is None else replace(self, modules=((module, self),))


_FIGURES = tuple(field.name for field in fields(Work) if field.name != "modules")


def total(parts: Iterable[Work]) -> Work:
    """Add up what several operations, layers or micro-batches take."""
    every = list(parts)
    sums = {name: sum(getattr(part, name) for part in every) for name in _FIGURES}
    return Work(**sums, modules=tuple(own for part in every for own in part.modules))
