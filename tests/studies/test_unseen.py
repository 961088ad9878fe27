"""Rows that a fit must not have seen: their figures do not reach their predictions."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest

from planopt_studies.fits.unseen import PREDICTED, SAME_RUNS, predict_unseen

if TYPE_CHECKING:
    from pathlib import Path

SHAPE = ("layers", "hidden", "n_accelerators", "global_batch", "accelerator")


def rows_of(shared: Path) -> tuple[list[str], list[dict[str, str]]]:
    with (shared / "validation" / "training.csv").open(encoding="utf-8") as file:
        reader = csv.DictReader(file)
        return list(reader.fieldnames or ()), list(reader)


@pytest.mark.shared
def test_every_row_of_the_same_runs_is_left_out(shared: Path) -> None:
    _, rows = rows_of(shared)
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
    names, rows = rows_of(shared)
    few = [
        row
        for row in rows
        if row["source"] in SAME_RUNS or row["source"] == "megatron-lm:sc21-table1"
    ]
    found = []
    for factor in (1.0, 2.0):
        path = tmp_path / f"{factor}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            for row in few:
                told = dict(row)
                for name in ("step_time_s", "mfu"):
                    if row["source"] in SAME_RUNS and row[name]:
                        told[name] = str(float(row[name]) * factor)
                writer.writerow(told)
        found.append(predict_unseen([path], rounds=2))

    assert [row.predicted for row in found[0]] == [row.predicted for row in found[1]]
    assert len(found[0]) == 8
    assert all(abs(row.error) < 0.15 for row in found[0])
