"""Where the time of a token, of a prompt and of a step goes, as it is printed."""

from __future__ import annotations

import re
from typing import Any

import pytest

import planopt
from planopt.report.evaluation import render_evaluation
from planopt.report.plan import render_plan

ROUNDING = 0.01
"""Three digits of each figure are printed."""
LINE = r"  {}  +([\d,.]+) (?:ms|s): (.*)"
PART = re.compile(r"([a-z][a-z ]*) ([\d,.]+)(?: ·|$)")


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def _parts(text: str, label: str) -> tuple[float, dict[str, float]]:
    """What a time is, and of what: of the last such line, which is told whole."""
    whole, parts = re.findall(LINE.format(label), " ".join(text.split("\n   ")))[-1]
    named = {name.strip(): float(figure) for name, figure in PART.findall(parts)}
    return float(whole), named


CARD: dict[str, Any] = {"model": "llama-3.1-8b", "accelerator": "h100-sxm"}
SPOKEN = {"draft": "llama-3.2-1b", "draft_tokens": 3, "acceptance": 0.7}


def _told(**asked: Any) -> str:
    found = planopt.evaluate_serving(**CARD, **asked)
    return str(render_evaluation(found, details=True))


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"batch": 16}, {"compute", "memory traffic", "host"}),
        (
            {"tp": 4, "batch": 16},
            {"compute", "memory traffic", "communication", "host"},
        ),
        ({"batch": 16, "overlap": "two-batch"}, {"memory traffic", "host"}),
        ({"batch": 16, **SPOKEN}, {"memory traffic", "host"}),
        ({"pp": 4, "in_flight": 12, "batch": 64}, {"memory traffic", "waiting"}),
        ({"batch": 16, "offload": 20}, {"memory traffic", "offload", "host"}),
    ],
)
def test_printed_parts_give_the_tpot(asked: dict[str, Any], named: set[str]) -> None:
    told = _told(**asked)
    whole, parts = _parts(told, "Decode")
    assert named <= parts.keys()
    assert sum(parts.values()) == pytest.approx(whole, rel=ROUNDING)
    assert " a step beside tokens" in " ".join(told.split())


def test_printed_parts_give_the_time_of_a_prompt() -> None:
    whole, parts = _parts(_told(tp=4, batch=16), "Prefill")
    assert len(parts) == 4
    assert sum(parts.values()) == pytest.approx(whole, rel=ROUNDING)


def test_a_plan_shows_them_too() -> None:
    plan = planopt.solve(model="llama-3.1-8b", target="20tok/s", concurrency=4, top=1)
    _, parts = _parts(str(render_plan(plan, details=True)), "Prefill")
    assert "host" in parts


def test_printed_parts_give_the_step_of_training() -> None:
    run = planopt.evaluate_training(**CARD, network="infiniband-400g", tp=2, pp=2, dp=4)
    whole, parts = _parts(str(render_evaluation(run, details=True)), "Step")
    assert {"host", "bubble", "optimizer"} <= parts.keys()
    assert sum(parts.values()) == pytest.approx(whole, rel=ROUNDING)
