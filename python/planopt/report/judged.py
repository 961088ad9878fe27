"""What predictions of rows left out are worth, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.intervals import ANY_ENGINE
from planopt.report.style import PLAIN, Style
from planopt.report.table import table
from planopt.validation.folds import SINGLE_NODE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planopt.documents.validation import Errors, Judged

__all__ = ["render_judged"]

# Classes of fewer rows are not shown.
_LEAST_ROWS = 5
_HEADER = ("class", "n", "median", "MAPE", "bias", "ranks")


def render_judged(judged: Judged, *, style: Style = PLAIN) -> str:
    """Lay out errors in folds, by source, choices, intervals, memory and coverage."""
    found, fitting = judged.folds, judged.fitting
    steps, memory = judged.step_time, judged.memory
    grid = judged.single_node
    facts = [
        f"{SINGLE_NODE}: {grid.rows} rows, median {grid.median_ape:.1%}, "
        f"MAPE {grid.mape:.1%} (on file: the rows do not come along)"
        if grid
        else f"{SINGLE_NODE}: not fitted",
        f"rows: {found.rows}, exact repeats counted once: {found.counted}",
        f"choice: the layout ranked first is {found.choices.regret:.1%} slower than "
        f"the best measured one in the mean of {found.choices.groups} groups "
        f"(best one found in {found.choices.best_found:.0%})",
        f"80 % intervals cover {found.covered:.1%} of the rows left out",
        f"coverage: {steps.n} of {steps.n_total} rows with a full layout "
        f"({steps.n / max(steps.n_total, 1):.1%})",
        *(f"  {many} x {reason}" for reason, many in judged.uncovered.items()),
        f"memory: {memory.n} rows, MAPE {_share(memory.mape)}, "
        f"median {_share(memory.median_ape)}, bias {_share(memory.bias)}",
        f"out of memory: {fitting.said_not_to_fit} of {fitting.ran} runs that ran "
        f"({fitting.said_not_to_fit / max(fitting.ran, 1):.1%}) predicted so, and "
        f"{fitting.said_to_fail} of {fitting.failed} that failed",
    ]
    return "\n".join(
        (
            style.head("step time, groups of source x accelerator x model left out"),
            *_errors(found.in_folds, style),
            "",
            style.head(
                "step time, whole sources left out (no threshold; the fits have gone "
                "six rounds from the priors)"
            ),
            *_errors(found.without_source, style),
            "",
            *facts,
            "",
            style.head("serving, groups of source x accelerator x model left out"),
            *_serving(judged, style),
        )
    )


def _serving(judged: Judged, style: Style) -> list[str]:
    rows = [
        (
            each.metric,
            each.of,
            str(each.rows),
            _share(each.median_ape),
            _share(each.mape),
            _share(judged.serving_covered[each.metric]) if each.of == "all" else "",
        )
        for each in judged.serving
        if each.rows >= _LEAST_ROWS and not each.of.endswith(ANY_ENGINE)
    ]
    header = ("figure", "class", "n", "median", "MAPE", "in 80 %")
    return table(header, rows, "<<>>>>", style=style)


def _errors(classes: Iterable[Errors], style: Style) -> list[str]:
    rows = [
        (
            each.of,
            str(each.n),
            _share(each.median_ape),
            _share(each.mape),
            _share(each.bias),
            "-" if each.spearman is None else f"{each.spearman:.2f}",
        )
        for each in classes
    ]
    return table(_HEADER, rows, "<>>>>>", style=style)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
