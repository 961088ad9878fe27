"""What holds a run back on given hardware: the fastest cluster, taken apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt.options import Edit
from planopt.price_sources import dollars, is_rough
from planopt.units import HOURS_PER_DAY, SECONDS_PER_HOUR

if TYPE_CHECKING:
    from planopt.planning.question import TrainingQuestion
    from planopt.training.build import TrainingBuild

SHARES_WORTH_NAMING = 0.05
"""Parts of a step below this share are not what breaks a run."""

_PARTS = {
    "tensor_seconds": "tensor-parallel messages",
    "context_seconds": "context-parallel messages",
    "expert_seconds": "messages between experts",
    "pipeline_seconds": "messages between stages",
    "data_seconds": "exchange of gradients and weights between replicas",
    "bubble_seconds": "waiting for other pipeline stages",
    "recompute_seconds": "recomputation of activations that memory has no room for",
    "offload_seconds": "transfers to the host",
    "straggler_seconds": "waiting for the slowest host",
}


@dataclass(frozen=True)
class HeldBack:
    """The fastest run there is on some hardware, and what keeps it from more."""

    build: TrainingBuild | None  # The cluster; none where the model fits none
    sentence: str  # What there is to say of it


def held_back(question: TrainingQuestion) -> HeldBack:
    """Find the fastest run that the question's other limits allow, and explain it."""
    fastest = question.edited(Edit({"deadline": "", "objective": "throughput"}))
    build = fastest.best()
    most = question.problem.max_accelerators
    if build is None:
        ratio = fastest.found.summary.nearest.memory_ratio
        closest = f": the closest needs {ratio:.2f} times the memory" if ratio else ""
        return HeldBack(None, f"nothing of up to {most:,} accelerators fits{closest}")
    accelerators = build.evaluation.accelerators or 0
    rough = is_rough(build.bill_of_materials)
    price = dollars(build.price_usd, rough=rough, whole=True)
    said = [
        f"the fastest of up to {most:,} accelerators, {build.summary}, takes "
        f"{span(build.days)} for {price}",
        *_speed(build),
        *_memory(build),
        *_failures(build, accelerators),
    ]
    return HeldBack(build, "; ".join(said))


def _speed(build: TrainingBuild) -> list[str]:
    """Say what its accelerators do beside the model's arithmetic."""
    evaluation = build.evaluation
    seconds = evaluation.step_seconds
    if not seconds or evaluation.mfu is None:
        return []
    parts = (
        (getattr(evaluation.step, name) or 0.0, what) for name, what in _PARTS.items()
    )
    largest = sorted(
        (part for part in parts if part[0] / seconds >= SHARES_WORTH_NAMING),
        reverse=True,
    )
    shares = ", ".join(f"{part / seconds:.0%} {what}" for part, what in largest)
    return [f"MFU {evaluation.mfu:.1%}" + (f", of a step {shares}" if shares else "")]


def _memory(build: TrainingBuild) -> list[str]:
    """Say what fills the memory."""
    memory = build.evaluation.memory
    if memory is None:
        return []
    activations = memory.activations_bytes / 1e9
    in_flight = memory.micro_batches_in_flight or 1
    several = f"{in_flight:g} micro-batches" if in_flight > 1 else "one micro-batch"
    return [
        f"{memory.total_bytes / 1e9:.1f} of {memory.capacity_bytes / 1e9:.1f} GB of "
        f"memory, {activations:.1f} GB of them activations of {several} in flight"
    ]


def _failures(build: TrainingBuild, accelerators: int) -> list[str]:
    """Say how often so many accelerators fail."""
    interval, goodput = (
        build.evaluation.failures.interval_seconds,
        build.evaluation.goodput,
    )
    if interval is None or goodput is None:
        return []
    every = span(interval / 86_400)
    return [f"{accelerators:,} accelerators fail every {every}: goodput {goodput:.1%}"]


def span(days: float) -> str:
    """Write a time as an option would take it: ``26d``, ``4.1h``, ``30s``."""
    hours = days * HOURS_PER_DAY
    if hours < 1:
        return f"{hours * SECONDS_PER_HOUR:.3g}s"
    if days < 2:
        return f"{hours:.3g}h"
    return f"{days:.3g}d" if days < 1000 else f"{days:.0f}d"
