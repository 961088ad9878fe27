"""What operations take and keep, added up (training.md, section 3)."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Work:
    """Seconds, FLOP and bytes of one micro-batch on one rank.

    `kept` is what backward needs and `beginning` what a layer starts from;
    `tensor_*` are collectives that are waited for, `beside` those beside the
    gradients; `core` is what attention without flash keeps of `kept`, and
    `core_seconds` and `core_flops` are what it takes to compute it again.
    """

    forward: float = 0.0
    backward: float = 0.0
    forward_kernels: float = 0.0
    backward_kernels: float = 0.0
    routed: float = 0.0
    flops: float = 0.0
    kept: float = 0.0
    beginning: float = 0.0
    core: float = 0.0
    core_seconds: float = 0.0
    core_flops: float = 0.0
    tensor_forward: float = 0.0
    tensor_backward: float = 0.0
    beside: float = 0.0
    context_forward: float = 0.0
    context_backward: float = 0.0
    expert_forward: float = 0.0
    expert_backward: float = 0.0


def total(parts: Iterable[Work]) -> Work:
    """Add up what several operations, layers or micro-batches take."""
    columns = zip(*(astuple(part) for part in (Work(), *parts)), strict=True)
    return Work(*(sum(column) for column in columns))
