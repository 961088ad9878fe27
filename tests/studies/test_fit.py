"""The fit finds what made-up kernels were made with, and writes it where it belongs."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planopt.errors import InputError
from planopt_studies.fits.fit import OVERLAP, Bounds, fit, roofline
from planopt_studies.fits.write import BEGIN, END, replace_fitted, section
from planopt_studies.intervals import Unseen, judged_by_others, widened


def test_what_kernels_were_made_with_is_found_again() -> None:
    rows = np.geomspace(1, 1e4, 200)

    def seconds(values: Mapping[str, float]) -> Any:
        arithmetic = 2e-9 * rows / values["efficiency"]
        traffic = np.full_like(rows, 1e-6) / values["bandwidth"]
        return roofline(arithmetic, traffic)

    truth = {"efficiency": 0.7, "bandwidth": 0.9}
    parameters = {
        "efficiency": Bounds(0.4, 0.1, 1.0),
        "bandwidth": Bounds(0.5, 0.1, 1.0),
    }
    found = fit(parameters, seconds, seconds(truth))
    assert found.values == pytest.approx(truth, rel=1e-4)
    assert found.median_error < 1e-4
    assert found.rows == 200


def test_the_roofline_is_a_fifth_above_where_both_take_as_long() -> None:
    both = roofline(np.array([1.0]), np.array([1.0]))[0]
    assert both == pytest.approx(1 + (1 - OVERLAP) ** 0.5)


def test_fitted_tables_take_the_place_of_those_before(tmp_path: Path) -> None:
    path = tmp_path / "made.toml"
    path.write_text(f"a = 1\n{BEGIN}\nold = 2\n{END}\n", encoding="utf-8")
    found = fit(
        {"x": Bounds(1.0, 0.5, 2.0)}, lambda v: np.array([v["x"]]), np.array([1.0])
    )
    figures = {"efficiency": 0.512345, "operation_overhead": 3.2}
    replace_fitted(path, [section("accelerators.card", figures, [found], "it", "now")])
    text = path.read_text(encoding="utf-8")
    assert "old" not in text
    assert 'efficiency = { value = 0.5123, source = "fit-card" }' in text
    assert 'operation_overhead = { value = "3.2 us", source = "fit-card" }' in text
    assert "1 rows, median error 0.0%" in text
    # Written again it is the same.
    replace_fitted(path, [section("accelerators.card", figures, [found], "it", "now")])
    assert path.read_text(encoding="utf-8") == text


def test_a_file_without_a_place_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "plain.toml"
    path.write_text("a = 1\n", encoding="utf-8")
    with pytest.raises(InputError):
        replace_fitted(path, [])


def test_intervals_are_judged_by_figures_of_other_folds() -> None:
    ratios = np.random.default_rng(7).lognormal(0, 0.2, 500)
    errors = [
        Unseen(
            metric="tpot",
            classes=("all",),
            ratio=float(ratio),
            fold=place % 5,
            group=(str(place),),
        )
        for place, ratio in enumerate(ratios)
    ]
    found = judged_by_others(errors)["tpot"]
    assert found.inside == pytest.approx(0.8, abs=0.03)
    # Where all err alike, intervals of one width are the best there are.
    assert found.score == pytest.approx(found.constant_score, rel=0.05)
    # As many in each tenth.
    assert all(25 <= each <= 75 for each in found.pit)
    far = [
        Unseen(
            metric="ttft",
            classes=("all",),
            ratio=10.0**fold,
            fold=fold,
            group=(str(fold),),
        )
        for fold in range(5)
    ]
    assert judged_by_others(far)["ttft"].inside < 0.8


def test_intervals_of_groups_that_err_alike_are_wider() -> None:
    random = np.random.default_rng(7)

    def made(groups: int, within: float) -> list[Unseen]:
        off = random.normal(0, 0.3, groups)
        return [
            Unseen(
                metric="tpot",
                classes=("all",),
                ratio=float(np.exp(off[group] + random.normal(0, within))),
                group=(str(group),),
            )
            for group in range(groups)
            for _ in range(20)
        ]

    few = made(6, 0.02)
    low, high = widened(few)
    ratios = [each.ratio for each in few]
    assert low < np.quantile(ratios, 0.1)
    assert high > np.quantile(ratios, 0.9)
    # Of groups that are as different within as between them, rows alone would do.
    alone = [replace(each, group=(str(row),)) for row, each in enumerate(made(40, 0.3))]
    quantiles = np.quantile([each.ratio for each in alone], (0.1, 0.9))
    assert widened(alone) == pytest.approx(quantiles, rel=0.05)
