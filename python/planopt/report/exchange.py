"""What somebody runs, on the screen: what was understood, and what comes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.evaluation import render_evaluation
from planopt.report.numbers import count, rate
from planopt.report.style import head
from planopt.report.table import Report, Sentence, Table, laid

if TYPE_CHECKING:
    from planopt.documents.exchange import ImportDocument
    from planopt.report.table import Block

MOST_SHOWN = 12
"""Accelerators in the table; `--details` and `--json` have all."""


def render_import(found: ImportDocument, *, details: bool = False) -> Report:
    """Lay out what was understood, the evaluation, and other hardware."""
    understood = [each for each in found.flags if each.term is not None]
    harmless = [each.flag or "" for each in found.flags if each.term is None]
    told = " ".join(
        f"--{name.replace('_', '-')} {each}" for name, each in found.options.items()
    )
    first: list[Block] = [
        head(f"{found.model}, as flags of {found.tool} {found.version} say it"),
        Sentence(f"{len(understood)} flags understood: {told}"),
    ]
    if harmless:
        first.append(Sentence(f"no matter: {' '.join(harmless)}"))
    if found.sequences:
        first.append(
            Sentence(f"{count(found.sequences)} sequences of full context fit")
        )
    first += [Sentence(f"! {each}") for each in found.remarks]
    evaluation = found.serving or found.training
    whole: list[Block] = [*first, ""]
    if evaluation is not None:
        whole += laid_lines(render_evaluation(evaluation, details=details))
    if found.better is not None:
        other = found.better
        whole += [
            "",
            Sentence(
                f"better on the same accelerators: {other.replicas} x {other.layout}, "
                f"batch {other.batch}, {rate(other.tokens_per_second)} tok/s"
            ),
        ]
    if found.elsewhere:
        whole += ["", *_elsewhere(found, details=details)]
    return Report(*whole)


def laid_lines(report: Report) -> list[Block]:
    """Put a report into another one."""
    return [*laid([str(report)])]


def _elsewhere(found: ImportDocument, *, details: bool) -> list[Block]:
    fit = [each for each in found.elsewhere if each.fits]
    shown = found.elsewhere if details else found.elsewhere[:MOST_SHOWN]
    rows = [
        (
            each.accelerator,
            "fits" if each.fits else "does not",
            count(each.sequences) if each.sequences else "",
            rate(each.tokens_per_second) if each.tokens_per_second else "",
            each.why_not or "",
        )
        for each in shown
    ]
    left = len(found.elsewhere) - len(shown)
    return [
        head(f"fits on {len(fit)} of {len(found.elsewhere)} accelerators"),
        Table(("accelerator", "", "sequences", "tok/s", "why not"), rows),
        *([Sentence(f"{left} more: --details")] if left else []),
    ]
