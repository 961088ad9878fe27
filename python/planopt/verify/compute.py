"""The time of an operation on one rank (model.md, section 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from planopt.verify.derivation import formula
from planopt.verify.formats import (
    ENDS,
    WEIGHT_ONLY,
    activation_bytes,
    base_rate,
    bytes_per_element,
    quantised_rate,
)
from planopt.verify.operations import (
    AllReduce,
    Attention,
    LatentAttention,
    MatMul,
    Operation,
    StateSpace,
)

if TYPE_CHECKING:
    from planopt.verify.assumptions import Assumptions
    from planopt.verify.encoder import Encoder
    from planopt.verify.hardware import Accelerator
    from planopt.verify.offload import Offload
    from planopt.verify.reached import Compute, Products


@dataclass(frozen=True)
class Rank:
    """One accelerator of a stage of `t` x `c` x `d`, and the formats it works in.

    The experts are dealt to `e` parts of `t` x `d`; `c` ranks divide contexts.
    """

    accelerator: Accelerator
    assumptions: Assumptions
    weights: str
    kv: str | None
    t: int
    d: int = 1
    e: int = 1
    c: int = 1
    drafter: Drafter | None = None
    offload: Offload | None = None
    lora_adapters: int = 0
    lora_rank: int = 0
    encoder: Encoder | None = None

    # Section 1, t_e.
    def dividing(self, operation: Operation) -> int:
        """Return how many ranks divide an operation."""
        return self.t * self.d // self.e if is_choice(operation) else self.t

    # Section 1, "a rank holds 1/e of its matrices".
    def fraction(self, operation: Operation) -> float:
        """Return the share of an operation's parameters that this rank holds."""
        parts = self.e if is_choice(operation) else 1
        return operation.fraction(self.dividing(operation)) / parts

    # Section 3, MatMul: R of one token. Section 5, x.
    def rows_per_token(self, operation: MatMul) -> float:
        """Return the rows of a product that a token of any group adds here."""
        if not is_choice(operation):
            return 1
        return operation.active * min(1, self.assumptions.experts.imbalance / self.e)

    # Section 4, B_x.
    @property
    def sent_bytes(self) -> float:
        """Return the bytes of an element on its way to an expert."""
        if self.weights in ("fp8", "int8", "nvfp4"):
            return bytes_per_element(self.weights)
        if self.weights in ("w4a8", "fp8-2:4"):
            return bytes_per_element("fp8")
        return self.activation_bytes

    @property
    def activation_bytes(self) -> float:
        """Return `B_a`."""
        return activation_bytes(self.weights)

    @property
    def kv_bytes(self) -> float:
        """Return `B_kv`."""
        return self.activation_bytes if self.kv is None else bytes_per_element(self.kv)

    @cached_property
    def compute(self) -> Compute:
        """Return what the accelerator reaches."""
        return self.assumptions.compute(self.accelerator)

    def products(self, operation: MatMul) -> Products:
        """Return what products of an operation's kind reach."""
        weights = self.weights if operation.quantised else None
        return self.compute.products(weights, experts=operation.experts > 1)

    @cached_property
    def elementwise(self) -> Products:
        """Return what operations without products reach of the memory."""
        return self.compute.products(None, experts=False)

    @cached_property
    def base_rate(self) -> float:
        """Return the FLOP/s of operations that are not quantised."""
        rate = base_rate(self.accelerator, self.assumptions, self.weights)
        return min(rate, self.compute.engine.arithmetic_limit)

    @cached_property
    def quantised_rate(self) -> float:
        """Return the FLOP/s of quantised operations."""
        rate = quantised_rate(self.accelerator, self.assumptions, self.weights)
        return min(rate, self.compute.engine.arithmetic_limit)

    @property
    def memory_bandwidth(self) -> float:
        """Return the bytes/s of the memory that kernels may keep under way."""
        limit = self.compute.engine.bandwidth_limit
        return min(self.accelerator.memory_bandwidth, limit)

    def parameter_bytes(self, operation: Operation) -> float:
        """Return the bytes of one parameter of an operation."""
        if operation.quantised:
            return bytes_per_element(self.weights)
        name = getattr(operation, "name", "")
        embedding, head = ENDS.get(self.weights, (self.activation_bytes,) * 2)
        if name == "embedding":
            return embedding
        if name in ("head", "shared_embedding"):
            return head
        return self.activation_bytes


# Section 9, "What drafts".
@dataclass(frozen=True)
class Drafter:
    """What drafts `tokens` tokens, one by one, on the ranks of the last stage."""

    operations: tuple[Operation, ...]
    rank: Rank
    tokens: int


