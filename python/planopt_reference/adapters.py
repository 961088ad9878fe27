"""Adapters of low rank beside the products of every layer (serving.md, section 11)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from planopt_reference.compute import matmul_efficiency
from planopt_reference.derivation import formula
from planopt_reference.operations import MatMul
from planopt_reference.own_kernels import product_seconds
from planopt_reference.rank import Duration, Step, duration, is_choice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt_reference.rank import Rank
    from planopt_reference.stage import Stage

# Section 11, f: matrices of the published model in one product.
_FUSED: Final = {
    "query_key_value": 3,
    "query_key": 2,
    "gate_up": 2,
    "experts_gate_up": 2,
    "shared_gate_up": 2,
}

Shape = tuple[float, float]


def _products(stage: Stage) -> Iterator[MatMul]:
    for layer in stage.layers:
        for operation in layer:
            if isinstance(operation, MatMul) and operation.name != "router":
                yield operation


# Section 11, k' x f r and r x n'.
def _shapes(product: MatMul, rank: Rank) -> tuple[Shape, Shape]:
    inputs, outputs = product.divided(rank.dividing(product))
    return (inputs, _FUSED.get(product.name, 1) * rank.lora_rank), (
        rank.lora_rank,
        outputs,
    )


# Section 11, bytes.
@formula(
    "N r (f k' + n') B_a, summed over the products of the layers, E/e of experts",
    section="11",
    page="serving.md",
    unit="bytes",
)
def adapters_bytes(stage: Stage, rank: Rank) -> float:
    """Return the bytes of all adapters on one rank of a stage."""
    if not rank.lora_adapters:
        return 0.0
    elements = math.fsum(
        product.experts / _parts(product, rank) * rows * columns
        for product in _products(stage)
        for rows, columns in _shapes(product, rank)
    )
    return rank.lora_adapters * elements * rank.activation_bytes


def _parts(product: MatMul, rank: Rank) -> int:
    return rank.e if is_choice(product) else 1


# Section 11, A.
@formula(
    "A = min(N, sequences of the step)",
    section="11",
    page="serving.md",
    unit="adapters",
)
def distinct_adapters(product: MatMul, rank: Rank, step: Step) -> float:
    """Return how many adapters a step meets: each sequence has its own."""
    sequences: float = step.decoding + (1 if step.chunk else 0)
    if is_choice(product):
        sequences += step.remote_tokens / (1 + step.drafted)
    return min(rank.lora_adapters, sequences)


def adapter_times(stage: Stage, step: Step, rank: Rank) -> list[Duration]:
    """Return the times of what adapters add to a step."""
    if not rank.lora_adapters:
        return []
    return [
        adapter_time(product, shape, step, rank)
        for product in _products(stage)
        for shape in _shapes(product, rank)
    ]


def adapter_launches(stage: Stage, rank: Rank) -> int:
    """Return how many products adapters add to a stage: two for each of its own."""
    return 2 * sum(1 for _ in _products(stage)) if rank.lora_adapters else 0


# Section 11, the two products.
@formula(
    "a product k' x f r or r x n' of R rows assigned to A matrices, or to those of "
    "experts that the tokens of A adapters meet",
    section="11",
    page="serving.md",
    unit="s",
    reads=(
        "accelerator.memory_bandwidth",
        "compute.bandwidth_efficiency",
        "compute.operation_overhead",
    ),
)
def adapter_time(product: MatMul, shape: Shape, step: Step, rank: Rank) -> Duration:
    """Return the time of one of the two products of adapters."""
    inputs, outputs = shape
    adapters = distinct_adapters(product, rank, step)
    matrices, rows = adapters, step.tokens
    if is_choice(product):
        tokens = step.tokens + step.remote_tokens
        missed = (1 - product.active / product.experts) ** (tokens / adapters)
        matrices = adapters * product.experts / rank.e * (1 - missed)
        rows = tokens * rank.rows_per_token(product)
    if rank.compute.own is not None:
        seconds = product_seconds(
            rank.compute.own,
            rank.accelerator,
            weights=matrices * inputs * outputs,
            bytes_each=(rank.activation_bytes, rank.activation_bytes),
            flops=2 * rows * inputs * outputs,
        )
        return duration(rank, *seconds, 0.0)
    reached = rank.compute.products(None, experts=is_choice(product))
    efficiency = matmul_efficiency(reached, rows / matrices, inputs, outputs)
    moved = matrices * inputs * outputs
    if rank.compute.activation_traffic:
        moved += rows * (inputs + outputs)
    bandwidth = rank.memory_bandwidth * reached.bandwidth_efficiency
    return duration(
        rank,
        arithmetic=2 * rows * inputs * outputs / (rank.base_rate * efficiency),
        traffic=moved * rank.activation_bytes / bandwidth,
        overhead=reached.operation_overhead,
    ).slower(rank.compute.engine.prefill_factor if step.chunk else 1.0)
