"""Attention and its context-parallel messages (training.md, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt_reference.compute import mean_attended_tokens, tighter
from planopt_reference.derivation import formula
from planopt_reference.operations import Attention, LatentAttention
from planopt_reference.training.rates import Machine, Product
from planopt_reference.training.tally import Work, total

if TYPE_CHECKING:
    from planopt_reference.training.candidate import Candidate
    from planopt_reference.training.groups import Groups


@dataclass(frozen=True)
class Heads:
    """Query and key/value heads, and their widths; `window` is none if all is seen."""

    query: float
    key_value: float
    query_width: int
    value_width: int
    window: int | None

    @property
    def widths(self) -> int:
        """Return `u + w`."""
        return self.query_width + self.value_width


# Section 3, Attention: a', g', u, w.
def heads_of(operation: Attention | LatentAttention, t: int) -> Heads:
    """Return the heads of one of `t` ranks; latent attention is expanded."""
    query = operation.heads / t
    if isinstance(operation, LatentAttention):
        width = operation.nope + operation.rope
        return Heads(query, query, width, operation.value, operation.selected)
    if operation.indexes:
        query = float(operation.heads)
    key_value = operation.kv_heads / min(t, operation.kv_heads)
    limit = tighter(operation.window, operation.selected)
    return Heads(query, key_value, operation.head_dim, operation.value_dim, limit)


# Section 3, Attention: l.
def attended_tokens(sequence: int, window: int | None, *, causal: bool) -> float:
    """Return the tokens that a token looks at, on average."""
    if causal:
        return mean_attended_tokens(sequence, window)
    return sequence if window is None else min(sequence, window)


def attention_work(
    operation: Attention | LatentAttention,
    candidate: Candidate,
    machine: Machine,
    groups: Groups,
) -> Work:
    """Return what attention takes and keeps, with its context-parallel messages."""
    heads = heads_of(operation, candidate.tp)
    fused = candidate.flash_attention
    alone = (
        _flash(heads, candidate, machine)
        if fused or (isinstance(operation, Attention) and operation.indexes)
        else _stored(heads, candidate, machine)
    )
    tokens = candidate.tokens_of_micro_batch
    inputs = heads.query * heads.query_width + heads.key_value * heads.widths
    forward, backward = _context(heads, alone, candidate, machine, groups)
    read = Work(kept=tokens * inputs * machine.activation_bytes)
    latent = isinstance(operation, LatentAttention)
    messages = Work(context_forward=forward, context_backward=backward)
    return total([alone, read.of("mla_up_proj" if latent else None), messages])


# Section 3, "With `flash_attention`".
@formula(
    "max(F / (base q), X/W) + overhead",
    section="3",
)
def _flash(heads: Heads, candidate: Candidate, machine: Machine) -> Work:
    tokens = candidate.tokens_of_micro_batch
    attended = attended_tokens(candidate.seq_len, heads.window, causal=candidate.causal)
    flops = 2 * tokens * heads.query * heads.widths * attended
    moved = (
        tokens
        * (heads.query + heads.key_value)
        * heads.widths
        * machine.activation_bytes
    )
    own = machine.trainer
    rate = machine.base * own.clock
    if machine.framework.portable_attention:
        rate *= own.portable_attention
    rate *= attended / (attended + own.attention_half_length)
    rate *= heads.widths / (heads.widths + 2 * own.attention_half_head)

    def time(passes: float, traffic: float, share: float) -> float:
        arithmetic = passes * flops / (rate * share)
        return max(arithmetic, traffic * moved / machine.bandwidth) + machine.overhead

    return Work(
        forward=time(1, 1, own.attention_forward),
        backward=time(2.5, 2, own.attention_backward),
        forward_kernels=1,
        backward_kernels=1,
        flops=flops,
        kept=4 * tokens * heads.query,
    )


# Section 3, Attention, "Without".
@formula(
    "products of queries and keys, and of probabilities and values, and passes "
    "over scores",
    section="3",
)
def _stored(heads: Heads, candidate: Candidate, machine: Machine) -> Work:
    matrices = candidate.micro_batch * heads.query
    rows, sequence = candidate.seq_len / candidate.cp, candidate.seq_len
    scores = matrices * rows * sequence
    u, w, element = heads.query_width, heads.value_width, machine.activation_bytes

    def product(columns: float, depth: float) -> float:
        moved = matrices * (rows * depth + depth * columns + rows * columns) * element
        shape = Product(matrices, rows, columns, depth)
        rate = machine.base * machine.sustained(quantised=False)
        rate *= machine.whole(columns, depth)
        return machine.product_time(shape, rate, moved)

    def over_scores(bytes_each: float) -> float:
        return machine.pass_time(scores * bytes_each)

    with_mask = 2 * element + 1
    dropped = over_scores(with_mask) if candidate.dropout else 0.0
    read = 0.5 if candidate.causal else 1.0
    softmax = over_scores((read + 1) * element)
    forward = product(sequence, u) + product(w, sequence) + softmax
    backward = (
        product(sequence, w)
        + product(w, sequence)
        + 2 * product(u, sequence)
        + over_scores((2 * read + 1) * element)
    )
    core = scores * (with_mask if candidate.dropout else element)
    flops = 2 * scores * heads.widths
    masks = 1 if candidate.dropout else 0
    recomputed = Work(forward=forward + dropped, flops=flops, kept=core)
    rest = Work(
        backward=backward + dropped,
        forward_kernels=3 + masks,
        backward_kernels=5 + masks,
    )
    return total([recomputed.of("core_attn"), rest])


# Section 3, Context.
def _context(
    heads: Heads, alone: Work, candidate: Candidate, machine: Machine, groups: Groups
) -> tuple[float, float]:
    """Return the seconds of messages that nothing hides, forward and backward."""
    c = candidate.cp
    if c == 1:
        return 0.0, 0.0
    element = machine.activation_bytes
    tokens = candidate.tokens_of_micro_batch
    key_value = tokens * heads.key_value * heads.widths * element
    if candidate.context_parallel == "all-to-all":
        query = tokens * heads.query * heads.query_width * element
        output = tokens * heads.query * heads.value_width * element
        there = groups.context.all_to_all(query + key_value)
        both_ways = there + groups.context.all_to_all(output)
        return both_ways, both_ways
    one_round = (c - 1) * groups.context.message(key_value)
    overlap = machine.training.context_overlap
    return (
        max(0.0, one_round - overlap * alone.forward),
        max(0.0, 2 * one_round - overlap * alone.backward),
    )