def is_choice(operation: Operation) -> bool:
    """Return whether an operation is a choice of experts."""
    return isinstance(operation, MatMul) and operation.experts > 1


@dataclass(frozen=True)
class Step:
    """What passes through an operation at once.

    `decoding` sequences gain one token each over `context` cached ones, and `chunk`
    tokens of one prompt are read behind `cached` ones. Meanwhile other groups of the
    stage bring `elsewhere` tokens to the experts. Each sequence has `drafted` tokens
    checked beside the one that it gains.
    """

    decoding: int = 0
    context: int = 0
    chunk: int = 0
    cached: int = 0
    elsewhere: int = 0
    drafted: int = 0
    ranks: int = 1
    """Ranks that divide the chunk, and contexts."""

    # Section 3, Groups.
    def of_group(self, d: int) -> Step:
        """Return the step as the busiest of `d` groups sees it."""
        decoding = math.ceil(self.decoding / d)
        others = max(min(d, self.decoding) - 1, 0)
        elsewhere = decoding * (1 + self.drafted) * others
        return replace(self, decoding=decoding, elsewhere=elsewhere)

    # Serving, section 13, s/c.
    @property
    def queries(self) -> float:
        """Return the tokens of the chunk that one rank has."""
        return self.chunk / self.ranks

    @property
    def decoded(self) -> int:
        """Return the tokens of what decodes, with those that are checked."""
        return self.decoding * (1 + self.drafted)

    @property
    def tokens(self) -> float:
        """Return the tokens that pass through the layers of one rank."""
        return self.decoded + self.queries

    @property
    def in_head(self) -> Step:
        """Return what passes through the head: of a chunk the last token."""
        return replace(self, chunk=min(self.chunk, 1), elsewhere=0, ranks=1)


@dataclass(frozen=True)
class Duration:
    """Seconds of arithmetic and of memory traffic, and of both together."""

    arithmetic: float
    traffic: float
    seconds: float


# Section 3, the first formula.
@formula(
    "t = (a + b + sqrt((a - b)^2 + 4 (1 - overlap) a b)) / 2 + overhead, a "
    "arithmetic, b traffic",
    section="3",
    unit="s",
    reads=("compute.roofline_overlap",),
)
def duration(
    rank: Rank, arithmetic: float, traffic: float, overhead: float
) -> Duration:
    """Return the time of an operation."""
    seconds = rank.compute.roofline(arithmetic, traffic) + overhead
    return Duration(arithmetic, traffic, seconds)


# Section 3, MatMul: D = E (1 - (1 - k_E/E)^m).
@formula(
    "D = E (1 - (1 - k_E/E)^m)",
    section="3",
    unit="matrices",
)
def distinct_matrices(experts: int, active: int, tokens: float) -> float:
    """Return how many matrices `tokens` tokens meet, on average."""
    if experts == active:
        return float(experts)
    not_met: float = (1 - active / experts) ** tokens
    return experts * (1 - not_met)


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
    met, rows_in_all = 1.0, float(step.tokens)
    if is_choice(operation):
        tokens = step.tokens + step.elsewhere
        experts = distinct_matrices(operation.experts, operation.active, tokens)
        met = experts / rank.e
        rows_in_all = tokens * rank.rows_per_token(operation)
    flops = 2 * rows_in_all * inputs * outputs
    weight_bytes = met * inputs * outputs * rank.parameter_bytes(operation)
    moved = rows_in_all * (inputs + outputs) * rank.activation_bytes
    efficiency = matmul_efficiency(reached, rows_in_all / met, inputs, outputs)
    rate = rank.quantised_rate if operation.quantised else rank.base_rate
    bandwidth = rank.memory_bandwidth * reached.bandwidth_efficiency
    return duration(
        rank,
        arithmetic=flops / (rate * efficiency)
        + met * inputs * outputs * widening_seconds(operation, rank),
        traffic=(weight_bytes + (moved if rank.compute.activation_traffic else 0))
        / bandwidth,
        overhead=reached.operation_overhead,
    )


# Section 3, Attention: l of a chunk. The sum of min(c + i, w) over its tokens i.
@formula(
    "l = u + (s + 1)/2, or the mean of min(u + i, w) over the tokens i of the chunk",
    section="3",
    unit="tokens",
)
def mean_tokens_looked_at(chunk: int, window: int | None, cached: int = 0) -> float:
    """Return the tokens that a token of a causal chunk looks at, on average."""
    if window is None or cached + chunk <= window:
        return cached + (chunk + 1) / 2
    growing = max(window - cached, 0)
    looked_at_by_growing = growing * cached + growing * (growing + 1) / 2
    return (looked_at_by_growing + (chunk - growing) * window) / chunk


