"""One evaluated configuration on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.derivation import derivation_lines
from planopt.report.numbers import milliseconds, size
from planopt.report.parts import (
    assumed_lines,
    bill_lines,
    cost_line,
    figure_lines,
    latency_lines,
    layout,
    section,
    speed,
    warning_lines,
)
from planopt.report.style import PLAIN, Style
from planopt.report.table import wrapped

if TYPE_CHECKING:
    from planopt.documents.evaluation import EvaluationDocument

__all__ = ["render_evaluation"]


def render_evaluation(evaluation: EvaluationDocument, *, style: Style = PLAIN) -> str:
    """Lay an evaluation out for a terminal."""
    verdict = style.good("FITS") if evaluation.feasible else style.bad("DOES NOT FIT")
    warnings = warning_lines(evaluation.warnings, style)
    bill = bill_lines(evaluation.bill_of_materials, style)
    return "\n".join(
        [
            *wrapped(_what(evaluation), indent="", hanging="  "),
            f"  {verdict}   {speed(evaluation, evaluation.replicas)}",
            *_rejections(evaluation, style),
            "",
            *figure_lines(evaluation),
            *latency_lines(evaluation),
            *_prefill_pool(evaluation),
            *(["", *bill] if bill else []),
            *cost_line(evaluation.cost, evaluation.power_watts),
            *section("Assumed", assumed_lines(evaluation.assumed), style),
            *([""] if warnings else []),
            *warnings,
            *derivation_lines(evaluation.derivation, style),
        ]
    )


def _prefill_pool(evaluation: EvaluationDocument) -> list[str]:
    """Say what reads the prompts, where that is a pool of its own."""
    pool, way = evaluation.prefill_pool, evaluation.transfer
    if pool is None or way is None:
        return []
    over = f"over {way.network}" if way.network else "inside of the host"
    seconds = pool.evaluation.prefill.seconds if pool.evaluation else None
    candidate = pool.candidate
    return wrapped(
        f"Prompts are read by {pool.replicas}x {candidate.layout} of "
        f"{candidate.accelerator} in {pool.host}, {milliseconds(seconds)} each; their "
        f"cache of {size(way.bytes)} takes {milliseconds(way.seconds)} {over}. Its "
        "hardware is not in the bill.",
        indent=" ",
        hanging="  ",
    )


def _what(evaluation: EvaluationDocument) -> str:
    under = f" under {evaluation.engine}" if evaluation.engine else ""
    parts = [f"{evaluation.model}{under}"] if evaluation.model else []
    if evaluation.candidate is not None:
        candidate = evaluation.candidate
        number = candidate.accelerators * evaluation.replicas
        parts.append(f"{number}x {candidate.accelerator}, {layout(candidate)}")
    hardware = evaluation.hardware
    if hardware is not None and hardware.host is not None:
        network = f" over {hardware.network}" if hardware.network else ""
        parts.append(f"{hardware.hosts}x {hardware.host}{network}")
    return " on ".join(parts) or "Evaluation"


def _rejections(evaluation: EvaluationDocument, style: Style) -> list[str]:
    return [
        line
        for rejection in evaluation.rejections
        for line in wrapped(
            f"{style.bad(rejection.code)}: {rejection.message}", hanging="    "
        )
    ]
