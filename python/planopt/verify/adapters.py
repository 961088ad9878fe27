"""Adapters of low rank beside the products of every layer (serving.md, section 11)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from planopt.verify.compute import Duration, Step, duration, matmul_efficiency
from planopt.verify.derivation import formula
from planopt.verify.operations import MatMul

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt.verify.compute import Rank
    from planopt.verify.memory import Stage

# Section 11, f: matrices of the published model in one product.
_FUSED: Final = {"query_key_value": 3, "gate_up": 2}

Shape = tuple[float, float]


def _products(stage: Stage) -> Iterator[MatMul]:
    for layer in stage.layers:
        for operation in layer:
            if isinstance(operation, MatMul) and operation.experts == 1:
                yield operation


# Section 11, k' x f r and r x n'.
def _shapes(product: MatMul, rank: Rank) -> tuple[Shape, Shape]:
    inputs, outputs = product.divided(rank.t)
    return (inputs, _FUSED.get(product.name, 1) * rank.lora_rank), (
        rank.lora_rank,
        outputs,
    )


# Section 11, bytes.
@formula(
    "N r (f k' + n') B_a, summed over the products of the layers",
    section="11",
    page="serving.md",
    unit="bytes",
)
def adapters_bytes(stage: Stage, rank: Rank) -> float:
    """Return the bytes of all adapters on one rank of a stage."""
    if not rank.lora_adapters:
        return 0.0
    elements = math.fsum(
        rows * columns
        for product in _products(stage)
        for rows, columns in _shapes(product, rank)
    )
    return rank.lora_adapters * elements * rank.activation_bytes


# Section 11, A.
@formula(
    "A = min(N, sequences of the step)",
    section="11",
    page="serving.md",
    unit="adapters",
)
def distinct_adapters(rank: Rank, step: Step) -> int:
    """Return how many adapters a step meets: each sequence has its own."""
    return min(rank.lora_adapters, step.decoding + (1 if step.chunk else 0))


def adapter_times(stage: Stage, step: Step, rank: Rank) -> list[Duration]:
    """Return the times of what adapters add to a step."""
    if not rank.lora_adapters:
        return []
    met = distinct_adapters(rank, step)
    return [
        adapter_time(shape, met, step, rank)
        for product in _products(stage)
        for shape in _shapes(product, rank)
    ]


# Section 11, the two products.
@formula(
    "a product k' x f r or r x n' of m tokens dealt to A matrices",
    section="11",
    page="serving.md",
    unit="s",
    reads=(
        "accelerator.memory_bandwidth",
        "compute.bandwidth_efficiency",
        "compute.operation_overhead",
    ),
)
def adapter_time(shape: Shape, met: int, step: Step, rank: Rank) -> Duration:
    """Return the time of one of the two products of adapters."""
    inputs, outputs = shape
    reached = rank.compute.products(None, experts=False)
    efficiency = matmul_efficiency(reached, step.tokens / met, inputs, outputs)
    moved = met * inputs * outputs
    if rank.compute.activation_traffic:
        moved += step.tokens * (inputs + outputs)
    bandwidth = rank.memory_bandwidth * reached.bandwidth_efficiency
    return duration(
        rank,
        arithmetic=2 * step.tokens * inputs * outputs / (rank.base_rate * efficiency),
        traffic=moved * rank.activation_bytes / bandwidth,
        overhead=reached.operation_overhead,
    )
