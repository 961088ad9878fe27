"""The scan of a state-space layer (training.md, section 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from planopt_reference.training.rates import Product
from planopt_reference.training.tally import Work

if TYPE_CHECKING:
    from planopt_reference.operations import StateSpace
    from planopt_reference.training.rank import Rank

# Kernels of one forward, bytes of an element of a state, and how often
# it is moved.
_SCAN_KERNELS: Final = 5
_STATE_BYTES: Final = 4
_STATE_PASSES: Final = 4


# Section 3, Scan.
def scan_work(operation: StateSpace, rank: Rank) -> Work:
    """Return what a scan takes and keeps of one micro-batch."""
    t, machine = rank.candidate.tp, rank.machine
    element, q = machine.activation_bytes, operation.chunk
    heads, groups = operation.heads / t, operation.groups / t
    d, n = operation.head_dim, operation.state
    inner, convolved = operation.inner / t, operation.convolved / t
    chunks = rank.tokens / q

    def product(count: float, rows: float, columns: float, depth: float) -> float:
        moved = count * (rows * depth + depth * columns + rows * columns) * element
        rate = machine.base * machine.sustained(quantised=False)
        rate *= machine.whole(columns, depth)
        shape = Product(count, rows, columns, depth)
        return machine.product_time(shape, rate, moved)

    states = chunks * heads * d * n * _STATE_BYTES * _STATE_PASSES
    slower = machine.framework.scan
    recomputed = slower * (
        product(chunks * groups, q, q, n)
        + product(chunks * heads, d, n, q)
        + machine.pass_time(states)
    )
    within, across = (product(chunks * heads, q, d, depth) for depth in (q, n))
    forward = recomputed + slower * (within + across)
    around = rank.tokens * element
    return Work(
        forward=forward
        + machine.elementwise_time(2 * convolved * around)
        + machine.elementwise_time(3 * inner * around),
        backward=2 * forward
        + recomputed
        + machine.elementwise_time(5 * convolved * around)
        + machine.elementwise_time(5 * inner * around),
        forward_kernels=_SCAN_KERNELS + 2,
        backward_kernels=2 * _SCAN_KERNELS + 2,
        kept=around * (2 * inner + convolved + heads),
        flops=chunks * (2 * groups * q * q * n + 2 * inner * q * q + 4 * inner * q * n),
    )
