"""Errors are summed up as their names say."""

from __future__ import annotations

import pytest

from planopt.accuracy.statistics import (
    quantile,
    spearman_rho,
    spread,
    statistics_of,
)
from planopt.documents.validation import Comparison


def compared(measured: float, predicted: float) -> Comparison:
    return Comparison(
        row="r",
        source="s",
        metric="step_time",
        measured=measured,
        predicted=predicted,
        unit="s",
        accelerator="a",
        model="m",
        engine="e",
    )


def test_errors_are_fractions_of_what_was_measured() -> None:
    errors = statistics_of([compared(2.0, 3.0), compared(4.0, 3.0)], missing=2)
    assert (errors.n, errors.n_total) == (2, 4)
    assert errors.mape == pytest.approx(0.375)
    assert errors.bias == pytest.approx(0.125)
    assert errors.median_ape == pytest.approx(0.375)
    assert errors.p90_ape == pytest.approx(0.5)
    assert errors.spearman is None


def test_nothing_predicted_has_no_errors() -> None:
    errors = statistics_of([], missing=3)
    assert (errors.n, errors.n_total, errors.mape) == (0, 3, None)


def test_nine_of_ten_stay_below_the_quantile() -> None:
    assert quantile([float(n) for n in range(1, 11)], 0.9) == 9.0


def test_equal_values_share_their_rank() -> None:
    # By hand: ranks 1.5, 1.5, 3 and 1, 2, 3 correlate with sqrt(3) / 2.
    assert spearman_rho([1, 1, 2], [1, 2, 3]) == pytest.approx(0.75**0.5)
    assert spearman_rho([1, 2, 3], [3, 2, 1]) == pytest.approx(-1.0)
    assert spearman_rho([1, 1, 1], [1, 2, 3]) is None


def test_the_floor_is_what_the_median_of_alike_rows_leaves() -> None:
    # By hand: medians 3 and 5; 3 / 2 - 1, 3 / 4 - 1; what is alone tells nothing.
    found = spread([("a", 2.0), ("a", 4.0), ("b", 5.0), ("", 1.0), ("", 9.0)])
    assert found == pytest.approx([0.5, 0.25])
