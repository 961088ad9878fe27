"""What a load is: people who differ, tools that do not, and steps without any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.errors import InputError

if TYPE_CHECKING:
    from planopt.documents.evaluation import EvaluationDocument

REPLICA: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "accelerator": "h100-sxm",
    "prompt": 1000,
    "output": 100,
}


def _evaluated(**said: Any) -> EvaluationDocument:
    return planopt.evaluate(**REPLICA, **said)


def test_users_differ_and_a_benchmark_does_not() -> None:
    people, tool = _evaluated(users=8), _evaluated(users=8, load="benchmark")
    assert people.ttft_seconds.p95 > 1.5 * people.ttft_seconds.p50  # type: ignore[operator]
    assert people.tpot_seconds.p95 > 1.05 * people.tpot_seconds.p50  # type: ignore[operator]
    assert tool.tpot_seconds.p95 == pytest.approx(tool.tpot_seconds.p50, rel=1e-3)


def test_lengths_that_are_given_are_means_with_the_spread_of_chat() -> None:
    (spread,) = [each for each in _evaluated(users=8).assumed if each.name == "spread"]
    assert "chat" in spread.value
    assert "0.96 and 0.77" in spread.value
    fixed = _evaluated(users=8, load="benchmark").assumed
    assert "spread" not in [each.name for each in fixed]
    # A workload that says nothing of a spread has none.
    assert "spread" not in [
        each.name for each in _evaluated(users=8, workload="batch").assumed
    ]


def test_steps_have_no_load() -> None:
    assert _evaluated(users=8, load="steady").under_load is None


def test_the_fields_words_are_taken_in_silence() -> None:
    field: dict[str, Any] = {"isl": 1000, "osl": 100, "concurrency": 8}
    ours = _evaluated(users=8)
    theirs = planopt.evaluate(model="llama-3.1-8b", accelerator="h100-sxm", **field)
    assert theirs.under_load == ours.under_load


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"load": "open"}, "--requests"),
        ({"load": "closed", "requests": "3/s"}, "--requests"),
        ({"load": "steady", "percentile": "p95"}, "--percentile"),
    ],
)
def test_loads_that_contradict_what_is_asked(said: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as refused:
        planopt.solve(target="5tok/s", **said)
    assert [one.field for one in refused.value.diagnostics] == [field]


def test_a_held_batch_and_the_articles_assumptions_are_judged_by_steps() -> None:
    for said in ({"batch": 8}, {"assumptions": "article"}):
        plan = planopt.solve(target="5tok/s", **said)
        assert (plan.request.load, plan.request.percentile) == ("steady", None)
