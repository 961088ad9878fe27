"""Predictions stay as good as the table says, and the table is the file's."""

from __future__ import annotations

from functools import cache
from statistics import median

import pytest

from planopt.accuracy.columns import read_rows
from planopt.accuracy.statistics import errors
from planopt.accuracy.validate import KINDS, bundled_measurements, predict
from planopt.catalog.open import open_catalog
from planopt.documents.validation import Comparison

# Median errors of step times on the rows that come with planopt, and what they may be.
WORST = {
    ("a100-sxm-80", "fsdp"): 0.052,
    ("h100-sxm", "fsdp"): 0.034,
    ("a100-sxm-80", "megatron-2022"): 0.027,
    ("a100-sxm-80", "bigscience"): 0.033,
    ("a100-sxm-80", "internevo"): 0.041,
    ("h100-sxm", "nemo"): 0.021,
    ("gb200", "nemo"): 0.066,
}


@cache
def compared() -> list[Comparison]:
    (training,) = (each for each in bundled_measurements() if each.stem == "training")
    outcomes = [*predict(read_rows(training, KINDS), "calibrated")]
    return [each for each in outcomes if isinstance(each, Comparison)]


@pytest.mark.parametrize(("accelerator", "framework"), WORST)
def test_step_times_are_no_worse_than_they_were(
    accelerator: str, framework: str
) -> None:
    errors = [
        abs(each.error)
        for each in compared()
        if each.metric == "step_time"
        and each.standing == "counted"
        and (each.accelerator, each.engine) == (accelerator, framework)
    ]
    assert median(errors) <= WORST[accelerator, framework]


def test_nearly_every_row_with_a_layout_is_predicted() -> None:
    counted = [each for each in compared() if each.metric == "step_time"]
    assert len([each for each in counted if each.standing == "counted"]) >= 620


def test_an_interval_extrapolates_where_nothing_was_measured() -> None:
    known, unknown = (
        errors(open_catalog(), accelerator, "llama-2-7b", ["step_time", "nothing"])
        for accelerator in ("h100-sxm", "rx-7900-xtx")
    )
    assert known.keys() == unknown.keys() == {"step_time"}
    assert (known["step_time"].extrapolated, unknown["step_time"].extrapolated) == (
        False,
        True,
    )
    assert known["step_time"].low < 1.0 < known["step_time"].high
