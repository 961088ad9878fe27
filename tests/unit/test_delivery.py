"""A deadline counts from the order: parts that come late leave less of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import planopt
from planopt.errors import InputError

WEEK = 7 * 86_400.0
RUN: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "tokens": "200B",
    "accelerators": "h100-sxm,b200",
    "deadline": "60d",
    "max_accelerators": 128,
    "top": 2,
}


def test_the_wait_is_part_of_the_time() -> None:
    at_once = planopt.train(**RUN)
    late = planopt.train(**RUN, delivery={"h100-sxm": "4w", "b200": "4w"})

    (promise,) = late.promises
    (one,) = late.deployments
    days = one.evaluation.days or 0.0
    assert promise.predicted == pytest.approx(4 * WEEK + days * 86_400)
    assert promise.held
    assert days <= 60 - 28
    assert (late.price_usd or 0.0) >= (at_once.price_usd or 0.0)
    assert not planopt.verify(late).mismatches
    told = {each.name for each in at_once.assumed} - {e.name for e in late.assumed}
    assert "deadline" in told


def test_what_comes_too_late_is_not_bought() -> None:
    first = planopt.train(**RUN).deployments[0].candidate.accelerator
    late = planopt.train(**RUN, delivery={first: "8w"})
    assert late.deployments[0].candidate.accelerator != first
    network = planopt.train(**RUN, delivery={"hgx-8": "9w", "infiniband-400g": "9w"})
    assert network.deployments == () or network.deployments[0].hardware.host != "hgx-8"


def test_rent_is_there() -> None:
    rented = {**RUN, "procurement": "rent", "accelerators": "h100-sxm"}
    plan = planopt.train(**rented, delivery={"h100-sxm": "52w"})
    assert plan.status != "infeasible"
    assert plan.promises[0].held


def test_a_wait_that_was_forged_is_seen() -> None:
    plan = planopt.train(**RUN, delivery={"h100-sxm": "4w", "b200": "4w"})
    document = json.loads(plan.to_json())
    document["request"]["delivery"] = {"h100-sxm": 6 * WEEK, "b200": 6 * WEEK}
    forged = type(plan).from_json(json.dumps(document))
    assert planopt.verify(forged).mismatches


def test_unknown_parts_and_no_deadline_are_refused() -> None:
    with pytest.raises(InputError, match="part"):
        planopt.train(**RUN, delivery={"h1000": "4w"})
    budget = {**RUN, "deadline": None, "budget": "$5M"}
    with pytest.raises(InputError, match="deadline"):
        planopt.train(**budget, delivery={"h100-sxm": "4w"})
