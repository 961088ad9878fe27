"""The parts of a training run that serving lacks: its layout, step and whole run."""

from collections.abc import Sequence
from itertools import groupby

from planopt.documents.training import Mixed, TrainingCandidate, TrainingEvaluation
from planopt.report.money import money
from planopt.report.numbers import count, duration, percent, rate, size
from planopt.report.parts import causes, memory_line, time_line
from planopt.report.screen import Parts
from planopt.report.table import Block, Sentence


def training_layout(candidate: TrainingCandidate) -> str:
    """Describe how a run is spread: ``TP8 x PP4 x DP64, micro-batch 1 ...``."""
    parts = [candidate.layout]
    if candidate.vpp > 1:
        parts.append(f"interleaved (VPP {candidate.vpp})")
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
    parts += [f"micro-batch {count(candidate.batch)}{many}", candidate.precision]
    return ", ".join(parts)


def _recomputed(recompute: str) -> str:
    """Say what forward does again."""
    kind, _, layers = recompute.partition(":")
    if kind == "layers":
        return f"{layers} layers of a stage recomputed"
    return f"{recompute} recomputation"


def run_lines(evaluation: TrainingEvaluation, *, rough: bool) -> list[Block]:
    """Say in four lines how fast a run is, where time and memory go, what it takes."""
    of, expected = evaluation.run, evaluation.failures.expected
    used = f"MFU {percent(evaluation.mfu)}"
    used += f" ({rate(evaluation.model_tflops_per_accelerator)} TFLOP/s each)"
    fast = f"{rate(evaluation.tokens_per_second)} tok/s"
    useful = f"goodput {percent(evaluation.goodput)}"
    for_ = "of rent" if evaluation.cost.price_usd == 0 else "of the cluster's life"
    paid = f"{money(of.usd, rough=rough, whole=True)} {for_}"
    whole = [
        (of.usd, paid),
        (of.accelerator_hours, f"{count(of.accelerator_hours)} accelerator-hours"),
        (of.energy_kwh, f"{rate((of.energy_kwh or 0.0) / 1e3)} MWh"),
        (expected, f"{rate(expected)} failures to expect"),
    ]
    return [
        Parts("Speed", [fast, used, useful] if evaluation.step_seconds else []),
        time_line("Step", evaluation.step_seconds, causes(evaluation.step)),
        memory_line(evaluation.memory),
        Parts("Run", [said for figure, said in whole if figure is not None]),
    ]


def layers(mixed: Mixed | None) -> list[Block]:
    """Say how a run is shared among kinds of accelerator, and what the other way is."""
    if mixed is None:
        return []
    pace = "evenly, at the pace of the slowest"
    done, otherwise = "by speed", pace
    if mixed.stages == "even":
        done, otherwise = f"partitioned {pace}", "by speed"
    reasons = "; ".join(rejection.message for rejection in mixed.other.rejections)
    takes = reasons or f"{duration(mixed.other.step_seconds)} a step"
    blocks: list[Block] = [Sentence(f" Layers {done}   {otherwise}: {takes}", "", "  ")]
    for share in mixed.shares:
        what = f"{count(share.accelerators)}x {share.accelerator}"
        alone = f"{duration(share.step_seconds)} a step, were all of them such"
        stages = f"stages of {_runs(share.layers)} layers" if share.layers else ""
        blocks.append(f"  {what:<22}  {alone}   {stages}".rstrip())
    return [*blocks, ""]


def _runs(layers: Sequence[int]) -> str:
    """Write equal neighbours together: ``12 x 3, 11``."""
    runs = ((many, len(list(group))) for many, group in groupby(layers))
    return ", ".join(f"{many}{f' x {times}' * (times > 1)}" for many, times in runs)


def work(evaluation: TrainingEvaluation) -> list[Block]:
    """Say what the lines of a run leave out: steps, carbon, failures, spare hosts."""
    of, failures = evaluation.run, evaluation.failures
    useful = of.productive_accelerator_hours
    done = [
        (of.steps, f"{count(of.steps)} steps"),
        (useful, f"{count(useful)} accelerator-hours productive"),
        (of.energy_kwh, f"{count(of.energy_kwh)} kWh"),
        (of.kg_co2e, f"{count(of.kg_co2e)} kg CO2e"),
    ]
    failing = [
        f"one every {duration(failures.interval_seconds)}",
        f"a checkpoint every {duration(failures.checkpoint_interval_seconds)}",
        f"{size(failures.checkpoint_bytes)} of it in "
        f"{duration(failures.checkpoint_seconds)}",
    ]
    away = [
        f"{rate(failures.hosts_away)} hosts at any time",
        f"{failures.spare_hosts or 0} spare",
        f"all there {percent(failures.availability)} of the time",
    ]
    lines = (
        Parts("Work", [said for figure, said in done if figure is not None]),
        Parts("Failures", failing if failures.interval_seconds is not None else []),
        Parts("Away", away if failures.hosts_away else []),
    )
    return [line.whole() for line in lines if line.parts]
