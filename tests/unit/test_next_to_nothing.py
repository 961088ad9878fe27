"""What is in time only while next to nobody asks is nothing that can be bought."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.serving.search import find_together

if TYPE_CHECKING:
    from planopt.procurement.problem import Found

# Some card in each of these is just in time for one request alone, and for no two.
QUESTIONS: tuple[dict[str, Any], ...] = (
    {"model": "llama-3.1-70b", "target": "30tok/s", "workload": "rag"},
    {"model": "llama-3.1-70b", "target": "30tok/s", "workload": "long-context"},
    {"model": "llama-3.1-8b", "target": "30tok/s", "workload": "rag", "ttft": "0.5s"},
    {
        "model": "llama-2-70b",
        "target": "20tok/s",
        "workload": "azure-conversation",
        "percentile": "p99",
    },
)
REQUEST_TOKENS = 100
"""Fewer than an answer of any of these workloads has."""
DAY = 86_400


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_unit_carries_a_request_a_day(
    question: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    supplies: list[float] = []

    def watched(*args: Any, **kwargs: Any) -> list[Found]:
        together = find_together(*args, **kwargs)
        for found in together:
            supplies.extend(found.listed().tokens_per_second)
        return together

    monkeypatch.setattr("planopt.serving.search.find_together", watched)
    monkeypatch.setattr("planopt.planning.question.find_together", watched)
    asked = {"ttft": "1s", "requests": "4/s", "top": 1, **question}
    plan = planopt.solve(**asked, time_limit=20)
    assert plan.status in {"optimal", "feasible", "infeasible"}
    assert min(supplies) > REQUEST_TOKENS / DAY
