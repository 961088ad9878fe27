"""``planopt validate``: reads measurements, predicts them, sums up the errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from planopt.accuracy.collectives import CollectiveRow, predict_collectives
from planopt.accuracy.columns import read_rows
from planopt.accuracy.serving import catalog_of, engines_of, known_models
from planopt.accuracy.serving_rows import ServingRow, predict_serving
from planopt.accuracy.statistics import Errors, calibration, errors, statistics_of
from planopt.accuracy.training import TrainingRow, predict_training
from planopt.catalog.open import DEFAULT_ASSUMPTIONS, bundled_folder
from planopt.documents.validation import (
    Calibration,
    Comparison,
    Dataset,
    Missing,
    Outcome,
    Part,
    Standing,
    Statistics,
    Validation,
    Worst,
)
from planopt.steps import Step, Steps

Measured = TrainingRow | ServingRow | CollectiveRow

KINDS: tuple[type[Measured], ...] = (TrainingRow, ServingRow, CollectiveRow)
"""The kinds of row that can be validated."""
BUNDLED = ("inference.csv", "microbench.csv", "training.csv")

_WORST = 10
_ENGINELESS = ("step_time",)
"""Metrics of runs that no serving engine makes."""


def bundled_measurements() -> list[Path]:
    """Return the files of measurements that planopt brings."""
    folder = bundled_folder() / "measurements"
    return [folder / name for name in BUNDLED]


def validate(
    *,
    data: Sequence[str] = (),
    assumptions: str = DEFAULT_ASSUMPTIONS,
    on_progress: Callable[[Step], object] | None = None,
) -> Validation:
    """Predict published measurements and say how far the predictions are off.

    Parameters
    ----------
    data : sequence of str
        CSV files, each of a schema that its header tells; the bundled measurements
        where none is given.
    assumptions : str
        Assumptions by name or file.
    on_progress : callable, optional
        Told how many rows of how many are done.

    Returns
    -------
    Validation
        Errors by file and metric, rows without a prediction by reason.

    Raises
    ------
    InputError
        E006 for a file that cannot be read, E007 for a header of no known schema.

    Examples
    --------
    >>> import planopt
    >>> errors = planopt.validate()
    >>> errors.datasets[0].metrics["decode"].median_ape < 0.1
    True
    """
    steps = Steps(on_progress, "predicting what was measured")
    paths = [Path(name) for name in data] or bundled_measurements()
    files = [(path, read_rows(path, KINDS)) for path in paths]
    of, done, datasets = sum(len(rows) for _, rows in files), set(), []
    for path, rows in files:
        name, outcomes = str(path) if data else path.name, []
        for each in predict(rows, assumptions):
            outcomes.append(each)
            done.add((path, each.row))
            steps.far("rows", len(done), of, None)
        datasets.append(_dataset(name, outcomes, assumptions))
    return Validation(datasets=tuple(datasets), assumptions=assumptions)


def predict(rows: Sequence[Measured], assumptions: str) -> Iterator[Outcome]:
    """Predict rows of any kind, those of one kind together."""
    yield from predict_training(
        [row for row in rows if isinstance(row, TrainingRow)], assumptions
    )
    yield from predict_serving(
        [row for row in rows if isinstance(row, ServingRow)], assumptions
    )
    yield from predict_collectives(
        [row for row in rows if isinstance(row, CollectiveRow)], assumptions
    )


def _dataset(file: str, outcomes: Sequence[Outcome], assumptions: str) -> Dataset:
    compared = [each for each in outcomes if isinstance(each, Comparison)]
    missing = [each for each in outcomes if isinstance(each, Missing)]
    unpredicted = Counter(metric for each in missing for metric in each.metrics)
    counted = [each for each in compared if each.standing == "counted"]
    worst = sorted(counted, key=lambda each: -abs(each.error))[:_WORST]
    return Dataset(
        file=file,
        metrics=_by_metric(compared, "counted", unpredicted),
        skipped=dict(Counter(each.reason for each in missing).most_common()),
        searched=_by_metric(compared, "searched", Counter()),
        outside=_by_metric(compared, "outside", Counter()),
        calibration=_calibration(counted, assumptions),
        parts=_parts(counted),
        worst=tuple(Worst.of(each) for each in worst),
        comparisons=tuple(compared),
    )


def _by_metric(
    compared: Iterable[Comparison], standing: Standing, missing: Counter[str]
) -> dict[str, Statistics]:
    kept = [each for each in compared if each.standing == standing]
    return {
        metric: statistics_of(
            (each for each in kept if each.metric == metric), missing=missing[metric]
        )
        for metric in sorted({each.metric for each in kept} | missing.keys())
    }


def _calibration(
    counted: Iterable[Comparison], assumptions: str
) -> tuple[Calibration, ...]:
    """Say by metric and class how figures lie in the intervals of the class."""
    if assumptions != DEFAULT_ASSUMPTIONS:
        return ()  # intervals are of what the fitted ones predict
    engines = engines_of(assumptions)
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for each in counted:
        engine = each.engine if each.engine in engines else None
        known = _intervals(each.accelerator, each.model, each.metric, engine)
        if known is not None:
            figure = (each.measured / each.predicted, known.low, known.high)
            found.setdefault((each.metric, known.of), []).append(figure)
    return tuple(calibration(*of, own) for of, own in sorted(found.items()))


@cache
def _intervals(
    accelerator: str, model: str, metric: str, engine: str | None
) -> Errors | None:
    if model not in known_models(DEFAULT_ASSUMPTIONS):
        return None
    catalog = catalog_of(DEFAULT_ASSUMPTIONS)
    any_engine = engine is None and metric not in _ENGINELESS
    found = errors(catalog, accelerator, model, [metric], any_engine=any_engine)
    return found.get(metric)


def _parts(counted: Iterable[Comparison]) -> tuple[Part, ...]:
    """Sum errors up by metric, accelerator, model and engine."""
    names = ("metric", "accelerator", "model", "engine")
    key = attrgetter(*names)
    return tuple(
        Part(**dict(zip(names, of, strict=True)), errors=statistics_of(members))
        for of, members in groupby(sorted(counted, key=key), key)
    )
