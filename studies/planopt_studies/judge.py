"""What predictions are worth, beside thresholds.

Step times and serving figures are those of rows left out (`planopt_studies.left_out`,
`planopt_studies.residuals`); coverage, memory and runs that are said not to fit are
predicted anew with the assumptions in use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from planopt.accuracy.columns import read_rows
from planopt.accuracy.statistics import statistics_of
from planopt.accuracy.training import TrainingRow, comparisons, predictions
from planopt.catalog.open import DEFAULT_ASSUMPTIONS, bundled_folder
from planopt.documents.validation import Missing
from planopt_studies.documents import Fitting, Judged
from planopt_studies.left_out import SINGLE_NODE, folds
from planopt_studies.residuals import residuals, serving_judged

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from planopt.accuracy.training import Prediction
    from planopt.documents.validation import Statistics

__all__ = ["judge"]


def judge(*, assumptions: str = DEFAULT_ASSUMPTIONS) -> Judged:
    """Judge the predictions of the training runs that planopt brings."""
    path = bundled_folder() / "measurements" / "training.csv"
    rows = read_rows(path, (TrainingRow,))
    judgements = serving_judged()
    outcomes = list(predictions(rows, assumptions))
    missing = [each for each in outcomes if isinstance(each, Missing)]
    predicted = [each for each in outcomes if not isinstance(each, Missing)]
    counted = [
        each
        for each in predicted
        if not each.searched and each.row.standing == "counted"
    ]
    uncovered: dict[str, int] = {}
    for each in missing:
        if "step_time" in each.metrics:
            uncovered[each.reason] = uncovered.get(each.reason, 0) + 1
    return Judged(
        folds=folds(),
        single_node=next(
            (each for each in residuals() if each.of == SINGLE_NODE), None
        ),
        step_time=_statistics(counted, "step_time", sum(uncovered.values())),
        memory=_statistics(counted, "memory", 0),
        fitting=_fitting(counted, rows, assumptions),
        uncovered=uncovered,
        serving=tuple(each for each in residuals() if each.metric in judgements),
        serving_judged=judgements,
    )


def _statistics(counted: Iterable[Prediction], metric: str, missing: int) -> Statistics:
    compared = (
        pair for each in counted for pair in comparisons(each) if pair.metric == metric
    )
    return statistics_of(compared, missing=missing)


def _fitting(
    ran: Sequence[Prediction], rows: Sequence[TrainingRow], assumptions: str
) -> Fitting:
    failed = [
        structs.replace(row, ran_out_of_memory=False)
        for row in rows
        if row.ran_out_of_memory
    ]
    asked = [
        each
        for each in predictions(failed, assumptions)
        if not isinstance(each, Missing)
    ]
    return Fitting(
        ran=len(ran),
        said_not_to_fit=sum(map(_lacks_memory, ran)),
        failed=len(asked),
        said_to_fail=sum(map(_lacks_memory, asked)),
    )


def _lacks_memory(prediction: Prediction) -> bool:
    """Whether the run is said not to fit."""
    return prediction.memory.total_bytes > prediction.memory.capacity_bytes
