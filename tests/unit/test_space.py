"""The space that a claim of the cheapest is about is said, with what it left out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import planopt
from planopt.planning import space
from planopt.report.plan import render_plan

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "promises.md"
SMALL: dict[str, Any] = {"model": "llama-3.1-8b", "target": "5tok/s"}
CARDS = "rtx-4090,b300,rtx-5090"
"""One of them has no price."""


def test_the_claim_names_its_space() -> None:
    plan = planopt.solve(**SMALL, accelerators=CARDS, load="steady")
    told = plan.search.space

    assert told is not None
    assert told.accelerators == 2
    assert told.text.startswith("2 kinds of accelerators, bought new, in every host")
    assert "one pool" in told.text
    assert "or two" not in told.text
    printed = str(render_plan(plan))
    assert "cheapest in the space searched" in printed
    assert "space: 2 accelerators, " in printed


@pytest.mark.parametrize(
    ("lifted", "what"),
    [
        ({"condition": "any"}, "used cards"),
        ({"max_power": "2kW"}, "cards at less than their power"),
        ({"allow_odd": True}, "stages over TCP"),
    ],
)
def test_what_is_lifted_is_no_restriction(lifted: dict[str, Any], what: str) -> None:
    asked = {**SMALL, "accelerators": "rtx-4090", "load": "steady"}
    for said, there in (({}, True), (lifted, False)):
        told = planopt.solve(**asked, **said).search.space
        assert told is not None
        assert (what in {each.what for each in told.restrictions}) is there


def test_losses_are_those_of_the_audit() -> None:
    rows = re.findall(r"^\| (.*?) \|.*\| ([\d.]+)% \|$", PAGE.read_text(), re.M)
    measured = {re.sub(r" \(.*|,.*", "", name): float(worst) for name, worst in rows}
    said = {
        each.what: each.loss * 100
        for each in (*space._SERVING, *space._TRAINING)
        if each.loss is not None and each.what != space.SHARED
    }
    renamed = {
        "optimizer and activations there": "optimizer and activations in the "
        "host's memory"
    }
    assert said == pytest.approx({renamed.get(n, n): w for n, w in measured.items()})
