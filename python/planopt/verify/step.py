"""Times of a step of a replica, and of a prompt (model.md, section 6)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from planopt.verify.adapters import adapter_times
from planopt.verify.architecture import model_from_table
from planopt.verify.communication import (
    Fabric,
    all_reduce,
    pipeline_hops,
)
from planopt.verify.compute import operation_times
from planopt.verify.context import context_messages
from planopt.verify.derivation import formula
from planopt.verify.encoder import encoder_seconds
from planopt.verify.exchange import exchange_seconds
from planopt.verify.memory import (
    Stage,
    stages,
)
from planopt.verify.offload import (
    exposed_seconds,
)
from planopt.verify.operations import (
    AllReduce,
    Attention,
    LatentAttention,
    MatMul,
    Model,
    Operation,
    StateSpace,
)
from planopt.verify.rank import Drafter, Duration, Rank, Step, is_choice
from planopt.verify.scan import scan_times

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from planopt.verify.facts import Facts


@dataclass(frozen=True)
class StageTime:
    """Seconds of one stage, apart and together."""

    arithmetic: float
    traffic: float
    compute: float
    all_reduce: float
    launches: float = 0.0
    """Of the host that launches all of it one by one, if it does."""

    def and_then(self, other: StageTime) -> StageTime:
        """Return both, one after the other."""
        return StageTime(
            arithmetic=self.arithmetic + other.arithmetic,
            traffic=self.traffic + other.traffic,
            compute=self.compute + other.compute,
            all_reduce=self.all_reduce + other.all_reduce,
            launches=self.launches + other.launches,
        )


@dataclass(frozen=True)
class StepTime:
    """Seconds of a step."""

    step: float
    compute: float
    memory: float
    communication: float
    offload: float


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
        durations.append(Duration(encoding, 0.0, encoding))
    return StageTime(
        arithmetic=math.fsum(duration.arithmetic for duration in durations),
        traffic=math.fsum(duration.traffic for duration in durations),
        compute=math.fsum(duration.seconds for duration in durations),
        all_reduce=math.fsum(messages),
        launches=launch_seconds(stage, step, rank),
    )


# Serving, section 2: kernels of an operation that are more than one.
_OF_LATENT_ATTENTION: Final = 9
_OF_EXPERTS: Final = 4


# Serving, section 2: "takes at least `compute.prompt_launch` for each".
@formula(
    "prompt_launch times the kernels and messages of a stage that reads prompts",
    section="2",
    page="serving.md",
    unit="s",
)
def launch_seconds(stage: Stage, step: Step, rank: Rank) -> float:
    """Return the seconds of launching a stage, one by one where prompts are read."""
    if not step.chunk:
        return 0.0
    launched: list[Operation | Duration] = [*stage.body, *stage.head]
    launched += adapter_times(stage, step, rank)
    # Exchanges about experts and about contexts.
    exchanges = [
        operation
        for operation in stage.body
        if (is_choice(operation) and rank.d > 1)
        or (isinstance(operation, Attention | LatentAttention) and rank.c > 1)
    ]
    encoders = 1 if stage.first and rank.encoder is not None else 0
    count = sum(map(kernels, launched)) + len(exchanges) + encoders
    return rank.compute.engine.prompt_launch * count


def kernels(launched: Operation | Duration) -> int:
    """Return the kernels of an operation that are launched one by one."""
    if isinstance(launched, LatentAttention):
        return _OF_LATENT_ATTENTION
    if isinstance(launched, MatMul) and is_choice(launched):
        return _OF_EXPERTS
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
        arithmetic=drafter.tokens * once.arithmetic,
        traffic=drafter.tokens * once.traffic,
        compute=drafter.tokens * once.compute,
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
    for operation in operations:
        yield from operation_times(operation, step, rank)
        if isinstance(operation, StateSpace):
            yield from scan_times(operation, step, rank)


# Section 6, stage_j.
@formula(
    "stage_j = compute_j + all_reduce_j; with two-batch overlap their maximum",
    section="6",
    unit="s",
)
def stage_seconds(time: StageTime, overlap: str) -> float:
    """Return the seconds of a stage, with messages hidden where two batches overlap."""
    if overlap == "two-batch":
        return max(time.compute, time.all_reduce, time.launches)
    return max(time.compute + time.all_reduce, time.launches)


# Section 6, turn and step.
@formula(
    "turn = step_overhead + sum_j stage_j + hops; step = max(turn, in_flight "
    "max_j stage_j)",
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
    one_token = replace(step, chunk=0).of_group(rank.d)
    if rank.drafter is not None:
        step = replace(step, drafted=rank.drafter.tokens)
    step = replace(step.of_group(rank.d), ranks=rank.c)
    times = [stage_time(stage, step, rank, links) for stage in stages(model, links.p)]
    if rank.drafter is not None and step.decoding:
        times[-1] = times[-1].and_then(draft_time(rank.drafter, one_token, links))
    hops = pipeline_hops(message_bytes(step.tokens, model.hidden, rank), links)
    work = [stage_seconds(time, overlap) for time in times]
    exposed = _exposed(model, work, rank, links)
    seconds = [sum(both) for both in zip(work, exposed, strict=True)]
    turn = rank.compute.step_overhead + math.fsum(seconds) + hops
    return StepTime(
        step=max(turn, in_flight * max(seconds)),
        compute=math.fsum(time.arithmetic for time in times),
        memory=math.fsum(time.traffic for time in times),
        communication=math.fsum(time.all_reduce for time in times) + hops,
        offload=math.fsum(exposed),
    )


def _exposed(model: Model, work: list[float], rank: Rank, links: Fabric) -> list[float]:
    """Return the seconds that each stage waits for weights that rest in the host."""
    return [
        exposed_seconds(stage, seconds, rank, links)
        for stage, seconds in zip(stages(model, links.p), work, strict=True)
    ]


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
def prefill_seconds(model: Model, rank: Rank, links: Fabric, prompt: int) -> float:
    """Return the seconds of one prompt alone."""
    engine, overhead = rank.compute.engine, rank.compute.step_overhead
    chunk = min(engine.prompt_chunk or prompt, prompt)
    cached, before = 0, 0.0
    while cached + chunk < prompt:
        step = Step(chunk=chunk, cached=cached, ranks=rank.c)
        before += max(_alone(model, rank, links, step))
        cached += chunk
    last = Step(chunk=prompt - cached, cached=cached, ranks=rank.c)
    hops = pipeline_hops(message_bytes(last.tokens, model.hidden, rank), links)
    return overhead + before + math.fsum(_alone(model, rank, links, last)) + hops


def _alone(model: Model, rank: Rank, links: Fabric, step: Step) -> list[float]:
    """Return the seconds of each stage for a step that no other overlaps."""
    times = [stage_time(stage, step, rank, links) for stage in stages(model, links.p)]
    work = [stage_seconds(time, "none") for time in times]
    exposed = _exposed(model, work, rank, links)
    return [sum(both) for both in zip(work, exposed, strict=True)]
