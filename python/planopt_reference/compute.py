"""The time of an operation on one rank (model.md, section 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_reference.derivation import formula
from planopt_reference.formats import WEIGHT_ONLY
from planopt_reference.operations import (
    AllReduce,
    Attention,
    LatentAttention,
    MatMul,
    Operation,
    StateSpace,
)
from planopt_reference.own_kernels import product_seconds
from planopt_reference.rank import Duration, Rank, Step, duration, is_choice

if TYPE_CHECKING:
    from planopt_reference.reached import Products


# Section 3, MatMul: D = E (1 - (1 - k_E/E)^m).
@formula(
    "D = E (1 - (1 - k_E/E)^m)",
    section="3",
    unit="matrices",
)
def distinct_matrices(experts: int, active: int, tokens: float) -> float:
    """Return how many matrices `tokens` tokens are routed to, on average."""
    if experts == active:
        return float(experts)
    unused: float = (1 - active / experts) ** tokens
    return experts * (1 - unused)


# Section 3, MatMul: e.
def matmul_efficiency(
    reached: Products, rows: float, inputs: float, outputs: float
) -> float:
    """Return the share of the peak rate that a product reaches."""
    return (
        reached.efficiency
        * rows
        / (rows + reached.half_rows)
        * outputs
        / (outputs + reached.half_columns)
        * inputs
        / (inputs + reached.half_depth)
    )


# Section 3, MatMul: w.
def widening_seconds(operation: MatMul, rank: Rank) -> float:
    """Return the seconds of bringing a weight to 16 bits."""
    is_narrow = rank.parameter_bytes(operation) < rank.activation_bytes
    if not (is_narrow and rank.weights in WEIGHT_ONLY):
        return 0.0
    return rank.compute.widening / rank.accelerator.peak.get("fp32", rank.base_rate)


# Section 3, MatMul.
@formula(
    "a = 2 m k_E k' n' / (rate e), b = (D k' n' B_w + m k_E (k' + n') B_a) / "
    "(bandwidth e_b)",
    section="3",
    unit="s",
    reads=(
        "accelerator.memory_bandwidth",
        "compute.bandwidth_efficiency",
        "compute.operation_overhead",
    ),
)
def matmul_time(operation: MatMul, step: Step, rank: Rank) -> Duration:
    """Return the time of a product on one rank."""
    reached = rank.products(operation)
    inputs, outputs = operation.divided(rank.dividing(operation))
    distinct, rows_in_all = 1.0, float(step.tokens)
    if is_choice(operation):
        tokens = step.tokens + step.remote_tokens
        experts = distinct_matrices(operation.experts, operation.active, tokens)
        distinct = experts / rank.e
        rows_in_all = tokens * rank.rows_per_token(operation)
    flops = 2 * rows_in_all * inputs * outputs
    weight_bytes = distinct * inputs * outputs * rank.parameter_bytes(operation)
    moved = rows_in_all * (inputs + outputs) * rank.activation_bytes
    if rank.compute.own is not None:
        arithmetic, traffic = product_seconds(
            rank.compute.own,
            rank.accelerator,
            weights=distinct * inputs * outputs,
            bytes_each=(rank.parameter_bytes(operation), rank.activation_bytes),
            flops=flops,
        )
        return duration(rank, arithmetic, traffic, 0.0)
    efficiency = matmul_efficiency(reached, rows_in_all / distinct, inputs, outputs)
    rate = rank.quantised_rate if operation.quantised else rank.base_rate
    bandwidth = rank.memory_bandwidth * reached.bandwidth_efficiency
    return duration(
        rank,
        arithmetic=flops / (rate * efficiency)
        + distinct * inputs * outputs * widening_seconds(operation, rank),
        traffic=(weight_bytes + (moved if rank.compute.activation_traffic else 0))
        / bandwidth,
        overhead=reached.operation_overhead,
    ).slower(rank.compute.engine.prefill_factor if step.chunk else 1.0)


# Section 3, Attention: l of a chunk. The sum of min(c + i, w) over its tokens i.
@formula(
    "l = u + (s + 1)/2, or the mean of min(u + i, w) over the tokens i of the chunk",
    section="3",
    unit="tokens",
)
def mean_attended_tokens(chunk: int, window: int | None, cached: int = 0) -> float:
    """Return the tokens that a token of a causal chunk looks at, on average."""
    if window is None or cached + chunk <= window:
        return cached + (chunk + 1) / 2
    growing = max(window - cached, 0)
    attended_by_growing = growing * cached + growing * (growing + 1) / 2
    return (attended_by_growing + (chunk - growing) * window) / chunk


# Section 3, Attention: l of decoding.
@formula(
    "l = min(c, window)",
    section="3",
    unit="tokens",
)
def attended_tokens(context: int, window: int | None) -> int:
    """Return the tokens that a decoded token looks at."""
    return context if window is None else min(context, window)


def tighter(window: int | None, selected: int | None) -> int | None:
    """Return the tighter of two limits on the tokens that a token looks at."""
    limits = [limit for limit in (window, selected) if limit is not None]
    return min(limits, default=None)


Work = tuple[float, float]
"""FLOP and bytes."""


# Section 3, Attention.
@formula(
    "FLOP = m 2 (a/t) (d + v) l; bytes = m l (g/min(t, g)) (d + v) B_kv",
    section="3",
    unit="FLOP, bytes",
)
def attention_work(
    operation: Attention, step: Step, rank: Rank
) -> tuple[Work | None, Work | None]:
    """Return the work of grouped attention: on the chunk, and on what decodes."""
    ranks = 1 if operation.indexes else rank.t
    widths = operation.head_dim + operation.value_dim
    flops = 2 * operation.heads / ranks * widths
    per_token = kv_bytes_per_token(operation, rank)
    limit = tighter(operation.window, operation.selected)
    chunk = decoding = None
    if step.chunk:
        attended = mean_attended_tokens(step.chunk, limit, step.cached)
        read = step.chunk + attended_tokens(step.cached, operation.window)
        chunk = (step.queries * flops * attended, read * per_token)
    if step.decoding:
        cached = attended_tokens(step.context, limit)
        seen = step.decoding * cached / step.ranks
        decoding = (seen * (1 + step.drafted) * flops, seen * per_token)
    return chunk, decoding


# Section 3, Latent attention.
@formula(
    "FLOP = m 2 (a/t) c (2 latent + rope), bytes = m c (latent + rope) B_kv; of a "
    "prompt m 2 (a/t) (nope + rope + value) l; min(c, selected), and the width of what "
    "decodes for prompts, where tokens are selected",
    section="3",
    unit="FLOP, bytes",
)
def latent_attention_work(
    operation: LatentAttention, step: Step, rank: Rank
) -> tuple[Work | None, Work | None]:
    """Return the work of latent attention: on the chunk, and on what decodes."""
    heads = operation.heads / rank.t
    per_token = kv_bytes_per_token(operation, rank)
    chunk = decoding = None
    if step.chunk:
        attended = mean_attended_tokens(step.chunk, operation.selected, step.cached)
        width = operation.nope + operation.rope + operation.value
        if operation.selected is not None:
            width = 2 * operation.latent + operation.rope
        flops = 2 * heads * step.queries * attended * width
        chunk = (flops, (step.chunk + step.cached) * per_token)
    if step.decoding:
        context = attended_tokens(step.context, operation.selected)
        seen = step.decoding * context / step.ranks
        width = 2 * operation.latent + operation.rope
        flops = 2 * heads * seen * (1 + step.drafted) * width
        decoding = (flops, seen * per_token)
    return chunk, decoding


# Section 3, Latent attention: "keys and values of the tokens before it are made again".
@formula(
    "FLOP = u 2 (a/t) latent (nope + value)",
    section="3",
    unit="FLOP",
)
def recovered_work(operation: LatentAttention, step: Step, rank: Rank) -> float:
    """Return the arithmetic of making cached keys and values from their latents."""
    if operation.selected is not None:
        return 0.0
    width = operation.latent * (operation.nope + operation.value)
    return 2 * operation.heads / rank.t * _of_others(step) * width


def _of_others(step: Step) -> float:
    """Return the tokens whose keys and values this rank has not just made."""
    return step.cached + step.chunk - step.queries


# Section 3 and section 5, the cache of one token of one layer.
@formula(
    "(g/min(t, g)) (d + v) B_kv, or (latent + rope) B_kv",
    section="5",
    unit="bytes",
)
def kv_bytes_per_token(operation: Attention | LatentAttention, rank: Rank) -> float:
    """Return the bytes that one rank keeps of one token in one layer."""
    if isinstance(operation, LatentAttention):
        return (operation.latent + operation.rope) * rank.kv_bytes
    heads = operation.kv_heads / min(rank.t, operation.kv_heads)
    return heads * (operation.head_dim + operation.value_dim) * rank.kv_bytes


@formula(
    "a = FLOP / (rate e), b = bytes / (bandwidth e_b)",
    section="3",
    unit="s",
    reads=(
        "accelerator.memory_bandwidth",
        "compute.attention_efficiency",
        "compute.half_prompt",
        "compute.kv_bandwidth_efficiency",
        "compute.kv_bandwidth_efficiency_8bit",
        "compute.attention_overhead",
    ),
)
def attention_times(
    operation: Attention | LatentAttention, step: Step, rank: Rank
) -> list[Duration]:
    """Return the times of attention: of the chunk, and of what decodes."""
    compute = rank.compute
    if not compute.attention_time:
        return []
    parts = (
        latent_attention_work(operation, step, rank)
        if isinstance(operation, LatentAttention)
        else attention_work(operation, step, rank)
    )
    reached = (
        compute.kv_bandwidth_efficiency_8bit
        if rank.kv_bytes <= 1
        else compute.kv_bandwidth_efficiency
    )
    bandwidth = rank.memory_bandwidth * reached
    overhead = compute.attention_overhead
    chunk, decoding = parts
    times = []
    if chunk is not None:
        rate = rank.base_rate * compute.attention_efficiency
        share = step.queries / (step.queries + compute.half_prompt)
        arithmetic = chunk[0] / (rate * share)
        recomputed = _of_others(step)
        if isinstance(operation, LatentAttention) and recomputed:
            share = recomputed / (recomputed + compute.half_prompt)
            arithmetic += recovered_work(operation, step, rank) / (rate * share)
        alone = duration(rank, arithmetic, chunk[1] / bandwidth, overhead)
        times.append(alone.slower(compute.engine.prefill_factor))
    if decoding is not None:
        flops, moved = decoding
        rate = rank.base_rate * compute.decode_attention_efficiency
        times.append(duration(rank, flops / rate, moved / bandwidth, overhead))
    return times


# Section 3, Elementwise.
@formula(
    "b = 2 m width B_a / (bandwidth e_b)",
    section="3",
    unit="s",
    reads=(
        "accelerator.memory_bandwidth",
        "compute.bandwidth_efficiency",
        "compute.operation_overhead",
    ),
)
def elementwise_time(width: int, step: Step, rank: Rank) -> Duration:
    """Return the time to read and write a vector of `width` for each token."""
    reached = rank.elementwise
    bandwidth = rank.memory_bandwidth * reached.bandwidth_efficiency
    moved = 2 * step.tokens * width * rank.activation_bytes
    return duration(
        rank,
        arithmetic=0.0,
        traffic=moved / bandwidth if rank.compute.activation_traffic else 0.0,
        overhead=(
            reached.operation_overhead
            if rank.compute.engine.layer_overhead is None
            else 0.0
        ),
    ).slower(rank.compute.engine.prefill_factor if step.chunk else 1.0)


def mixes_tokens(operation: Operation) -> bool:
    """Return whether it brings tokens together: a layer has one of these."""
    mixes = isinstance(operation, Attention | LatentAttention | StateSpace)
    return mixes and not (isinstance(operation, Attention) and operation.indexes)


# Section 3, small kernels.
@formula(
    "layer_overhead for each layer, in place of the launches of small kernels",
    section="3",
    unit="s",
)
def small_kernels(operation: Operation, rank: Rank) -> list[Duration]:
    """Return the time of a layer's small kernels beside what mixes its tokens."""
    seconds = rank.compute.engine.layer_overhead
    if seconds is None or not mixes_tokens(operation):
        return []
    return [Duration(0.0, 0.0, seconds, launch=seconds)]


def operation_times(operation: Operation, step: Step, rank: Rank) -> list[Duration]:
    """Return the times of an operation: attention may have two, messages have none."""
    if isinstance(operation, MatMul):
        return [matmul_time(operation, step, rank)]
    if isinstance(operation, Attention | LatentAttention):
        return [
            *attention_times(operation, step, rank),
            *small_kernels(operation, rank),
        ]
    # A scan has a page of its own (`scan.py`).
    if isinstance(operation, AllReduce | StateSpace):
        return []
    return [elementwise_time(operation.width, step, rank)]
