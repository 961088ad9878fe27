"""Memory of the fullest accelerator (training.md, section 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_reference.derivation import formula
from planopt_reference.formats import bytes_per_element
from planopt_reference.training.parameters import holdings
from planopt_reference.training.work import logits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt_reference.training.parameters import Holdings
    from planopt_reference.training.rank import Rank
    from planopt_reference.training.stages import Stage

# Section 5: zero3 has gathered the layer at work and the next one.
_GATHERED_LAYERS = 2
# Section 5: offloaded activations leave the layer at work and the next one.
_RESIDENT_LAYERS = 2


def _groups_in_use(rank: Rank) -> int:
    """Return the kinds of groups that a rank exchanges messages in."""
    candidate = rank.candidate
    return sum(
        ranks > 1
        for ranks in (
            candidate.tp,
            candidate.cp,
            candidate.ep,
            candidate.pp,
            candidate.dp * candidate.cp,
        )
    )


def _sharded(held: Holdings, what: str, stage: Stage, *, sharded: bool) -> float:
    """Return the bytes of one kind that a rank holds, whole or sharded."""
    dense, experts = getattr(held.dense, what), getattr(held.experts, what)
    if not sharded:
        return float(dense + experts)
    candidate = stage.rank.candidate
    return float(dense / candidate.shard_ranks + experts / candidate.expert_shard_ranks)


def _activations(stages: Sequence[Stage]) -> tuple[float, float]:
    """Return the bytes of activations on the accelerator and in the host."""
    candidate, in_flight = stages[0].rank.candidate, stages[0].in_flight
    kept = in_flight * sum(stage.kept_by_layers for stage in stages)
    recomputed = [stage.recomputed(work) for stage in stages for work, _ in stage.kinds]
    host = 0.0
    if "activations" in candidate.offload:
        largest = max(one.kept for one in recomputed)
        host, kept = kept, min(kept, _RESIDENT_LAYERS * largest)
    working_set = max(one.working_set for one in recomputed)
    heads = candidate.micro_batches if candidate.schedule == "gpipe" else 1
    ends = sum(
        stage.embedding.kept * in_flight + stage.head.kept * heads for stage in stages
    )
    return kept + working_set + ends + max(map(_momentary, stages)), host


def _momentary(stage: Stage) -> float:
    """Return the bytes of gradients that are there for a moment."""
    rank, momentary = stage.rank, _table_gradient(stage)
    if stage.is_last and not rank.machine.framework.loss_in_place:
        chunks = rank.candidate.loss_chunks
        momentary += rank.machine.activation_bytes * logits(rank) / chunks
    return momentary


# Section 5, "of the chunk at work".
def _gradients_at_work(stage: Stage) -> float:
    candidate, held = stage.rank.candidate, stage.holdings
    if candidate.shard != "zero2" or candidate.pp == 1:
        return 0.0
    dense = min(1 / candidate.vpp, 1 - 1 / candidate.shard_ranks)
    experts = min(1 / candidate.vpp, 1 - 1 / candidate.expert_shard_ranks)
    return held.dense.gradients * dense + held.experts.gradients * experts


# Section 5, "the gradient of the token table or of the head".
def _table_gradient(stage: Stage) -> float:
    rank = stage.rank
    made = rank.machine.activation_bytes
    summed = bytes_per_element(rank.candidate.gradients)
    if rank.candidate.lora_rank is not None or summed <= made:
        return 0.0
    here = []
    if stage.is_first:
        here.append(rank.model.embedding)
    if stage.is_last:
        exits = rank.model.mtp_exit * rank.candidate.mtp_modules
        here.append((*rank.model.head, *exits))
    return max((holdings(each, rank).dense.trained for each in here), default=0.0)


# Section 5, the table of what ranks share.
def _held(stage: Stage) -> tuple[float, float, float]:
    """Return the bytes of weights, gradients and state of a stage on one rank."""
    candidate, machine = stage.rank.candidate, stage.rank.machine
    stages_sharded = {"none": 0, "zero1": 1, "zero2": 2, "zero3": 3}[candidate.shard]
    held = stage.holdings
    weights = _sharded(held, "weights", stage, sharded=stages_sharded >= 3)
    if stages_sharded == 3 and candidate.shard_ranks > 1:
        weights += max(
            _GATHERED_LAYERS * layer.weights + layer.gradients
            for layer in stage.layer_holdings
        )
    gradients = _sharded(held, "gradients", stage, sharded=stages_sharded >= 2)
    gradients += _gradients_at_work(stage)
    optimizer = _sharded(held, "state", stage, sharded=stages_sharded >= 1)
    copies = machine.framework.gradient_copy / machine.activation_bytes
    optimizer += copies * _sharded(held, "trained", stage, sharded=stages_sharded >= 1)
    return weights, gradients, optimizer


@formula(
    "weights + gradients + optimizer + activations + overhead, each over the "
    "ranks that share it",
    section="5",
    reads=(
        "accelerator.memory",
        "training.overhead",
        "training.overhead_group",
        "training.usable_fraction",
    ),
)
def memory_of(*stages: Stage) -> dict[str, float]:
    """Return the memory of an accelerator of a stage, or of two, in bytes."""
    rank = stages[0].rank
    candidate, machine, training = rank.candidate, rank.machine, rank.machine.training
    weights, gradients, optimizer = (
        sum(parts) for parts in zip(*map(_held, stages), strict=True)
    )
    activations, host = _activations(stages)
    if "optimizer" in candidate.offload:
        host, optimizer = host + optimizer, 0.0
    memory = machine.accelerator.memory
    used = weights + gradients + optimizer + activations
    capacity = memory * training.usable_fraction
    fixed = training.overhead + training.overhead_group * _groups_in_use(rank)
    room = max(capacity - used - fixed, 0.0)
    overhead = fixed + min((machine.framework.memory_reserve - 1) * used, room)
    return {
        "weights_bytes": weights,
        "gradients_bytes": gradients,
        "optimizer_bytes": optimizer,
        "activations_bytes": activations,
        "overhead_bytes": overhead,
        "total_bytes": used + overhead,
        "capacity_bytes": capacity,
        "activations_per_layer_bytes": max(
            stage.recomputed(work).kept for stage in stages for work, _ in stage.kinds
        ),
        "micro_batches_in_flight": stages[0].in_flight,
        "host_bytes": host,
    }
