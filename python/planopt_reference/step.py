"""Times of a step of a replica, and of a prompt (model.md, section 6)."""

from __future__ import annotations

import math
from dataclasses import asdict, astuple, dataclass, replace
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from planopt_reference.adapters import adapter_launches, adapter_times
from planopt_reference.architecture import model_from_table
from planopt_reference.communication import Fabric, all_reduce, pipeline_hops
from planopt_reference.compute import (
    distinct_matrices,
    mixes_tokens,
    operation_times,
    small_kernels,
)
from planopt_reference.context import context_messages
from planopt_reference.derivation import formula, is_recorded
from planopt_reference.encoder import encoder_seconds
from planopt_reference.exchange import exchange_seconds
from planopt_reference.offload import (
    exposed_seconds,
    host_bandwidth,
    kept,
    kept_bytes,
    offloaded_share,
    read_bandwidth,
)
from planopt_reference.operations import (
    AllReduce,
    Attention,
    LatentAttention,
    MatMul,
    Model,
    Operation,
    StateSpace,
)
from planopt_reference.rank import Drafter, Duration, Rank, Step, is_choice
from planopt_reference.scan import scan_times
from planopt_reference.stage import Stage, stages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from planopt_reference.facts import Facts


@dataclass(frozen=True)
class StageTime:
    """Seconds of one stage, by what bounds its operations."""

    compute: float
    memory: float
    overhead: float
    """Of its operations."""
    all_reduce: float
    launches: float = 0.0
    """Of the host that launches all of it one by one, if it does."""
    handed: float = 0.0
    """Of the host that computes or hands over what rests in it, if it does."""

    def and_then(self, other: StageTime) -> StageTime:
        """Return both, one after the other."""
        return StageTime(
            compute=self.compute + other.compute,
            memory=self.memory + other.memory,
            overhead=self.overhead + other.overhead,
            all_reduce=self.all_reduce + other.all_reduce,
            launches=self.launches + other.launches,
            handed=self.handed + other.handed,
        )


@dataclass(frozen=True)
class Parts:
    """Seconds of a stage, a turn or a prompt, in parts that sum to it."""

    compute: float = 0.0
    memory: float = 0.0
    communication: float = 0.0
    offload: float = 0.0
    host: float = 0.0

    @property
    def seconds(self) -> float:
        """All of it."""
        return math.fsum(astuple(self))

    def table(self) -> dict[str, float]:
        """Return the parts as an evaluation names them."""
        return {f"{part}_seconds": seconds for part, seconds in asdict(self).items()}


def _summed(parts: Iterable[Parts]) -> Parts:
    return Parts(*map(math.fsum, zip(*map(astuple, parts), strict=True)))


@dataclass(frozen=True)
class PrefillTime:
    """Seconds of a prompt that is read alone."""

    seconds: float
    parts: Parts


@dataclass(frozen=True)
class StepTime:
    """Seconds of a step: one turn through all stages, and waiting for others."""

    step: float
    turn: Parts
    waiting: float


# Section 4, "Message of an all-reduce or a hop".
@formula(
    "S = m h B_a",
    section="4",
    unit="bytes",
)
def message_bytes(tokens: float, width: int, rank: Rank) -> float:
    """Return the bytes of a vector of `width` for each token."""
    return tokens * width * rank.activation_bytes


