"""Stages of a pipeline and what each holds (model.md, section 5)."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Final

from planopt_reference.adapters import adapters_bytes
from planopt_reference.compute import attended_tokens, kv_bytes_per_token
from planopt_reference.derivation import formula
from planopt_reference.encoder import encoder_bytes
from planopt_reference.offload import freed_bytes
from planopt_reference.operations import (
    Attention,
    LatentAttention,
    MatMul,
    Model,
    StateSpace,
)
from planopt_reference.rank import Rank, is_choice
from planopt_reference.scan import state_bytes
from planopt_reference.stage import Stage, stages

# Section 5, activations: logits are kept in fp32.
_LOGIT_BYTES: Final = 4


@dataclass(frozen=True)
class Memory:
    """Bytes of one accelerator of a stage."""

    weights: float
    kv_cache: float
    activations: float
    overhead: float
    capacity: float

    @property
    def total(self) -> float:
        """Return what must fit into `capacity`."""
        return self.weights + self.kv_cache + self.activations + self.overhead


# Section 5, weights.
@formula(
    "sum over operations of parameters x fraction x (B_w if quantised else B_a)",
    section="5",
    unit="bytes",
)
def weights_bytes(stage: Stage, model: Model, rank: Rank) -> float:
    """Return the bytes of the parameters that one rank of a stage holds."""
    own = math.fsum(
        alike
        * operation.parameters
        * rank.fraction(operation)
        * rank.parameter_bytes(operation)
        for operation, alike in Counter((*stage.body, *stage.head)).items()
    )
    own += adapters_bytes(stage, rank) - freed_bytes(stage, rank)
    own += encoder_bytes(rank) if stage.first else 0.0
    if stage.last and rank.drafter is not None:
        drafter = rank.drafter
        own += math.fsum(
            operation.parameters
            * drafter.rank.fraction(operation)
            * drafter.rank.parameter_bytes(operation)
            for operation in drafter.operations
        )
    if model.tied and stage.head and not stage.embedding:
        tokens = model.embedding[0]
        share = tokens.parameters * rank.fraction(tokens)
        return own + share * rank.parameter_bytes(tokens)
    return own


# Section 5, pages(x).
@formula(
    "ceil(x / page_tokens) page_tokens",
    section="5",
    unit="tokens",
    reads=("memory.page_tokens",),
)
def paged(tokens: int, page_tokens: int) -> int:
    """Return the tokens of the pages that `tokens` tokens take up."""
    return math.ceil(tokens / page_tokens) * page_tokens


# Section 5, "sequences".
@formula(
    "b x in_flight, twice that with two-batch overlap",
    section="5",
    unit="sequences",
)
def resident_sequences(batch: int, in_flight: int, overlap: str) -> int:
    """Return the sequences of a replica whose cache is kept."""
    batches = 2 if overlap == "two-batch" else 1
    return batch * in_flight * batches


# Section 5, KV cache.
@formula(
    "sequences x sum over layers of pages(min(c, window)) x bytes of a token; of the "
    "share of one rank where ranks divide contexts; and the states of its layers",
    section="5",
    unit="bytes",
)
def kv_cache_bytes(stage: Stage, rank: Rank, *, sequences: int, context: int) -> float:
    """Return the bytes of the cache of one rank of a stage."""
    page_tokens = rank.assumptions.memory.page_tokens
    cached = [(operation, rank) for operation in stage.body]
    if stage.last and rank.drafter is not None:
        drafter = rank.drafter
        cached += [(operation, drafter.rank) for operation in drafter.operations]
    states = math.fsum(
        state_bytes(operation, rank)
        for operation in stage.body
        if isinstance(operation, StateSpace)
    )
    pages = math.fsum(
        paged(math.ceil(_cached_tokens(operation, context) / holder.c), page_tokens)
        * kv_bytes_per_token(operation, holder)
        for operation, holder in cached
        if isinstance(operation, Attention | LatentAttention)
    )
    return sequences * (pages + states)


def _cached_tokens(operation: Attention | LatentAttention, context: int) -> int:
    if isinstance(operation, LatentAttention):
        return context
    return attended_tokens(context, operation.window) if operation.cached else 0


# Section 5, activations.
@formula(
    "workspace_tokens B_a max active (k' + n'), on the last stage + b (V/t) 4; with "
    "step_logits workspace_tokens 4 ((V/t + h) on the last stage + scores + inputs)",
    section="5",
    unit="bytes",
    reads=("memory.workspace_tokens",),
)
def activations_bytes(
    stage: Stage, model: Model, rank: Rank, *, batch: int, context: int = 0, p: int = 1
) -> float:
    """Return the bytes of the workspace, and of the logits on the last stage."""
    if rank.assumptions.memory.step_logits:
        width = model.vocabulary / rank.t + model.hidden if stage.head else 0.0
        width += _held_of_a_step(stage, model, rank, batch=batch, context=context, p=p)
        return rank.assumptions.memory.workspace_tokens * width * _LOGIT_BYTES
    widest = max(
        (
            _rows(operation, rank) * sum(operation.divided(rank.dividing(operation)))
            for layer in stage.layers
            for operation in layer
            if isinstance(operation, MatMul)
        ),
        default=0.0,
    )
    tokens = rank.assumptions.memory.workspace_tokens
    workspace = tokens * rank.activation_bytes * widest
    if not stage.head:
        return workspace
    rows = batch * (1 + (rank.drafter.tokens if rank.drafter is not None else 0))
    return workspace + rows * model.vocabulary / rank.t * _LOGIT_BYTES


# Section 5, "scores" and "inputs".
def _held_of_a_step(
    stage: Stage, model: Model, rank: Rank, *, batch: int, context: int, p: int
) -> float:
    """Return what llama.cpp holds besides for each token of a step, in figures."""
    memory, tokens = rank.assumptions.memory, batch * context
    several = rank.t * rank.c * rank.d * p > 1
    inputs = memory.input_copies * (tokens + model.hidden) if several else 0
    if memory.flash_attention:
        return inputs
    looking = [
        operation.heads / rank.t
        for layer in stage.layers
        for operation in layer
        if isinstance(operation, LatentAttention)
        or (isinstance(operation, Attention) and not operation.indexes)
    ]
    return inputs + tokens * max(looking, default=0.0)


# Section 5, x.
def _rows(operation: MatMul, rank: Rank) -> float:
    groups = rank.d if is_choice(operation) else 1
    return groups * rank.rows_per_token(operation)


# Section 5, overhead.
@formula(
    "overhead, or overhead_group if t p > 1",
    section="5",
    unit="bytes",
    reads=(
        "memory.overhead",
        "memory.overhead_group",
    ),
)
def overhead_bytes(rank: Rank, p: int) -> float:
    """Return the bytes of the engine, with communication buffers in a group."""
    memory = rank.assumptions.memory
    return (
        memory.overhead_group if rank.t * rank.c * rank.d * p > 1 else memory.overhead
    )


# Section 5, capacity.
@formula(
    "memory x usable_fraction (unified_usable_fraction)",
    section="5",
    unit="bytes",
    reads=(
        "accelerator.memory",
        "memory.usable_fraction",
        "memory.unified_usable_fraction",
    ),
)
def capacity_bytes(rank: Rank) -> float:
    """Return the bytes that the engine may plan with."""
    memory = rank.assumptions.memory
    usable = (
        memory.unified_usable_fraction
        if rank.accelerator.unified_memory
        else memory.usable_fraction
    )
    return rank.accelerator.memory * usable


# Section 5, "What is left".
def kv_capacity_tokens(
    model: Model, rank: Rank, *, p: int, batch: int, context: int
) -> float:
    """Return the tokens of cache that fit, in sequences of `context` tokens."""

    def sequences(stage: Stage) -> float:
        left = capacity_bytes(rank) - (
            weights_bytes(stage, model, rank)
            + activations_bytes(stage, model, rank, batch=batch, context=context, p=p)
            + overhead_bytes(rank, p)
        )
        each = kv_cache_bytes(stage, rank, sequences=1, context=context)
        # Layers may lack what mixes tokens: such a stage limits nobody.
        return left / each if each else math.copysign(math.inf, left)

    of_group = max(0.0, min(sequences(stage) for stage in stages(model, p)))
    return context * of_group * rank.d


# Section 5, "The fullest stage".
@formula(
    "the stage with the largest weights + KV cache + activations + overhead",
    section="5",
    unit="bytes",
)
def fullest_stage_memory(
    model: Model, rank: Rank, *, p: int, batch: int, sequences: int, context: int
) -> Memory:
    """Return the memory of an accelerator of the first stage with the most in it.

    Parameters
    ----------
    model : Model
        Operations.
    rank : Rank
        Accelerator, formats and tensor-parallel degree.
    p : int
        Pipeline stages.
    batch : int
        Sequences of a micro-batch.
    sequences : int
        Sequences whose cache is kept.
    context : int
        Tokens cached of each.

    Returns
    -------
    Memory
        In bytes.
    """
    return max(
        (
            Memory(
                weights=weights_bytes(stage, model, rank),
                kv_cache=kv_cache_bytes(
                    stage, rank, sequences=sequences, context=context
                ),
                activations=activations_bytes(
                    stage, model, rank, batch=batch, context=context, p=p
                ),
                overhead=overhead_bytes(rank, p),
                capacity=capacity_bytes(rank),
            )
            for stage in stages(model, p)
        ),
        key=lambda memory: memory.total,
    )
