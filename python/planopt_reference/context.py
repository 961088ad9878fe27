"""What ranks that divide contexts send each other (serving.md, section 13)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from planopt_reference.compute import (
    attended_tokens,
    attention_times,
    kv_bytes_per_token,
)
from planopt_reference.derivation import formula
from planopt_reference.operations import Attention, LatentAttention
from planopt_reference.training.groups import context_group

if TYPE_CHECKING:
    from planopt_reference.communication import Fabric
    from planopt_reference.operations import Operation
    from planopt_reference.rank import Rank, Step
    from planopt_reference.stage import Stage

# Section 13, the logarithm of a sum that goes with each head, in fp32.
_LOG_SUM_BYTES: Final = 4


# Section 13, gathered.
@formula(
    "(s + min(u, w)) x bytes of a cached token",
    section="13",
    page="serving.md",
    unit="bytes",
)
def gathered_bytes(
    operation: Attention | LatentAttention, step: Step, rank: Rank
) -> float:
    """Return the bytes of keys and values that attention of a chunk looks at."""
    if isinstance(operation, Attention) and not operation.cached:
        return 0.0
    window = operation.window if isinstance(operation, Attention) else None
    tokens = step.chunk + attended_tokens(step.cached, window)
    return tokens * kv_bytes_per_token(operation, rank)


# Section 13, combined.
@formula(
    "b (1 + k) (a/t) (v B_a + 4), v the width of what a head gives",
    section="13",
    page="serving.md",
    unit="bytes",
)
def combined_bytes(
    operation: Attention | LatentAttention, step: Step, rank: Rank
) -> float:
    """Return the bytes of what attention to a part of the contexts gives."""
    of_head = (
        operation.latent
        if isinstance(operation, LatentAttention)
        else operation.value_dim
    )
    elements = of_head * rank.activation_bytes + _LOG_SUM_BYTES
    return step.decoded * operation.heads / rank.t * elements


def context_messages(
    stage: Stage, step: Step, rank: Rank, links: Fabric
) -> list[float]:
    """Return the seconds of what the layers of a stage exchange about contexts."""
    if links.c == 1 or rank.c == 1:
        return []
    return [layer_messages(layer, step, rank, links) for layer in stage.layers]


# Section 13, context_j.
@formula(
    "max(0, all-gather(gathered) - context_overlap x attention of the chunk) + "
    "all-reduce(combined)",
    section="13",
    page="serving.md",
    unit="s",
    reads=("training.context_overlap",),
)
def layer_messages(
    layer: tuple[Operation, ...], step: Step, rank: Rank, links: Fabric
) -> float:
    """Return the seconds that the ranks of one layer exchange keys, values, answers."""
    group = context_group(links)
    training = links.assumptions.training
    overlap = 0.0 if training is None else training.context_overlap
    attention = [
        operation
        for operation in layer
        if isinstance(operation, Attention | LatentAttention)
    ]
    combined = math.fsum(
        group.all_reduce(combined_bytes(operation, step, rank))
        for operation in attention
    )
    if not step.chunk:
        return combined
    gathered = math.fsum(
        group.half(gathered_bytes(operation, step, rank)) for operation in attention
    )
    chunk_alone = replace(step, decoding=0)
    worked = math.fsum(
        time.seconds
        for operation in attention
        for time in attention_times(operation, chunk_alone, rank)
    )
    return max(0.0, gathered - overlap * worked) + combined