# Section 6, compute_j and all_reduce_j.
@formula(
    "compute_j, all_reduce_j: sums over the operations of the stage",
    section="6",
    unit="s",
)
def stage_time(stage: Stage, step: Step, rank: Rank, links: Fabric) -> StageTime:
    """Return the time that one step spends on a stage."""
    durations: list[Duration] = [
        *_durations(stage.body, step, rank),
        *adapter_times(stage, step, rank),
        *_durations(stage.head, step.in_head, rank),
    ]
    messages = [
        *(
            all_reduce(message_bytes(step.tokens, operation.width, rank), links)
            for operation in stage.body
            if isinstance(operation, AllReduce)
        ),
        *(
            exchange_seconds(operation, step.tokens, rank, links)
            for operation in stage.body
            if isinstance(operation, MatMul) and is_choice(operation) and rank.d > 1
        ),
        *context_messages(stage, step, rank, links),
    ]
    if stage.first:
        encoding = encoder_seconds(rank, step)
        alone = Duration(encoding, 0.0, encoding)
        durations.append(alone.slower(rank.compute.engine.prefill_factor))
    spared, handed = _kept_by_host(stage, step, rank, links)
    share = offloaded_share(stage, rank)
    return StageTime(
        compute=math.fsum(duration.compute for duration in durations)
        - share * math.fsum(duration.compute for duration in spared),
        memory=math.fsum(duration.memory for duration in durations)
        - share * math.fsum(duration.memory for duration in spared),
        overhead=math.fsum(duration.launch for duration in durations)
        + len(stage.layers) * around_a_layer(step, rank),
        all_reduce=math.fsum(messages),
        launches=launch_seconds(stage, step, rank),
        handed=handed,
    )


# Serving, section 16, host.
def _kept_by_host(
    stage: Stage, step: Step, rank: Rank, links: Fabric
) -> tuple[list[Duration], float]:
    """Return the products that the accelerator is spared, and seconds of the host."""
    own = rank.compute.own
    if own is None or rank.offload is None:
        return [], 0.0
    distinct, products = 0.0, []
    for layer in stage.layers:
        for each in kept(layer):
            matrices = 1.0
            if is_choice(each):
                tokens = step.tokens + step.remote_tokens
                matrices = distinct_matrices(each.experts, each.active, tokens)
                matrices /= rank.e
            distinct += kept_bytes(each, rank, distinct=matrices)
            products.append(each)
    distinct *= offloaded_share(stage, rank)
    if step.tokens >= own.copied_from:
        return [], distinct / read_bandwidth(rank.offload, links)
    spared = list(_durations(products, step, rank))
    return spared, distinct / host_bandwidth(rank, links, own.host)


# Serving, section 16, u.
def around_a_layer(step: Step, rank: Rank) -> float:
    """Return the seconds of a layer besides products and attention of its own."""
    own = rank.compute.own
    if own is None:
        return 0.0
    return own.prompt_layer if step.chunk else own.layer


# Serving, section 2: kernels of an operation that are more than one.
_OF_LATENT_ATTENTION: Final = 9
_OF_DELTA_RULE: Final = 10


# Serving, section 2: "takes at least `compute.prompt_launch` for each".
@formula(
    "prompt_launch times the kernels and messages of a stage that reads prompts, two "
    "a layer where graphs are captured of its tokens",
    section="2",
    page="serving.md",
    unit="s",
)
def launch_seconds(stage: Stage, step: Step, rank: Rank) -> float:
    """Return the seconds of launching a stage, one by one where prompts are read."""
    if not step.chunk:
        return 0.0
    if step.tokens <= rank.compute.graph_tokens:
        # The attention of each layer, and the piece of a graph before it.
        return (
            rank.compute.engine.prompt_launch * 2 * sum(map(mixes_tokens, stage.body))
        )
    launched = [*stage.body, *stage.head]
    # Exchanges about experts and about contexts.
    exchanges = [
        operation
        for operation in stage.body
        if (is_choice(operation) and rank.d > 1)
        or (isinstance(operation, Attention | LatentAttention) and rank.c > 1)
    ]
    encoders = 1 if stage.first and rank.encoder is not None else 0
    count = sum(kernels(each, rank) for each in launched)
    count += adapter_launches(stage, rank)
    count += len(exchanges) + encoders
    return rank.compute.engine.prompt_launch * count


def kernels(launched: Operation, rank: Rank) -> int:
    """Return the kernels of an operation that are launched one by one."""
    if isinstance(launched, LatentAttention):
        return _OF_LATENT_ATTENTION
    if isinstance(launched, MatMul) and is_choice(launched):
        return rank.products(launched).launches
    if isinstance(launched, StateSpace) and launched.corrects:
        return _OF_DELTA_RULE
    return 1