# Section 3, Attention: l of decoding.
@formula(
    "l = min(c, window)",
    section="3",
    unit="tokens",
)
def tokens_looked_at(context: int, window: int | None) -> int:
    """Return the tokens that a decoded token looks at."""
    return context if window is None else min(context, window)


Work = tuple[float, float]
"""FLOP and bytes."""


# Section 3, Attention.
@formula(
    "FLOP = m 4 (a/t) d l; bytes = m l 2 (g/min(t, g)) d B_kv",
    section="3",
    unit="FLOP, bytes",
)
def attention_work(
    operation: Attention, step: Step, rank: Rank
) -> tuple[Work | None, Work | None]:
    """Return the work of grouped attention: on the chunk, and on what decodes."""
    flops = 4 * operation.heads / rank.t * operation.head_dim
    per_token = kv_bytes_per_token(operation, rank)
    chunk = decoding = None
    if step.chunk:
        looked_at = mean_tokens_looked_at(step.chunk, operation.window, step.cached)
        read = step.chunk + tokens_looked_at(step.cached, operation.window)
        chunk = (step.queries * flops * looked_at, read * per_token)
    if step.decoding:
        cached = tokens_looked_at(step.context, operation.window)
        seen = step.decoding * cached / step.ranks
        decoding = (seen * (1 + step.drafted) * flops, seen * per_token)
    return chunk, decoding


# Section 3, Latent attention.
@formula(
    "FLOP = m 2 (a/t) c (2 latent + rope), bytes = m c (latent + rope) B_kv; of a "
    "prompt m 2 (a/t) (nope + rope + value) l",
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
        looked_at = mean_tokens_looked_at(step.chunk, None, step.cached)
        width = operation.nope + operation.rope + operation.value
        flops = 2 * heads * step.queries * looked_at * width
        chunk = (flops, (step.chunk + step.cached) * per_token)
    if step.decoding:
        seen = step.decoding * step.context / step.ranks
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
    width = operation.latent * (operation.nope + operation.value)
    return 2 * operation.heads / rank.t * _of_others(step) * width


def _of_others(step: Step) -> float:
    """Return the tokens whose keys and values this rank has not just made."""
    return step.cached + step.chunk - step.queries


# Section 3 and section 5, the cache of one token of one layer.
@formula(
    "2 (g/min(t, g)) d B_kv, or (latent + rope) B_kv",
    section="5",
    unit="bytes",
)
def kv_bytes_per_token(operation: Attention | LatentAttention, rank: Rank) -> float:
    """Return the bytes that one rank keeps of one token in one layer."""
    if isinstance(operation, LatentAttention):
        return (operation.latent + operation.rope) * rank.kv_bytes
    heads = operation.kv_heads / min(rank.t, operation.kv_heads)
    return 2 * heads * operation.head_dim * rank.kv_bytes


@formula(
    "a = FLOP / (rate e), b = bytes / (bandwidth e_b)",
    section="3",
    unit="s",
    reads=(
        "accelerator.memory_bandwidth",
        "compute.attention_efficiency",
        "compute.half_prompt",
        "compute.kv_bandwidth_efficiency",
        "compute.attention_overhead",
    ),
)
def _attention_time(
    operation: Attention | LatentAttention, step: Step, rank: Rank
) -> list[Duration]:
    compute = rank.compute
    if not compute.attention_time:
        return []
    parts = (
        latent_attention_work(operation, step, rank)
        if isinstance(operation, LatentAttention)
        else attention_work(operation, step, rank)
    )
    bandwidth = rank.memory_bandwidth * compute.kv_bandwidth_efficiency
    overhead = compute.attention_overhead
    chunk, decoding = parts
    times = []
    if chunk is not None:
        rate = rank.base_rate * compute.attention_efficiency
        share = step.queries / (step.queries + compute.half_prompt)
        arithmetic = chunk[0] / (rate * share)
        made_again = _of_others(step)
        if isinstance(operation, LatentAttention) and made_again:
            share = made_again / (made_again + compute.half_prompt)
            arithmetic += recovered_work(operation, step, rank) / (rate * share)
        times.append(duration(rank, arithmetic, chunk[1] / bandwidth, overhead))
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
        overhead=reached.operation_overhead,
    )


def operation_times(operation: Operation, step: Step, rank: Rank) -> list[Duration]:
    """Return the times of an operation: attention may have two, messages have none."""
    if isinstance(operation, MatMul):
        return [matmul_time(operation, step, rank)]
    if isinstance(operation, Attention | LatentAttention):
        return _attention_time(operation, step, rank)
    # A scan has a page of its own (`scan.py`).
    if isinstance(operation, AllReduce | StateSpace):
        return []
    return [elementwise_time(operation.width, step, rank)]
