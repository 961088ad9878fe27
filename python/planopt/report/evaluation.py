"""One evaluated configuration on the screen, serving or training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.derivation import derivation
from planopt.report.numbers import count, milliseconds, size
from planopt.report.parts import (
    assumed,
    bill,
    cost,
    figures,
    latencies,
    layout,
    speed,
    speed_under,
    warnings,
)
from planopt.report.style import bad, good
from planopt.report.table import Report, Section, Sentence, listed
from planopt.report.training import (
    layers,
    run,
    training_figures,
    training_layout,
    training_speed,
)

if TYPE_CHECKING:
    from planopt.documents.evaluation import EvaluationDocument
    from planopt.documents.parts import Hardware
    from planopt.documents.training import TrainingDocument
    from planopt.report.table import Block


def render_evaluation(evaluation: EvaluationDocument | TrainingDocument) -> Report:
    """Lay an evaluation out for a terminal."""
    verdict = good("FITS") if evaluation.feasible else bad("DOES NOT FIT")
    running: list[str] = []
    if evaluation.kind == "training":
        what, fast = _trained(evaluation), training_speed(evaluation)
        does: list[Block] = [
            *layers(evaluation.mixed),
            *training_figures(evaluation),
            *run(evaluation),
        ]
    else:
        what = _served(evaluation)
        fast = speed_under(evaluation) or speed(evaluation, evaluation.replicas)
        load = evaluation.under_load
        if load is not None and load.overloaded:
            verdict = bad("OVERLOADED")
        does = [
            *figures(evaluation),
            *latencies(evaluation),
            *_prefill_pool(evaluation),
        ]
        running = cost(
            evaluation.cost,
            evaluation.power_watts,
        )
    return Report(
        Sentence(what, "", "  "),
        f"  {verdict}   {fast}",
        *listed(f"{bad(each.code)}: {each.message}" for each in evaluation.rejections),
        "",
        *does,
        Section("", bill(evaluation.bill_of_materials)),
        *running,
        assumed(evaluation.assumed),
        warnings(evaluation.warnings),
        Section("", *derivation(evaluation.derivation)),
    )


def _prefill_pool(evaluation: EvaluationDocument) -> list[Block]:
    """Say what the prefill pool is, where there is one."""
    pool, way = evaluation.prefill_pool, evaluation.transfer
    if pool is None or way is None:
        return []
    over = f"over {way.network}" if way.network else "inside of the host"
    seconds = pool.evaluation.prefill.seconds if pool.evaluation else None
    candidate = pool.candidate
    said = (
        f"Prompts are read by {pool.replicas}x {candidate.layout} of "
        f"{candidate.accelerator} in {pool.host}, {milliseconds(seconds)} each; their "
        f"cache of {size(way.bytes)} takes {milliseconds(way.seconds)} {over}. Its "
        "hardware is not in the bill."
    )
    return [Sentence(said, " ", "  ")]


def _served(evaluation: EvaluationDocument) -> str:
    under = f" under {evaluation.engine}" if evaluation.engine else ""
    candidate, hardware = evaluation.candidate, evaluation.hardware
    number = candidate.accelerators * evaluation.replicas
    parts = [f"{evaluation.model}{under}"] if evaluation.model else []
    parts.append(f"{number}x {candidate.accelerator}, {layout(candidate)}")
    if hardware.host is not None:
        parts.append(f"{hardware.hosts}x {hardware.host}{_over(hardware)}")
    return " on ".join(parts)


def _trained(evaluation: TrainingDocument) -> str:
    candidate, hardware = evaluation.candidate, evaluation.hardware
    number, spread = count(evaluation.accelerators), training_layout(candidate)
    hosts = f"{count(hardware.hosts)}x {hardware.host}{_over(hardware)}"
    return (
        f"{evaluation.model} on {number}x {candidate.accelerator}, {spread} on {hosts}"
    )


def _over(hardware: Hardware) -> str:
    return f" over {hardware.network}" if hardware.network else ""
