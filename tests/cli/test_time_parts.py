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
IN_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
FIGURE = re.compile(r"(\d[\d,.]*) (us|ms|s|min)\b")
NAMED = re.compile(r" +([A-Za-z][A-Za-z ]*?) {2,}(\d[\d,.]* (?:us|ms|s|min))\b")


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def _seconds(text: str) -> list[float]:
    return [
        float(value.replace(",", "")) * IN_SECONDS[unit]
        for value, unit in FIGURE.findall(text)
    ]


def _block(text: str, heading: str) -> dict[str, float]:
    """Figures of the left column from a heading on, by their names."""
    lines = text.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(heading))
    named: dict[str, float] = {}
    for line in lines[start:]:
        found = NAMED.match(line)
        if found is None or (named and not line.startswith("  ")):
            break
        (named[found[1]],) = _seconds(found[2])
    return named


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
    block = _block(_told(**asked), " TPOT   ")
    whole = block.pop("TPOT")
    block.pop("mixed step")
    assert named <= block.keys()
    assert sum(block.values()) == pytest.approx(whole, rel=ROUNDING)


def test_printed_parts_give_the_time_of_a_prompt() -> None:
    lines = _told(tp=4, batch=16).splitlines()
    (line,) = (line for line in lines if line.startswith(" Prefill"))
    whole, *parts = _seconds(line)
    assert len(parts) == 4
    assert sum(parts) == pytest.approx(whole, rel=ROUNDING)


def test_a_plan_shows_them_too() -> None:
    plan = planopt.solve(model="llama-3.1-8b", target="20tok/s", concurrency=4, top=1)
    assert "host" in _block(str(render_plan(plan, details=True)), " TPOT   ")


def test_printed_parts_give_the_step_of_training() -> None:
    run = planopt.evaluate_training(**CARD, network="infiniband-400g", tp=2, pp=2, dp=4)
    block = _block(str(render_evaluation(run, details=True)), " Step ")
    whole = block.pop("Step")
    assert {"host", "bubble", "optimizer"} <= block.keys()
    assert sum(block.values()) == pytest.approx(whole, rel=ROUNDING)
