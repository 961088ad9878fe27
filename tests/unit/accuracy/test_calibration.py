"""Intervals are judged as the literature does: PIT, coverage, interval score."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest

from planopt.accuracy.statistics import calibration, interval_score

TENTH = math.exp(NormalDist(0, 0.1).inv_cdf(0.9))
"""The upper end of an interval at 80 % of errors that spread by a tenth."""


def test_what_is_drawn_as_predicted_lies_as_often_in_each_tenth() -> None:
    drawn = NormalDist(0, 0.1)
    ratios = [math.exp(drawn.inv_cdf((place + 0.5) / 1000)) for place in range(1000)]
    found = calibration("tpot", "all", [(each, 1 / TENTH, TENTH) for each in ratios])
    assert found.pit == (100,) * 10
    assert found.inside == pytest.approx(0.8)
    assert found.width == pytest.approx(TENTH - 1)


def test_intervals_that_are_too_narrow_show_at_both_ends() -> None:
    drawn = NormalDist(0, 0.2)
    ratios = [math.exp(drawn.inv_cdf((place + 0.5) / 1000)) for place in range(1000)]
    found = calibration("tpot", "all", [(each, 1 / TENTH, TENTH) for each in ratios])
    assert found.pit[0] == found.pit[9] > 200
    assert found.inside < 0.5


def test_a_figure_outside_costs_ten_times_what_it_lies_off_by() -> None:
    width = 2 * math.log(1.1)
    assert interval_score(1.0, 1 / 1.1, 1.1) == pytest.approx(width)
    assert interval_score(1.21, 1 / 1.1, 1.1) == pytest.approx(
        width + 10 * math.log(1.1)
    )
    assert interval_score(1 / 1.21, 1 / 1.1, 1.1) == interval_score(1.21, 1 / 1.1, 1.1)
