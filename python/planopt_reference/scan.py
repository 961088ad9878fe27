"""The scan of a state-space layer when serving (serving.md, section 14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from planopt_reference.derivation import formula
from planopt_reference.rank import Duration, Rank, Step, duration

if TYPE_CHECKING:
    from planopt_reference.operations import StateSpace

# Section 14: states are in 32 bits, and those of chunks are moved four times.
_STATE_BYTES: Final = 4
_STATE_PASSES: Final = 4
# Section 14, p: products of the states that a token takes.
_STATE_PRODUCTS: Final = {
    "mamba2": 2,
    "gated-delta": 3,
    "kimi-delta": 3,
    "convolution": 0,
}


# Section 14, state.
@formula(
    "(4 a d n + B_a (a d + 2 G n) (conv - 1)) / t",
    section="14",
    page="serving.md",
    unit="bytes",
)
def state_bytes(operation: StateSpace, rank: Rank) -> float:
    """Return the bytes that a sequence leaves in one layer, however long it is."""
    states = operation.inner * operation.state * _STATE_BYTES
    unread = operation.convolved * (operation.conv - 1) * rank.activation_bytes
    return (states + unread) / rank.t


# Section 14.
@formula(
    "chunk: s (w + 2 p a d n) / t FLOP, w = 2 G q n + 2 a d q, with a delta rule "
    "6 a q n + 4 a d q, s (16 a d n / q) / t bytes; decoding: 2 p a d n / t FLOP, the "
    "state read and written",
    section="14",
    page="serving.md",
    unit="s",
    reads=(
        "accelerator.memory_bandwidth",
        "compute.attention_efficiency",
        "compute.kv_bandwidth_efficiency",
        "compute.attention_overhead",
    ),
)
def scan_times(operation: StateSpace, step: Step, rank: Rank) -> list[Duration]:
    """Return the times of a scan: of a chunk, and of what decodes."""
    compute = rank.compute
    if not compute.attention_time:
        return []
    inner, n, q = operation.inner / rank.t, operation.state, operation.chunk
    groups = operation.groups / rank.t
    reads = rank.memory_bandwidth
    cached = reads * compute.kv_bandwidth_efficiency
    elements = reads * rank.elementwise.bandwidth_efficiency
    passes = 2 * operation.convolved / rank.t + 3 * inner
    around = passes * rank.activation_bytes / elements
    if not compute.activation_traffic:
        around = 0.0
    state = 2 * state_bytes(operation, rank) / cached
    of_states = 2 * _STATE_PRODUCTS[operation.rule] * inner * n
    within = 2 * groups * q * n + 2 * inner * q
    if operation.corrects:
        within = 6 * operation.heads / rank.t * q * n + 4 * inner * q
    elif operation.rule == "convolution":
        within = 0.0
    times = []
    if step.chunk:
        rate = rank.base_rate * compute.attention_efficiency
        rate *= step.chunk / (step.chunk + compute.half_prompt)
        flops = within + of_states
        moved = _STATE_PASSES * _STATE_BYTES * inner * n / q / cached + around
        arithmetic, traffic = step.chunk * flops / rate, step.chunk * moved + state
        times.append(duration(rank, arithmetic, traffic, compute.attention_overhead))
    if step.decoding:
        rate = rank.base_rate * compute.decode_attention_efficiency
        arithmetic = step.decoding * of_states / rate
        traffic = step.decoding * (state + around)
        times.append(duration(rank, arithmetic, traffic, compute.attention_overhead))
    return times
