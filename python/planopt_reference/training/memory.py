"""Memory of the fullest accelerator (training.md, section 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_reference.derivation import formula
from planopt_reference.formats import bytes_per_element
from planopt_reference.training.parameters import holdings
from planopt_reference.training.work import logits

if TYPE_CHECKING:
    from planopt_reference.training.parameters import Holdings
    from planopt_reference.training.stages import Stage

# Section 5: zero3 has gathered the layer at work and the next one.
_GATHERED_LAYERS = 2
# Section 5: offloaded activations leave the layer at work and the next one.
_RESIDENT_LAYERS = 2


def _groups_in_use(stage: Stage) -> int:
    """Return the kinds of groups that a rank exchanges messages in."""
    candidate = stage.rank.candidate
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


def _activations(stage: Stage) -> tuple[float, float]:
    """Return the bytes of activations on the accelerator and in the host."""
    rank, in_flight = stage.rank, stage.in_flight
    kept = in_flight * stage.kept_by_layers
    host = 0.0
    if "activations" in rank.candidate.offload:
        largest = max(stage.recomputed(work).kept for work, _ in stage.kinds)
        host, kept = kept, min(kept, _RESIDENT_LAYERS * largest)
    working_set = max(stage.recomputed(work).working_set for work, _ in stage.kinds)
    head_in_flight = (
        rank.candidate.micro_batches if rank.candidate.schedule == "gpipe" else 1
    )
    chunks = rank.candidate.loss_chunks
    has_logits = stage.is_last and not rank.machine.framework.loss_in_place
    momentary = (
        rank.machine.activation_bytes * logits(rank) / chunks if has_logits else 0.0
    )
    momentary += _table_gradient(stage)
    return (
        kept
        + working_set
        + stage.embedding.kept * in_flight
        + stage.head.kept * head_in_flight
        + momentary,
        host,
    )


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
def memory_of(stage: Stage) -> dict[str, float]:
    """Return the memory of an accelerator of a stage, in bytes."""
    candidate, training = stage.rank.candidate, stage.rank.machine.training
    stages_sharded = {"none": 0, "zero1": 1, "zero2": 2, "zero3": 3}[candidate.shard]
    held = stage.holdings
    weights = _sharded(held, "weights", stage, sharded=stages_sharded >= 3)
    if stages_sharded == 3 and candidate.shard_ranks > 1:
        weights += max(
            _GATHERED_LAYERS * layer.weights + layer.gradients
            for layer in stage.layer_holdings
        )
    gradients = _sharded(held, "gradients", stage, sharded=stages_sharded >= 2)
    optimizer = _sharded(held, "state", stage, sharded=stages_sharded >= 1)
    machine = stage.rank.machine
    copies = machine.framework.gradient_copy / machine.activation_bytes
    optimizer += copies * _sharded(held, "trained", stage, sharded=stages_sharded >= 1)
    activations, host = _activations(stage)
    if "optimizer" in candidate.offload:
        host, optimizer = host + optimizer, 0.0
    memory = machine.accelerator.memory
    used = weights + gradients + optimizer + activations
    capacity = memory * training.usable_fraction
    fixed = training.overhead + training.overhead_group * _groups_in_use(stage)
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
            stage.recomputed(work).kept for work, _ in stage.kinds
        ),
        "micro_batches_in_flight": stage.in_flight,
        "host_bytes": host,
    }
