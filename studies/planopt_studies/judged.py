"""What predictions of rows left out are worth, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.numbers import percent
from planopt.report.style import UNKNOWN, head
from planopt.report.table import Report, Table
from planopt_studies.left_out import SINGLE_NODE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planopt_studies.documents import Errors, Judged, Judgement

__all__ = ["render_judged"]


def render_judged(judged: Judged) -> Report:
    """Lay out errors in folds, by source, choices, intervals, memory and coverage."""
    found = judged.folds
    return Report(
        head("step time, groups of source x accelerator x model left out"),
        _errors(found.in_folds),
        "",
        head(
            "step time, whole sources left out (no threshold; the fits have gone "
            "four rounds from the priors)"
        ),
        _errors(found.without_source),
        "",
        *_facts(judged),
        "",
        head("serving, groups of source x accelerator x model left out"),
        _serving(judged),
    )


def _facts(judged: Judged) -> list[str]:
    found, fitting = judged.folds, judged.fitting
    steps, memory = judged.step_time, judged.memory
    grid = judged.single_node
    inside, width, score, one, tenths = _intervals(found.judged)
    return [
        f"{SINGLE_NODE}: {grid.rows} rows, median {grid.median_ape:.1%}, "
        f"MAPE {grid.mape:.1%} (on file: the rows do not come along)"
        if grid
        else f"{SINGLE_NODE}: not fitted",
        f"rows: {found.rows}, exact repeats counted once: {found.counted}",
        f"choice: the layout ranked first is {found.choices.regret:.1%} slower than "
        f"the best measured one in the mean of {found.choices.groups} groups "
        f"(best one found in {found.choices.best_found:.0%})",
        f"80 % intervals cover {inside} of the rows left out, {width} wide; interval "
        f"score {score} ({one} of one width for each class), tenths {tenths} %",
        f"coverage: {steps.n} of {steps.n_total} rows with a full layout "
        f"({steps.n / max(steps.n_total, 1):.1%})",
        *(f"  {many} x {reason}" for reason, many in judged.uncovered.items()),
        f"memory: {memory.n} rows, MAPE {percent(memory.mape)}, "
        f"median {percent(memory.median_ape)}, bias {percent(memory.bias)}",
        f"out of memory: {fitting.said_not_to_fit} of {fitting.ran} runs that ran "
        f"({fitting.said_not_to_fit / max(fitting.ran, 1):.1%}) predicted so, and "
        f"{fitting.said_to_fail} of {fitting.failed} that failed",
    ]


def _serving(judged: Judged) -> Table:
    rows = [
        (
            each.metric,
            each.of,
            str(each.rows),
            percent(each.median_ape),
            percent(each.mape),
            *_intervals(judged.serving_judged[each.metric]),
        )
        for each in judged.serving
        if each.of == "all"
    ]
    of_intervals = (">in 80 %", ">width", ">score", ">of one width", ">tenths, %")
    columns = ("figure", "class", ">n", ">median", ">MAPE", *of_intervals)
    return Table(columns, rows)


def _intervals(found: Judgement) -> tuple[str, ...]:
    return (
        percent(found.inside),
        f"±{percent(found.width)}",
        f"{found.score:.2f}",
        f"{found.constant_score:.2f}",
        " ".join(f"{100 * each / found.n:.0f}" for each in found.pit),
    )


def _errors(classes: Iterable[Errors]) -> Table:
    rows = [
        (
            each.of,
            str(each.n),
            percent(each.median_ape),
            percent(each.mape),
            percent(each.bias),
            UNKNOWN if each.spearman is None else f"{each.spearman:.2f}",
        )
        for each in classes
    ]
    return Table(("class", ">n", ">median", ">MAPE", ">bias", ">ranks"), rows)
