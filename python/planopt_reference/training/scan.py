"""The scan of a state-space layer (training.md, section 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from planopt_reference.training.rates import Product
from planopt_reference.training.tally import Work, total

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
    machine = rank.machine
    inner, convolved = (
        width / rank.candidate.tp for width in (operation.inner, operation.convolved)
    )
    states = Work() if operation.rule == "convolution" else _states(operation, rank)
    around = rank.tokens * machine.activation_bytes
    passes = Work(
        forward=machine.elementwise_time(2 * convolved * around)
        + machine.elementwise_time(3 * inner * around),
        backward=machine.elementwise_time(5 * convolved * around)
        + machine.elementwise_time(5 * inner * around),
        forward_kernels=2,
        backward_kernels=2,
        kept=around * (inner + operation.columns / rank.candidate.tp),
    )
    return total([states, passes])


def _states(operation: StateSpace, rank: Rank) -> Work:
    """Return the products of a scan, within chunks and from chunk to chunk."""
    t, machine = rank.candidate.tp, rank.machine
    element, q = machine.activation_bytes, operation.chunk
    heads, groups, inner = (
        operation.heads / t,
        operation.groups / t,
        operation.inner / t,
    )
    d, n = operation.head_dim, operation.state
    chunks = rank.tokens / q

    def product(count: float, rows: float, columns: float, depth: float) -> float:
        moved = count * (rows * depth + depth * columns + rows * columns) * element
        rate = machine.base * machine.sustained(quantised=False)
        rate *= machine.whole(columns, depth)
        shape = Product(count, rows, columns, depth)
        return machine.product_time(shape, rate, moved)

    def within(columns: float, depth: float) -> float:
        return product(chunks * heads, q, columns, depth)

    states = chunks * heads * d * n * _STATE_BYTES * _STATE_PASSES
    scores = (2 * heads if operation.corrects else groups) * chunks
    recomputed = (
        product(scores, q, q, n)
        + product(chunks * heads, d, n, q)
        + machine.pass_time(states)
    )
    flops = 2 * groups * q * q * n + 2 * inner * q * q + 4 * inner * q * n
    if operation.corrects:
        recomputed += within(n, q) + within(d, q) + within(d, n)
        flops = 6 * heads * q * q * n + 4 * inner * q * q + 6 * inner * q * n
    slower = machine.framework.scan
    forward = slower * (recomputed + within(d, q) + within(d, n))
    return Work(
        forward=forward,
        backward=2 * forward + slower * recomputed,
        forward_kernels=_SCAN_KERNELS,
        backward_kernels=2 * _SCAN_KERNELS,
        flops=chunks * flops,
    )
