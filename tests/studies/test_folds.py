"""What rows left out are judged by: repeats, choices, intervals."""

from __future__ import annotations

import pytest

from planopt_studies.left_out import (
    LeftOut,
    errors_by_class,
    judged,
    regrets,
    without_repeats,
)


def left_out(number: int, measured: float, predicted: float, **rest: object) -> LeftOut:
    known: dict[str, object] = {
        "row": f"r{number}",
        "fold": number % 5,
        "source": "paper",
        "model": "m",
        "accelerator": "h100-sxm",
        "classes": ("h100-sxm dense", "hopper dense"),
        "repeats": str(number),
        "choice": "one",
        "layout": str(number),
        "measured": measured,
        "in_folds": predicted,
        "without_source": predicted,
        "fitted": True,
    }
    return LeftOut(**(known | rest))  # type: ignore[arg-type] # a row of a test


def test_a_layout_ranked_first_wrongly_costs_what_it_is_slower_by() -> None:
    rows = [left_out(1, 1.0, 2.0), left_out(2, 1.1, 1.5), left_out(3, 3.0, 3.0)]
    right = [left_out(4, 1.0, 1.0, choice="two"), left_out(5, 2.0, 3.0, choice="two")]
    alone = [left_out(6, 5.0, 1.0, choice="three")]
    found = regrets([*rows, *right, *alone])
    assert found.groups == 2
    assert found.regret == pytest.approx(0.05)
    assert found.best_found == pytest.approx(0.5)


def test_a_layout_measured_twice_stands_with_its_mean() -> None:
    rows = [
        left_out(1, 1.0, 2.0, layout="a"),
        left_out(2, 3.0, 2.0, layout="a"),
        left_out(3, 1.0, 2.5, layout="b"),
    ]
    assert regrets(rows).regret == pytest.approx(1.0)


def test_exact_repeats_count_once() -> None:
    rows = [left_out(1, 1.0, 1.1), left_out(2, 1.0, 1.1, repeats="1")]
    (errors, *_) = errors_by_class(without_repeats(rows), lambda row: row.in_folds)
    assert errors.n == 1
    assert errors.mape == pytest.approx(0.1)


def test_intervals_are_made_of_the_other_folds() -> None:
    # Fold 0 is twice as slow as all others said: none of it is inside.
    rows = [
        left_out(number, 2.0 if number % 5 == 0 else 1.0, 1.0) for number in range(50)
    ]
    assert judged(rows).inside == pytest.approx(0.8)


def test_the_grid_of_single_hosts_is_a_class_of_its_own() -> None:
    row = left_out(1, 1.0, 1.0, source="vTrain ground truth")
    assert row.classes_judged == ("single node (vTrain)",)
    assert left_out(1, 1.0, 1.0).classes_judged == (
        "h100-sxm dense",
        "hopper dense",
        "all dense",
    )
