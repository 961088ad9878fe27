"""Steps of training that we timed on one H100 ourselves, and fitted nothing to."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

import planopt

MEASURED = Path(__file__).parent / "h100.csv"
"""Transformers 5.17, PyTorch 2.11, fused Adam, 2026-11-27; medians of eight steps.

One card has no network: rows name one because the schema asks for it.
"""


@pytest.fixture(scope="module")
def errors() -> dict[tuple[str, str], list[float]]:
    (dataset,) = planopt.validate(data=[str(MEASURED)]).datasets
    found: dict[tuple[str, str], list[float]] = {}
    for each in dataset.comparisons:
        of = (each.metric, each.source.removeprefix("one-h100:"))
        found.setdefault(of, []).append(each.predicted / each.measured - 1.0)
    return found


def test_every_row_counts(errors: dict[tuple[str, str], list[float]]) -> None:
    assert sum(len(some) for some in errors.values()) == 2 * 16


def test_steps_of_whole_models(errors: dict[tuple[str, str], list[float]]) -> None:
    as_it_stands = errors["step_time", "eager"]
    assert len(as_it_stands) == 9
    assert median(map(abs, as_it_stands)) < 0.06
    assert max(map(abs, errors["step_time", "compiled"])) < 0.20


def test_what_is_told_wrong(errors: dict[tuple[str, str], list[float]]) -> None:
    """Adapters of PEFT are slower, and logits in 32 bits larger, than we say."""
    assert -0.30 < median(errors["step_time", "adapters"]) < -0.15
    assert -0.25 < median(errors["memory", "eager"]) < 0.0
    assert max(map(abs, errors["memory", "compiled"])) < 0.20
