"""What formats cost in quality is said wherever one is proposed, with who says so."""

from __future__ import annotations

import pytest

import planopt
from planopt._native import formats
from planopt.catalog.quality import _known, cost_in_quality, quality_of


@pytest.mark.parametrize(
    ("weights", "parameters", "told"),
    [
        ("q4_k_m", 8e9, "perplexity +2.8% on Llama-3-8B"),
        ("q4_k_m", 70e9, "perplexity +1.2% on Llama-2-70B"),
        ("int4", 7e9, "score -2.5% on Llama-3.1-8B"),
        ("int4", 110e9, "score -0.2% on Llama-3.1-70B"),
        ("fp8", 671e9, "score -1.3% on Llama-3.1-405B"),
        ("exl2-4bpw", 8e9, "what exl2-4bpw costs in quality is not known: check it"),
    ],
)
def test_the_model_nearest_in_size_speaks(
    weights: str, parameters: float, told: str
) -> None:
    assert cost_in_quality(weights, parameters).startswith(told)


def test_every_figure_is_of_a_format_and_has_its_source() -> None:
    for each in _known():
        assert each.cite
        assert each.date
        assert each.status in ("stored", "derived")
        assert set(each.loss) <= set(formats())
        assert all(-0.01 < loss < 10 for loss in each.loss.values())


def test_fewer_bits_of_one_kind_never_cost_less() -> None:
    known = quality_of("q4_k_m", 8e9)
    assert known is not None
    order = ("q8_0", "q6_k", "q5_k_m", "q4_k_m", "q3_k_m", "q2_k")
    losses = [known.loss[name] for name in order]
    assert losses == sorted(losses)


def test_a_plan_in_fewer_bits_says_what_they_cost() -> None:
    plan = planopt.solve(
        model="llama-3.1-8b",
        weights="q4_k_m",
        accelerators="rtx-4090",
        concurrency=1,
        target="20tok/s",
        load="steady",
    )
    (warning,) = (each for each in plan.warnings if each.code == "W008")
    assert "perplexity +2.8% on Llama-3-8B" in warning.message
    assert warning.help is not None
    assert "llama.cpp" in warning.help
