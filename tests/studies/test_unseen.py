"""Rows that a fit must not have seen: their figures do not reach their predictions."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from planopt.accuracy.training import TrainingRow
from planopt_studies.fits.unseen import PREDICTED, SAME_RUNS, predict_unseen
from planopt_studies.prepare.__main__ import as_csv, prepare

if TYPE_CHECKING:
    from pathlib import Path

SHAPE = ("layers", "hidden", "n_accelerators", "global_batch", "accelerator")


def rows_of(shared: Path) -> list[dict[str, str]]:
    with (shared / "validation" / "training.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def told_otherwise(row: TrainingRow, factor: float) -> TrainingRow:
    """Return a row of the same runs with other figures."""
    if row.source not in SAME_RUNS:
        return row
    return structs.replace(
        row,
        step_seconds=row.step_seconds and row.step_seconds * factor,
        mfu=row.mfu and row.mfu * factor,
    )


@pytest.mark.shared
def test_every_row_of_the_same_runs_is_left_out(shared: Path) -> None:
    rows = rows_of(shared)
    asked = {
        tuple(row[each] for each in SHAPE) for row in rows if row["source"] == PREDICTED
    }
    alike = {
        row["source"] for row in rows if tuple(row[each] for each in SHAPE) in asked
    }

    assert len(asked) == 4
    assert alike <= SAME_RUNS
    assert {row["source"] for row in rows} >= SAME_RUNS


@pytest.mark.shared
def test_what_was_measured_of_them_changes_no_prediction(
    shared: Path, tmp_path: Path
) -> None:
    rows, _ = prepare(shared / "validation" / "training.csv")
    few = [
        row
        for row in rows
        if isinstance(row, TrainingRow)
        and row.source in {*SAME_RUNS, "megatron-lm:sc21-table1"}
    ]
    found = []
    for factor in (1.0, 2.0):
        path = tmp_path / f"{factor}.csv"
        told = [told_otherwise(row, factor) for row in few]
        path.write_text(as_csv(told), encoding="utf-8")
        found.append(predict_unseen([path], rounds=2))

    assert [row.predicted for row in found[0]] == [row.predicted for row in found[1]]
    assert len(found[0]) == 8
    assert all(abs(row.error) < 0.15 for row in found[0])
