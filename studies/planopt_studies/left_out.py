"""What predictions of rows are worth that the fit had not seen.

``measurements/training-left-out.csv`` has, for every measured step with a full layout,
what was predicted by a fit that had not seen the row's group of source, accelerator and
model (five seeded folds), and by one that had not seen its source at all. Here these
are judged: errors by class, layouts chosen, and what intervals cover.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from planopt.accuracy.statistics import spearman_rho
from planopt.catalog.open import bundled_folder
from planopt_studies.documents import Choices, Errors, Folds, Judgement
from planopt_studies.intervals import EVERYTHING, Unseen, judged_by_others

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = [
    "COLUMNS",
    "SINGLE_NODE",
    "LeftOut",
    "errors_by_class",
    "folds",
    "judged",
    "read_left_out",
    "regrets",
    "unseen",
]

COLUMNS = (
    "row",
    "fold",
    "source",
    "model",
    "accelerator",
    "classes",
    "repeats",
    "choice",
    "layout",
    "measured",
    "in_folds",
    "without_source",
    "fitted",
)
_GRID = "vTrain"
"""The source of the grid of single hosts, which has a threshold of its own."""
SINGLE_NODE = "single node (vTrain)"


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A measured step and what fits predicted that had not seen it."""

    row: str
    fold: int
    source: str
    model: str
    accelerator: str
    classes: tuple[str, ...]
    """Accelerator and kind of model, family and kind of model."""
    repeats: str
    """The same for exact repeats, which count once."""
    choice: str
    """The same for layouts of one model on the same hardware."""
    layout: str
    measured: float
    """Seconds of a sequence."""
    in_folds: float
    without_source: float
    fitted: bool
    """Whether other folds fitted to it: of large grids a part is."""

    @property
    def of_grid(self) -> bool:
        """Whether it is of the grid of single hosts, whose rows do not come along."""
        return self.source.startswith(_GRID)

    @property
    def classes_judged(self) -> tuple[str, ...]:
        """Classes that thresholds are of: the single-host grid is one of its own."""
        if self.of_grid:
            return (SINGLE_NODE,)
        kind = self.classes[0].rpartition(" ")[2]
        return (*self.classes, f"all {kind}")


def read_left_out(path: Path | None = None) -> list[LeftOut]:
    """Read the predictions of left-out rows; the bundled ones by default."""
    path = path or bundled_folder() / "measurements" / "training-left-out.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return [_left_out(row) for row in csv.DictReader(file)]


def _left_out(row: Mapping[str, str]) -> LeftOut:
    return LeftOut(
        row=row["row"],
        fold=int(row["fold"]),
        source=row["source"],
        model=row["model"],
        accelerator=row["accelerator"],
        classes=tuple(row["classes"].split("; ")),
        repeats=row["repeats"],
        choice=row["choice"],
        layout=row["layout"],
        measured=float(row["measured"]),
        in_folds=float(row["in_folds"]),
        without_source=float(row["without_source"]),
        fitted=row["fitted"] == "1",
    )


def folds(rows: Sequence[LeftOut] | None = None) -> Folds:
    """Judge the predictions of left-out rows; of the bundled ones by default."""
    every = read_left_out() if rows is None else rows
    once = without_repeats(every)
    return Folds(
        rows=len(every),
        counted=len(once),
        in_folds=tuple(errors_by_class(once, lambda row: row.in_folds)),
        without_source=tuple(errors_by_class(once, lambda row: row.without_source)),
        choices=regrets(every),
        judged=judged([row for row in once if row.fitted]),
    )


def without_repeats(rows: Iterable[LeftOut]) -> list[LeftOut]:
    """Keep one row of those that repeat each other."""
    return list({row.repeats: row for row in rows}.values())


def errors_by_class(
    rows: Iterable[LeftOut], predicted: Callable[[LeftOut], float]
) -> list[Errors]:
    """Sum up the errors of step times by class."""
    members: dict[str, list[LeftOut]] = {}
    for row in rows:
        for name in row.classes_judged:
            members.setdefault(name, []).append(row)
    return [_errors(name, own, predicted) for name, own in sorted(members.items())]


def _errors(
    name: str, rows: Sequence[LeftOut], predicted: Callable[[LeftOut], float]
) -> Errors:
    errors = [predicted(row) / row.measured - 1 for row in rows]
    return Errors(
        of=name,
        n=len(rows),
        median_ape=median(map(abs, errors)),
        mape=fmean(map(abs, errors)),
        bias=fmean(errors),
        spearman=spearman_rho(
            [predicted(row) for row in rows], [row.measured for row in rows]
        ),
    )


def regrets(rows: Iterable[LeftOut]) -> Choices:
    """Compare the layout ranked first with the best one measured, group by group.

    A layout that was measured several times stands with the mean of its step times.
    """
    groups: dict[str, dict[str, list[LeftOut]]] = {}
    for row in rows:
        layouts = groups.setdefault(row.choice, {})
        layouts.setdefault(row.layout, []).append(row)
    lost = []
    for layouts in groups.values():
        if len(layouts) > 1:
            times = [
                (fmean(row.in_folds for row in own), fmean(row.measured for row in own))
                for own in layouts.values()
            ]
            best = min(measured for _, measured in times)
            lost.append(min(times)[1] / best - 1)
    return Choices(
        groups=len(lost),
        regret=fmean(lost) if lost else 0.0,
        median_regret=median(lost) if lost else 0.0,
        best_found=fmean(each == 0.0 for each in lost) if lost else 1.0,
    )


def unseen(row: LeftOut) -> Unseen:
    """Return the error of a row left out, with what it counts in."""
    return Unseen(
        metric="step_time",
        classes=(*row.classes, EVERYTHING),
        ratio=row.measured / row.in_folds,
        fold=row.fold,
        group=(row.source, row.accelerator, row.model),
    )


def judged(rows: Iterable[LeftOut]) -> Judgement:
    """Say how rows lie in intervals made of the other folds alone."""
    return judged_by_others(map(unseen, rows))["step_time"]
