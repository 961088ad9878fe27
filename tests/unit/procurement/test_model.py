from __future__ import annotations

import math
from fractions import Fraction

from planopt.procurement.model import MAX_ACTIVITY, at_least, at_most, exact, scaled


def test_figures_are_the_decimals_they_were_written_as() -> None:
    assert exact(0.1) * 3 == exact(0.3)
    assert exact(0.1 + 0.2) == exact(0.3)
    assert exact(12_345_678_901_234) == 12_345_678_901_234  # money is kept whole


def test_figures_become_the_smallest_whole_numbers_that_keep_them() -> None:
    dollars = [Fraction(price * 10**6) for price in (1500, 20_000, 350)]
    assert scaled(dollars, (9, 9, 9)).values == (30, 400, 7)
    assert scaled([exact(0.25), exact(1.5)], (1, 1)).values == (1, 6)
    assert scaled([Fraction(0), Fraction(0)], (1, 1)).values == (0, 0)


def test_figures_too_fine_are_rounded_to_the_safe_side_within_room() -> None:
    fine = [Fraction(1, 3**40), Fraction(2, 7**20), Fraction(1)]
    uppers = (100, 100, 100)
    up, down = scaled(fine, uppers), scaled(fine, uppers, math.floor)
    for figure, high, low in zip(fine, up.values, down.values, strict=True):
        assert low <= figure * up.scale <= high
        assert high - low <= 1
    assert up.dot(uppers) < MAX_ACTIVITY
    assert up.relative_error > 0


def test_a_figure_that_cannot_be_bought_does_not_coarsen_the_others() -> None:
    vast = Fraction(10**30)
    assert scaled([Fraction(3), vast], (5, 0)).values == (1, 0)


def test_rows_are_exact_at_equality() -> None:
    row = at_most("power", [exact(0.7), exact(1.1)], exact(2.5), (3, 3))
    assert (row.coefficients, row.upper) == ((7, 11), 25)
    row = at_least("throughput", [exact(0.7), exact(1.1)], exact(2.45), (3, 3))
    assert (row.coefficients, row.lower) == ((7, 11), 25)