# Section 9, drafting.
@formula(
    "k times the operations of what drafts, for one token of each sequence",
    section="9",
    page="serving.md",
    unit="s",
)
def draft_time(drafter: Drafter, one_token: Step, links: Fabric) -> StageTime:
    """Return the time that the last stage spends on drafting ahead of a check."""
    alone = Stage(embedding=drafter.operations, layers=(), head=())
    once = stage_time(alone, one_token, drafter.rank, links)
    return StageTime(
        compute=drafter.tokens * once.compute,
        memory=drafter.tokens * once.memory,
        overhead=drafter.tokens * once.overhead,
        all_reduce=drafter.tokens * once.all_reduce,
    )


# Section 9, E.
@formula(
    "E = (1 - acceptance^(k+1)) / (1 - acceptance), or k + 1",
    section="9",
    page="serving.md",
    unit="tokens",
)
def tokens_per_check(drafted: int, acceptance: float) -> float:
    """Return the tokens that a sequence gains when `drafted` ones are checked."""
    return math.fsum(acceptance**place for place in range(drafted + 1))


def drafter_of(
    facts: Facts, draft: str | None, tokens: int, model: Model, rank: Rank
) -> Drafter | None:
    """Return what drafts: a module of the model's own, or another model."""
    if draft is None:
        return None
    # Section 13: each rank has all of its cache.
    whole = replace(rank, c=1)
    if draft == "mtp":
        return Drafter(tuple(model.mtp_operations()), whole, tokens)
    other = model_from_table(facts.model_table(draft))
    divided = replace(whole, t=math.gcd(rank.t, *other.heads), d=1, e=1)
    return Drafter(tuple(other.operations()), divided, tokens)


def _durations(
    operations: Iterable[Operation], step: Step, rank: Rank
) -> Iterator[Duration]:
    def of_one(operation: Operation) -> list[Duration]:
        times = operation_times(operation, step, rank)
        if isinstance(operation, StateSpace):
            times += scan_times(operation, step, rank)
            times += small_kernels(operation, rank)
        return times

    # Layers are alike.
    times = of_one if is_recorded() else cache(of_one)
    return chain.from_iterable(map(times, operations))


# Section 6, stage_j, and its parts.
@formula(
    "stage_j = compute_j + all_reduce_j; with two-batch overlap their maximum; in "
    "parts, of which each counts as far as it outlasts those before it",
    section="6",
    unit="s",
)
def stage_parts(
    time: StageTime, stage: Stage, overlap: str, rank: Rank, links: Fabric
) -> Parts:
    """Return the seconds of a stage, with messages hidden where two batches overlap."""
    operations = time.compute + time.memory + time.overhead
    messages = time.all_reduce
    if overlap == "two-batch":
        messages = max(0.0, messages - operations)
    exposed = max(0.0, time.launches - operations - messages)
    work = operations + messages + exposed
    return Parts(
        compute=time.compute,
        memory=time.memory,
        communication=messages,
        offload=(
            exposed_seconds(stage, work, rank, links)
            if rank.compute.own is None
            else time.handed
        ),
        host=time.overhead + exposed,
    )


# Section 6, turn and step.
@formula(
    "turn = step_overhead + b per_sequence + sum_j stage_j + hops; "
    "step = max(turn, in_flight max_j stage_j)",
    section="6",
    unit="s",
    reads=("compute.step_overhead",),
)
def step_time(
    model: Model,
    rank: Rank,
    links: Fabric,
    step: Step,
    *,
    in_flight: int,
    overlap: str,
) -> StepTime:
    """Return the times of a step of `in_flight` micro-batches that are all alike."""
    decoding = step.decoding
    one_token = replace(step, chunk=0).of_group(rank.d)
    if rank.drafter is not None:
        step = replace(step, drafted=rank.drafter.tokens)
    step = replace(step.of_group(rank.d), ranks=rank.c)
    assigned = stages(model, links.p)
    times = [stage_time(stage, step, rank, links) for stage in assigned]
    if rank.drafter is not None and step.decoding:
        times[-1] = times[-1].and_then(draft_time(rank.drafter, one_token, links))
    parts = [
        stage_parts(time, stage, overlap, rank, links)
        for time, stage in zip(times, assigned, strict=True)
    ]
    turn = _turn(parts, step, model, rank, links, decoding)
    slowest = max(stage.seconds for stage in parts)
    waiting = max(0.0, in_flight * slowest - turn.seconds)
    return StepTime(step=turn.seconds + waiting, turn=turn, waiting=waiting)


