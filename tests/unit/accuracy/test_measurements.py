"""Measurements that come along are what `make measurements` makes of their sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import pytest

import planopt
from planopt.accuracy.columns import Format, read_rows
from planopt.accuracy.training import TrainingRow
from planopt.accuracy.validate import BUNDLED, KINDS
from planopt.catalog.open import bundled_folder
from planopt.errors import InputError
from planopt_studies.prepare.__main__ import as_csv, prepare

if TYPE_CHECKING:
    from pathlib import Path

MEASUREMENTS = bundled_folder() / "measurements"


@pytest.mark.shared
@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_rows_come_out_of_their_sources(shared: Path, name: str) -> None:
    rows, ledger = prepare(shared / "validation" / name)
    assert as_csv(rows) == (MEASUREMENTS / name).read_text(encoding="utf-8")
    assert ledger.rows == ledger.kept + sum(ledger.left_out.values())


@pytest.mark.parametrize("name", BUNDLED)
def test_rows_are_read_as_they_were_written(name: str) -> None:
    text = (MEASUREMENTS / name).read_text(encoding="utf-8")
    assert as_csv(read_rows(MEASUREMENTS / name, KINDS)) == text


@pytest.mark.parametrize("name", get_args(Format))
def test_formats_of_measurements_are_known_to_the_core(name: str) -> None:
    assert planopt.evaluate_serving(accelerator="h200-sxm", tp=8, weights=name).model


def test_the_core_knows_no_other_formats() -> None:
    with pytest.raises(InputError) as raised:
        planopt.evaluate_serving(accelerator="h100-sxm", weights="none")
    (problem,) = raised.value.diagnostics
    assert f"({len(get_args(Format))} in all)" in (problem.accepted or "")


def test_nothing_is_passed_on_that_may_not_be() -> None:
    text = (MEASUREMENTS / "microbench.csv").read_text(encoding="utf-8")
    assert "ml-engineering" not in text


def test_layouts_follow_from_what_a_row_says() -> None:
    rows = read_rows(MEASUREMENTS / "training.csv", (TrainingRow,))
    whole = [row for row in rows if row.has_layout]
    assert len(whole) > 600
    for row in whole:
        request: dict[str, Any] = row.request(row.model)
        degrees = request["tp"] * request["pp"] * request["cp"] * request["dp"]
        assert degrees == row.accelerators
