"""Time of a step of the optimizer (training.md, section 7)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, log, sqrt
from typing import TYPE_CHECKING, Final

from planopt_reference.derivation import formula
from planopt_reference.training import parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planopt_reference.communication import Fabric
    from planopt_reference.trainers import Framework
    from planopt_reference.training.candidate import Candidate
    from planopt_reference.training.groups import Group
    from planopt_reference.training.parameters import Bytes
    from planopt_reference.training.stages import Stage

# Section 7: stages whose times are in a smaller ratio are equally long.
_EQUALLY_LONG: Final = 1 + 1e-10
# Section 7: reads and writes of the state, and passes over the gradients.
_STATE_PASSES: Final = 2
_GRADIENT_PASSES: Final = 5


@dataclass(frozen=True)
class MicroBatch:
    """Seconds of one micro-batch on one stage; parts of `T_j`."""

    forward: float
    backward: float
    recompute: float
    tensor: float
    context: float
    expert: float
    pipeline: float
    offload: float
    contention: float
    host: float = 0.0

    @property
    def seconds(self) -> float:
        """Return `T_j`."""
        return (
            self.forward
            + self.backward
            + self.recompute
            + self.tensor
            + self.context
            + self.expert
            + self.pipeline
            + self.offload
            + self.contention
            + self.host
        )


# Section 7, hop.
def _hop(stage: Stage, fabric: Fabric) -> float:
    rank = stage.rank
    if rank.candidate.pp == 1:
        return 0.0
    pipeline = rank.groups.pipeline
    extra = rank.machine.framework.hop_overhead if pipeline.leaves_its_domain else 0.0

    def message(payload: float) -> float:
        return extra + pipeline.message(payload)

    if rank.candidate.sequence_parallel:
        return message(rank.payload / rank.candidate.tp)
    if fabric.assumptions.communication.hop_payload == "full":
        return message(rank.payload)
    return message(rank.payload / rank.candidate.tp) + rank.groups.tensor.half(
        rank.payload
    )


def _recompute_seconds(stage: Stage) -> float:
    """Return `R`."""
    return stage.recompute_fraction * stage.body.forward + stage.of_modules.forward


# Section 7, T_j.
@formula(
    "T_j = F + A + R + exposed + context + (expert - sent) + pipeline + offload + "
    "contention + host",
    section="7",
    unit="s",
    reads=(
        "training.tensor_contention",
        "training.contention",
        "training.pipeline_overlap",
    ),
)
def micro_batch(stage: Stage, fabric: Fabric) -> MicroBatch:
    """Return what one micro-batch takes on a stage."""
    rank, work, recomputed = stage.rank, stage.whole, stage.recompute_fraction
    training, body = rank.machine.training, stage.body
    recompute = _recompute_seconds(stage)
    modules = stage.of_modules
    tensor = (
        work.tensor_forward + work.tensor_backward + recomputed * body.tensor_forward
    )
    tensor += modules.tensor_forward
    arithmetic = work.forward + work.backward + recompute
    framework = rank.machine.framework
    hidden = min(tensor, framework.tensor_overlap * arithmetic)
    overlapped = min(work.overlapped, framework.gradient_overlap * work.backward)
    chunks = rank.candidate.vpp
    hops = 2 * chunks * _hop(stage, fabric)
    meanwhile = (framework if chunks > 1 else training).pipeline_overlap
    experts = (
        work.expert_forward + work.expert_backward + recomputed * body.expert_forward
    )
    experts += modules.expert_forward
    dispatched = min(experts, framework.expert_overlap * arithmetic)
    device = MicroBatch(
        forward=work.forward,
        backward=work.backward,
        recompute=recompute,
        tensor=tensor - hidden + work.overlapped - overlapped,
        context=work.context_forward
        + work.context_backward
        + recomputed * body.context_forward,
        expert=experts - dispatched,
        pipeline=hops * (1 - meanwhile),
        offload=_offload_of_activations(stage, recompute, fabric),
        contention=training.tensor_contention * (hidden + overlapped)
        + training.contention * dispatched
        + training.contention * hops * meanwhile,
    )
    launched, waited = _launched(stage)
    return replace(device, host=max(0.0, launched - device.seconds) + waited)


# Section 7, launched and waited for.
def _launched(stage: Stage) -> tuple[float, float]:
    """Return how long the host launches a micro-batch, and is waited for in it."""
    work, body, machine = stage.whole, stage.body, stage.rank.machine
    recomputed = stage.recompute_fraction
    kernels = (
        work.forward_kernels + work.backward_kernels + recomputed * body.forward_kernels
    )
    kernels += stage.of_modules.forward_kernels
    routed = (2 + recomputed) * body.routed + stage.of_modules.routed
    framework, host = machine.framework, machine.trainer.host
    return host * framework.host_launch * kernels, (
        host * framework.expert_launch * routed
    )


# Section 7, offload.
def _offload_of_activations(stage: Stage, recompute: float, fabric: Fabric) -> float:
    if "activations" not in stage.rank.candidate.offload:
        return 0.0
    overlap = stage.rank.machine.training.offload_overlap
    transfer = fabric.pcie_latency + stage.kept_by_layers / fabric.pcie_bandwidth
    work = stage.whole
    return max(0.0, transfer - overlap * work.forward) + max(
        0.0, transfer - overlap * (work.backward + recompute)
    )


@dataclass(frozen=True)
class Exchange:
    """Seconds of messages behind a pass: of each micro-batch, and once a step."""

    each: float = 0.0
    once: float = 0.0

    def exposed(self, micro_batches: int, window: float, bare: float) -> float:
        """Return the seconds that a window of each micro-batch does not hide."""
        last = max(0.0, self.each + self.once - window, bare * self.once)
        return (micro_batches - 1) * max(0.0, self.each - window) + last

    def total(self, micro_batches: int) -> float:
        """Return the seconds of all of them."""
        return micro_batches * self.each + self.once


# Section 7, the table of `shard`.
def _exchanges(
    held: Bytes,
    shard: str,
    shards: Group,
    replicas: Group,
    *,
    adapters: bool,
    stages: int,
    framework: Framework,
) -> tuple[Exchange, Exchange]:
    """Return what is exchanged behind forward, and behind backward."""
    gradients, n = held.gradients, shards.ranks

    def in_buckets(exchange: Callable[[float], float], payload: float) -> float:
        buckets = max(ceil(payload / framework.bucket), 1)
        return buckets * exchange(payload / buckets)

    if shard == "none":
        once = in_buckets(shards.all_reduce, gradients)
        return Exchange(), Exchange(
            once=once + in_buckets(replicas.all_reduce, gradients)
        )
    whole = framework.gradients_everywhere
    scattered = in_buckets(shards.all_reduce if whole else shards.half, gradients)

    def gather(payload: float) -> float:
        if framework.broadcasts:
            return n * shards.half(payload / n)
        return in_buckets(shards.half, payload)

    replicated = in_buckets(replicas.all_reduce, gradients / n)
    if shard == "zero1" or (shard == "zero2" and stages > 1):
        return (
            Exchange(once=gather(held.gathered)),
            Exchange(once=scattered + replicated),
        )
    if shard == "zero2":
        return (
            Exchange(once=gather(held.gathered)),
            Exchange(each=scattered, once=replicated),
        )
    gathered = gather(held.weights if adapters else held.gathered)
    return Exchange(each=gathered), Exchange(each=gathered + scattered, once=replicated)


def _together(one: Exchange, other: Exchange) -> Exchange:
    return Exchange(one.each + other.each, one.once + other.once)


@dataclass(frozen=True)
class Closing:
    """Seconds behind the last micro-batch of a stage."""

    data: float
    hidden: float
    offload: float
    optimizer: float

    @property
    def seconds(self) -> float:
        """Return what the stages are compared by."""
        return self.data + self.offload + self.optimizer


# Section 7, "with `v > 1`".
def _overlapping(candidate: Candidate) -> tuple[float, float]:
    """Return the micro-batches beside an exchange, and the share that stays bare."""
    v = candidate.vpp
    if v == 1 or candidate.shard == "zero3":
        return 1.0, 0.0
    return (candidate.pp * (v - 1) + 1) / v, 1 / (2 * max(v, 4))


@formula(
    "(m - 1) max(0, each - w) + max(0, each + once - w, bare once), and the optimizer",
    section="7",
    unit="s",
)
def closing(stage: Stage, fabric: Fabric, slots: int) -> Closing:
    """Return what closes a step on a stage."""
    rank, held = stage.rank, stage.holdings
    candidate = rank.candidate
    groups, adapters = rank.groups, candidate.lora_rank is not None
    dense = _exchanges(
        held.dense,
        candidate.shard,
        groups.shards,
        groups.shard_replicas,
        adapters=adapters,
        stages=candidate.pp,
        framework=rank.machine.framework,
    )
    experts = _exchanges(
        held.experts,
        candidate.shard,
        groups.expert_shards,
        groups.expert_shard_replicas,
        adapters=adapters,
        stages=candidate.pp,
        framework=rank.machine.framework,
    )
    m = candidate.micro_batches
    behind_forward = _together(dense[0], experts[0])
    behind_backward = _together(dense[1], experts[1])
    recompute = _recompute_seconds(stage)
    overlap = rank.machine.framework.data_overlap
    wide, bare = _overlapping(candidate)
    overlap *= wide
    broadcasts = rank.machine.framework.broadcasts
    forward_window = 0.0 if broadcasts else overlap * stage.whole.forward
    backward_window = overlap * (stage.whole.backward + recompute)
    exposed = behind_forward.exposed(m, forward_window, bare)
    exposed += behind_backward.exposed(m, backward_window, bare)
    messages = behind_forward.total(m) + behind_backward.total(m)
    optimizer, offload = _optimizer(stage, fabric, slots)
    return Closing(
        data=exposed + _tied_gradients(stage),
        hidden=messages - exposed,
        offload=offload,
        optimizer=optimizer,
    )


# Section 7, "one message of the tied matrix's gradients".
def _tied_gradients(stage: Stage) -> float:
    rank = stage.rank
    if not parameters.table_on_two_stages(rank) or not (
        stage.is_first or stage.is_last
    ):
        return 0.0
    if rank.candidate.lora_rank is not None:
        return 0.0
    return rank.groups.pipeline.message(parameters.token_table(rank).gradients)


# Section 7, optimizer.
def _optimizer(stage: Stage, fabric: Fabric, slots: int) -> tuple[float, float]:
    """Return the seconds of the update, and of transfers to the host for it."""
    candidate, machine = stage.rank.candidate, stage.rank.machine
    held = stage.holdings
    parts = (
        (held.dense, candidate.shard_ranks),
        (held.experts, candidate.expert_shard_ranks),
    )
    moved = sum(
        (_STATE_PASSES * part.state + _GRADIENT_PASSES * part.gradients + part.trained)
        / n
        for part, n in parts
    )
    if "optimizer" not in candidate.offload:
        muon = sum(part.muon_flops / n for part, n in parts)
        reached = machine.base * machine.efficiency
        return moved / machine.bandwidth + muon / reached, 0.0
    transfer = sum((part.gradients + part.trained) / n for part, n in parts)
    host = machine.training.host_memory_bandwidth / slots
    return moved / host, transfer / fabric.pcie_bandwidth


# Section 7, the table of bubbles.
def _waits(stage: Stage) -> float:
    """Return what is waited for over a micro-batch of every other stage."""
    candidate = stage.rank.candidate
    schedule, p = candidate.schedule, candidate.pp
    forward = stage.whole.forward
    backward = stage.whole.backward + _recompute_seconds(stage)
    pass_seconds, weights = forward + backward, stage.whole.to_weights
    if p == 1 or not schedule.startswith(("zb", "dual")):
        return 1 / candidate.vpp
    left = 0.0
    if schedule == "zb-h1":
        left = pass_seconds - 2 * weights
    if schedule == "dualpipe":
        pairs = max(p / 2 - 1, 0)
        left = (pass_seconds + backward - 3 * weights) * pairs / (p - 1)
    return max(left, 0.0) / pass_seconds


@dataclass(frozen=True)
class Placed:
    """A stage in its hosts of so many accelerators each."""

    stage: Stage
    fabric: Fabric
    slots: int


@formula(
    "(m max T_j + bubble + data + offload + data_contention hidden + "
    "step_overhead + optimizer) (1 + straggler_spread sqrt(2 ln H))",
    section="7",
    unit="s",
    reads=("training.straggler_spread",),
)
def step_of(placed: Sequence[Placed], hosts: int) -> dict[str, float]:
    """Return the parts of a step, in seconds, by the names of an evaluation."""
    rank = placed[0].stage.rank
    candidate, training = rank.candidate, rank.machine.training
    framework = rank.machine.framework
    stages = [one.stage for one in placed]
    micro_batches = [micro_batch(one.stage, one.fabric) for one in placed]
    slowest = micro_batches[0]
    for one in micro_batches[1:]:
        if one.seconds > slowest.seconds * _EQUALLY_LONG:
            slowest = one
    closings = [closing(one.stage, one.fabric, one.slots) for one in placed]
    last = closings[0]
    for other in closings[1:]:
        if other.seconds * _EQUALLY_LONG >= last.seconds:
            last = other
    m = candidate.micro_batches
    others = sum(one.seconds for one in micro_batches) - slowest.seconds
    parts = {
        "forward_seconds": m * slowest.forward,
        "backward_seconds": m * slowest.backward,
        "recompute_seconds": m * slowest.recompute,
        "tensor_seconds": m * slowest.tensor,
        "context_seconds": m * slowest.context,
        "expert_seconds": m * slowest.expert,
        "pipeline_seconds": m * slowest.pipeline,
        "data_seconds": last.data,
        "offload_seconds": m * slowest.offload + last.offload,
        "contention_seconds": m * slowest.contention
        + framework.data_contention * last.hidden,
        "host_seconds": m * slowest.host + framework.step_overhead,
        "bubble_seconds": others * _waits(stages[micro_batches.index(slowest)]),
        "optimizer_seconds": last.optimizer,
    }
    spread = training.straggler_spread * sqrt(2 * log(hosts))
    parts["straggler_seconds"] = sum(parts.values()) * spread
    return parts
