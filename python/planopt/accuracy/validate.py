"""``planopt validate``: reads measurements, predicts them, sums up the errors."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from planopt.accuracy.cells import check_cells
from planopt.accuracy.measurements import Comparison, Missing, read_table
from planopt.accuracy.sources.inference import INFERENCE
from planopt.accuracy.sources.microbench import MICROBENCH
from planopt.accuracy.sources.silicon import SILICON
from planopt.accuracy.statistics import statistics_of
from planopt.accuracy.training import TRAINING
from planopt.catalog.open import DEFAULT_ASSUMPTIONS, bundled_folder
from planopt.documents.validation import Dataset, Part, Statistics, Validation, Worst
from planopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from planopt.accuracy.measurements import Outcome, Schema, Standing, Table

__all__ = ["SCHEMAS", "bundled_measurements", "compare_rows", "validate"]

SCHEMAS: tuple[Schema, ...] = (TRAINING, SILICON, INFERENCE, MICROBENCH)
"""The kinds of file that can be validated."""

_WORST = 10


def bundled_measurements() -> list[Path]:
    """Return the files of measurements that planopt brings."""
    folder = bundled_folder() / "measurements"
    tables = (read_table(path) for path in sorted(folder.glob("*.csv")))
    return [table.path for table in tables if _schema_of(table) is not None]


def validate(
    *, data: Sequence[str] = (), assumptions: str = DEFAULT_ASSUMPTIONS
) -> Validation:
    """Predict published measurements and say how far the predictions are off.

    Parameters
    ----------
    data : sequence of str
        CSV files, each of a schema that its header tells; the bundled measurements
        where none is given.
    assumptions : str
        Assumptions by name or file.

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
    >>> errors.datasets[0].metrics["step_time"].median_ape
    0.05
    """
    paths = [Path(name) for name in data] or bundled_measurements()
    datasets = []
    for path in paths:
        outcomes = compare_rows(path, assumptions)
        datasets.append(_dataset(str(path) if data else path.name, outcomes))
    return Validation(datasets=tuple(datasets), assumptions=assumptions)


def compare_rows(path: Path, assumptions: str) -> list[Outcome]:
    """Return what became of every row of a file."""
    table = read_table(path)
    schema = _schema_of(table)
    if schema is None:
        raise InputError.of(
            "E007",
            "the header is that of no measurements planopt knows",
            field="--data",
            value=str(path),
            accepted="; ".join(
                f"{each.name} with {', '.join(sorted(each.columns))}"
                for each in SCHEMAS
            ),
        )
    check_cells(table, schema)
    return list(schema.predict(table.rows, assumptions))


def _schema_of(table: Table) -> Schema | None:
    columns = set(table.columns)
    return next((each for each in SCHEMAS if each.columns <= columns), None)


def _dataset(file: str, outcomes: Iterable[Outcome]) -> Dataset:
    compared = [each for each in outcomes if isinstance(each, Comparison)]
    missing = [each for each in outcomes if isinstance(each, Missing)]
    unpredicted = Counter(metric for each in missing for metric in each.metrics)
    counted = [each for each in compared if each.standing == "counted"]
    metrics = sorted({each.metric for each in counted} | set(unpredicted))
    worst = sorted(counted, key=lambda each: -abs(each.error))[:_WORST]
    return Dataset(
        file=file,
        metrics={
            metric: statistics_of(
                (each for each in counted if each.metric == metric),
                missing=unpredicted[metric],
            )
            for metric in metrics
        },
        skipped=dict(Counter(each.reason for each in missing).most_common()),
        searched=_by_metric(compared, "searched"),
        outside=_by_metric(compared, "outside"),
        parts=_parts(counted),
        worst=tuple(Worst.of(each) for each in worst),
        comparisons=tuple(compared),
    )


def _by_metric(
    compared: Iterable[Comparison], standing: Standing
) -> dict[str, Statistics]:
    kept = [each for each in compared if each.standing == standing]
    return {
        metric: statistics_of(each for each in kept if each.metric == metric)
        for metric in sorted({each.metric for each in kept})
    }


def _parts(counted: Iterable[Comparison]) -> tuple[Part, ...]:
    """Sum errors up by metric, accelerator, model and engine."""
    groups: dict[tuple[str, str, str, str], list[Comparison]] = {}
    for each in counted:
        key = (each.metric, each.accelerator, each.model, each.engine)
        groups.setdefault(key, []).append(each)
    return tuple(
        Part(
            metric=metric,
            accelerator=accelerator,
            model=model,
            engine=engine,
            errors=statistics_of(members),
        )
        for (metric, accelerator, model, engine), members in sorted(groups.items())
    )