def _turn(
    stages_of_it: list[Parts],
    step: Step,
    model: Model,
    rank: Rank,
    links: Fabric,
    decoding: int = 0,
) -> Parts:
    """Return a micro-batch's way through all stages."""
    hops = pipeline_hops(message_bytes(step.tokens, model.hidden, rank), links)
    sequences = rank.compute.engine.per_sequence * decoding
    between = Parts(communication=hops, host=rank.compute.step_overhead + sequences)
    return _summed([*stages_of_it, between])


# Section 6, mixed.
@formula(
    "chunk = min(prompt, c (workspace_tokens - b)): the last chunk beside the "
    "decoding batch",
    section="6",
    unit="tokens",
    reads=("memory.workspace_tokens",),
)
def mixed_step(rank: Rank, *, batch: int, context: int, prompt: int) -> Step:
    """Return a decoding step with the last chunk of a prompt in the room it leaves."""
    room = rank.assumptions.memory.workspace_tokens - math.ceil(batch / rank.d)
    chunk = max(0, min(prompt, rank.c * room))
    return Step(decoding=batch, context=context, chunk=chunk, cached=prompt - chunk)


# Section 6, TPOT.
def time_per_output_token(step_seconds: float, overlap: str) -> float:
    """Return the seconds between two tokens of one sequence."""
    return 2 * step_seconds if overlap == "two-batch" else step_seconds


# Section 6, Prefill.
@formula(
    "step_overhead + sum_j stage_j + hops, with m = prompt; of all chunks "
    "but the last one the slowest stage",
    section="6",
    unit="s",
    reads=("compute.step_overhead",),
)
def prefill_time(model: Model, rank: Rank, links: Fabric, prompt: int) -> PrefillTime:
    """Return the seconds of one prompt alone."""
    chunk = min(rank.compute.engine.prompt_chunk or prompt, prompt)
    cached, before = 0, []
    while cached + chunk < prompt:
        step = Step(chunk=chunk, cached=cached, ranks=rank.c)
        alone = _alone(model, rank, links, step)
        slowest = max(alone, key=lambda stage: stage.seconds)
        turn = _turn(alone, step, model, rank, links)
        before.append(_times(slowest, _exposed_launches(turn, slowest, rank)))
        cached += chunk
    last = Step(chunk=prompt - cached, cached=cached, ranks=rank.c)
    turn = _turn(_alone(model, rank, links, last), last, model, rank, links)
    parts = _summed([*before, turn])
    return PrefillTime(seconds=parts.seconds, parts=parts)


# Serving, section 16, "from one chunk to the next".
def _exposed_launches(turn: Parts, slowest: Parts, rank: Rank) -> float:
    own = rank.compute.own
    if own is None:
        return 1.0
    longer: float = turn.seconds / slowest.seconds
    return math.exp(math.log(longer) * (1 - own.pipelining))


def _times(parts: Parts, times: float) -> Parts:
    return Parts(*(times * seconds for seconds in astuple(parts)))


def _alone(model: Model, rank: Rank, links: Fabric, step: Step) -> list[Parts]:
    """Return the seconds of each stage for a step that no other overlaps."""
    return [
        stage_parts(stage_time(stage, step, rank, links), stage, "none", rank, links)
        for stage in stages(model, links.p)
    ]
