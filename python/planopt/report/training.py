"""One evaluated training configuration on the screen, and the pieces plans share."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from planopt.report.derivation import derivation_lines
from planopt.report.numbers import UNKNOWN, count, money, rate, size, watts
from planopt.report.parts import assumed_lines, bill_lines, section, warning_lines
from planopt.report.style import PLAIN, Style
from planopt.report.table import beside, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.documents.training import (
        Mixed,
        TrainingCandidate,
        TrainingDocument,
        TrainingEvaluation,
    )

__all__ = [
    "days",
    "percent",
    "render_training",
    "run_lines",
    "speed_line",
    "step_and_memory",
    "training_layout",
]

_BAR = 12  # characters of the longest bar
_SECONDS_PER_MINUTE = 60
_SECONDS_PER_HOUR = 3600


def render_training(evaluation: TrainingDocument, *, style: Style = PLAIN) -> str:
    """Lay an evaluation of training out for a terminal."""
    verdict = style.good("FITS") if evaluation.feasible else style.bad("DOES NOT FIT")
    warnings = warning_lines(evaluation.warnings, style)
    bill = bill_lines(evaluation.bill_of_materials, style)
    return "\n".join(
        [
            *wrapped(_what(evaluation), indent="", hanging="  "),
            f"  {verdict}   {speed_line(evaluation)}",
            *(
                line
                for rejection in evaluation.rejections
                for line in wrapped(
                    f"{style.bad(rejection.code)}: {rejection.message}",
                    hanging="    ",
                )
            ),
            "",
            *mixed_lines(evaluation.mixed),
            *step_and_memory(evaluation),
            *run_lines(evaluation),
            *(["", *bill] if bill else []),
            *section("Assumed", assumed_lines(evaluation.assumed), style),
            *([""] if warnings else []),
            *warnings,
            *derivation_lines(evaluation.derivation, style),
        ]
    )


def _what(evaluation: TrainingDocument) -> str:
    candidate, hardware = evaluation.candidate, evaluation.hardware
    number, layout = count(evaluation.accelerators), training_layout(candidate)
    network = f" over {hardware.network}" if hardware.network else ""
    hosts = f"{count(hardware.hosts)}x {hardware.host}{network}"
    return (
        f"{evaluation.model} on {number}x {candidate.accelerator}, {layout} on {hosts}"
    )


def training_layout(candidate: TrainingCandidate) -> str:
    """Describe how a run is spread: ``TP8 x PP4 x DP64, micro-batch 1 ...``."""
    degrees = [
        f"{name}{degree}"
        for name, degree in (
            ("TP", candidate.tp),
            ("CP", candidate.cp),
            ("PP", candidate.pp),
            ("DP", candidate.dp),
            ("EP", candidate.ep),
        )
        if degree > 1
    ] or ["one accelerator"]
    parts = [" x ".join(degrees)]
    if candidate.vpp > 1:
        parts.append(f"{candidate.vpp} chunks a stage")
    if candidate.sequence_parallel:
        parts.append("sequence parallel")
    if candidate.context_parallel == "all-to-all":
        parts.append("all-to-all between context ranks")
    if candidate.shard != "none":
        groups = candidate.shard_group
        within = "" if groups is None else f" in groups of {groups}"
        parts.append(f"{candidate.shard}{within}")
    if candidate.mtp_modules:
        parts.append(f"{candidate.mtp_modules} MTP")
    if candidate.recompute != "none":
        parts.append(_recomputed(candidate.recompute))
    accumulated = candidate.micro_batches or 1
    many = f" x {count(accumulated)}" if accumulated > 1 else ""
    parts.append(f"micro-batch {count(candidate.batch)}{many}")
    parts.append(candidate.precision)
    return ", ".join(parts)


def _recomputed(recompute: str) -> str:
    """Say what forward does again."""
    kind, _, layers = recompute.partition(":")
    if kind == "layers":
        return f"{layers} layers of a stage recomputed"
    return f"{recompute} recomputation"


def speed_line(evaluation: TrainingEvaluation) -> str:
    """Say how fast a run is, and how well it uses the hardware."""
    if evaluation.step_seconds is None:
        return "cannot be laid out"
    parts = [f"{rate(evaluation.tokens_per_second)} tok/s"]
    if evaluation.mfu is not None:
        tflops = rate(evaluation.model_tflops_per_accelerator)
        parts.append(f"MFU {percent(evaluation.mfu)} ({tflops} TFLOP/s each)")
    if evaluation.goodput is not None:
        parts.append(f"goodput {percent(evaluation.goodput)}")
    if evaluation.days is not None:
        parts.append(f"{days(evaluation.days)} days")
    return "   ".join(parts)


def mixed_lines(mixed: Mixed | None) -> list[str]:
    """Say how a run is shared among kinds of accelerator, and what the other way is."""
    if mixed is None:
        return []
    other = mixed.other
    even = mixed.stages == "even"
    done = "dealt evenly, at the pace of the slowest" if even else "by speed"
    reasons = "; ".join(rejection.message for rejection in other.rejections)
    otherwise = "by speed" if even else "evenly, at the pace of the slowest"
    takes = reasons or f"{duration(other.step_seconds)} a step"
    lines = [
        *wrapped(f" Layers {done}   {otherwise}: {takes}", indent="", hanging="  ")
    ]
    for share in mixed.shares:
        what = f"{count(share.accelerators)}x {share.accelerator}"
        alone = f"{duration(share.step_seconds)} a step, were all of them such"
        stages = f"stages of {_runs(share.layers)} layers" if share.layers else ""
        lines.append(f"  {what:<22}  {alone}   {stages}".rstrip())
    return [*lines, ""]


def _runs(layers: Sequence[int]) -> str:
    """Write equal neighbours together: ``12 x 3, 11``."""
    parts = []
    for many, group in groupby(layers):
        repeated = len(list(group))
        parts.append(f"{many} x {repeated}" if repeated > 1 else f"{many}")
    return ", ".join(parts)


def step_and_memory(evaluation: TrainingEvaluation) -> list[str]:
    """Show where a step's time and an accelerator's memory go, side by side."""
    if evaluation.step_seconds is None:
        return []
    return beside(_step(evaluation), _memory(evaluation))


def _step(evaluation: TrainingEvaluation) -> list[str]:
    step = evaluation.step
    parts = {
        "forward": step.forward_seconds,
        "backward": step.backward_seconds,
        "recomputation": step.recompute_seconds,
        "tensor parallel": step.tensor_seconds,
        "context parallel": step.context_seconds,
        "experts": step.expert_seconds,
        "stages": step.pipeline_seconds,
        "data parallel": step.data_seconds,
        "offload": step.offload_seconds,
        "contention": step.contention_seconds,
        "host": step.host_seconds,
        "bubble": step.bubble_seconds,
        "optimizer": step.optimizer_seconds,
        "stragglers": step.straggler_seconds,
    }
    longest = max((each for each in parts.values() if each), default=0.0)
    lines = [f" Step              {duration(evaluation.step_seconds):>10}"]
    for name, seconds in parts.items():
        if seconds:
            bar = "#" * round(_BAR * seconds / longest)
            lines.append(f"  {name:<16} {duration(seconds):>10}  {bar}".rstrip())
    return lines


def _memory(evaluation: TrainingEvaluation) -> list[str]:
    memory = evaluation.memory
    if memory is None:
        return []
    total, capacity = memory.total_bytes, memory.capacity_bytes
    lines = [
        f" Memory per accelerator  {size(total)} of {size(capacity)} usable",
        f"  weights       {size(memory.weights_bytes):>12}",
        f"  gradients     {size(memory.gradients_bytes):>12}",
        f"  optimizer     {size(memory.optimizer_bytes):>12}",
        f"  activations   {size(memory.activations_bytes):>12}",
        f"  overhead      {size(memory.overhead_bytes):>12}",
    ]
    if memory.host_bytes:
        lines.append(f"  in the host   {size(memory.host_bytes):>12}")
    return lines


def run_lines(evaluation: TrainingEvaluation) -> list[str]:
    """Say what the whole run takes: hours, failures, energy, money, carbon."""
    run, failures = evaluation.run, evaluation.failures
    lines = []
    if run.accelerator_hours is not None:
        steps = f"{count(run.steps)} steps"
        productive = f"{count(run.productive_accelerator_hours)} of them productive"
        hours = f"{count(run.accelerator_hours)} accelerator-hours, {productive}"
        lines.append(f" Run   {days(evaluation.days)} days   {hours}   {steps}")
    if failures.interval_seconds is not None:
        every = duration(failures.checkpoint_interval_seconds)
        lines.append(
            f"       a failure every {duration(failures.interval_seconds)}"
            + (
                f" ({rate(failures.expected)} expected)"
                if failures.expected is not None
                else ""
            )
            + f", a checkpoint every {every}"
            f" ({size(failures.checkpoint_bytes)} in "
            f"{duration(failures.checkpoint_seconds)})"
        )
    if failures.hosts_away:
        spares = failures.spare_hosts or 0
        lines.append(
            f"       {rate(failures.hosts_away)} hosts away at any time, "
            f"{spares} spare: all there {percent(failures.availability)} of the time"
        )
    rented = evaluation.cost.price_usd == 0
    paid_for = "of rent" if rented else "of the cluster's life"
    parts = [
        f"{count(run.energy_kwh)} kWh" if run.energy_kwh is not None else "",
        f"{count(run.kg_co2e)} kg CO2e" if run.kg_co2e is not None else "",
        f"{money(run.usd and round(run.usd))} {paid_for}"
        if run.usd is not None
        else "",
        f"{watts(evaluation.power_watts)} at work"
        if evaluation.power_watts is not None
        else "",
    ]
    said = "   ".join(part for part in parts if part)
    return ["", *lines, *([f"       {said}"] if said else [])] if lines or said else []


def days(number: float | None) -> str:
    """Days, to three significant digits."""
    return rate(number)


def percent(share: float | None) -> str:
    """Write a share as per cent with one digit behind the point."""
    return UNKNOWN if share is None else f"{share:.1%}"


def duration(seconds: float | None) -> str:
    """Seconds in the unit that people would use."""
    if seconds is None:
        return UNKNOWN
    if seconds < 1:
        return f"{rate(seconds * 1e3)} ms"
    if seconds < 2 * _SECONDS_PER_MINUTE:
        return f"{rate(seconds)} s"
    if seconds < 2 * _SECONDS_PER_HOUR:
        return f"{rate(seconds / _SECONDS_PER_MINUTE)} min"
    return f"{rate(seconds / _SECONDS_PER_HOUR)} h"
