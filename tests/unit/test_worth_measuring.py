"""What measuring first is worth, against worlds in which it is done."""

from __future__ import annotations

import json
import math
import random
from statistics import NormalDist, fmean, stdev
from typing import Any

import pytest

import planopt
from forging import forged
from planopt._native import scenarios as compared
from planopt.catalog.open import bundled_folder
from planopt.report.page.tables import markdown
from planopt.report.plan import render_plan
from planopt_reference import verify_plan

WORLDS = 1000
LATER = 1.3
TO_AN_END = NormalDist().inv_cdf(0.9)
Kind = tuple[str, float, float, float]
Offer = dict[str, Any]


def problem(draw: random.Random) -> tuple[list[Kind], list[Offer]]:
    """Make up plans of two kinds: the dearer, the more room."""
    kinds = [
        (name, 1.0, draw.uniform(0.6, 0.9), draw.uniform(1.1, 1.8)) for name in "ab"
    ]
    offers = [
        {
            "lines": [(0, draw.uniform(80, 160))],
            "runs": [(draw.randrange(2), draw.uniform(0.9, 1.6), None)],
            "most": None,
        }
        for _ in range(4)
    ]
    return kinds, offers


def cost(offer: Offer, offers: list[Offer], slower: list[float]) -> float:
    """Pay for a plan, and where it is too slow for the cheapest that holds."""

    def holds(one: Offer) -> bool:
        ((kind, room, _),) = one["runs"]
        return bool(slower[kind] <= room)

    def price(one: Offer) -> float:
        ((_, usd),) = one["lines"]
        return float(usd)

    if holds(offer):
        return price(offer)
    others = [price(one) for one in offers if holds(one)]
    return price(offer) + LATER * min(others, default=price(offer))


def drawn(draw: random.Random, kind: Kind) -> float:
    _, middle, low, high = kind
    normal = draw.gauss(0, 1)
    end = high if normal > 0 else low
    return middle * math.exp(abs(normal) / TO_AN_END * math.log(end / middle))


def test_what_is_predicted_is_gained_in_a_thousand_worlds() -> None:
    draw = random.Random(8)
    off, predicted_most = [], 0.0
    for _ in range(12):
        kinds, offers = problem(draw)
        asked = {
            "scenarios": 20,
            "demand_varies": True,
            "parts": [("host/x", False)],
            "kinds": kinds,
            "plans": offers,
        }
        told = [
            json.loads(compared(json.dumps({**asked, "seed": seed}).encode()))
            for seed in range(20)
        ]
        believed = [[drawn(draw, kind) for kind in kinds] for _ in range(400)]
        by_mean = [
            fmean(cost(one, offers, each) for each in believed) for one in offers
        ]
        unseen = offers[by_mean.index(min(by_mean))]
        for kind in range(2):
            predicted = fmean(each["worth"][kind]["saves_usd"] for each in told)
            gains = []
            for _ in range(WORLDS):
                world = [drawn(draw, each) for each in kinds]
                seen = [
                    [world[kind], each[1]] if kind == 0 else [each[0], world[kind]]
                    for each in believed[:30]
                ]
                means = [
                    fmean(cost(one, offers, each) for each in seen) for one in offers
                ]
                chosen = offers[means.index(min(means))]
                gains.append(cost(unseen, offers, world) - cost(chosen, offers, world))
            error = stdev(gains) * math.sqrt(1 / WORLDS + 1 / (100 * len(told)))
            if error:
                off.append((fmean(gains) - predicted) / error)
            predicted_most = max(predicted_most, predicted)
    assert predicted_most > 20
    assert abs(fmean(off)) < 3 / math.sqrt(len(off))
    assert max(map(abs, off)) < 4


@pytest.fixture(scope="module")
def plan() -> planopt.Plan:
    return planopt.solve(
        "qwen2.5-32b",
        target="40tok/s",
        load="steady",
        concurrency=32,
        accelerators=["l40s", "a100-sxm-80", "rtx-pro-6000-blackwell-server"],
        scenarios=20,
    )


def refused(document: Any) -> str:
    return " ".join(each.field for each in verify_plan(document, bundled_folder()))


def test_a_plan_names_what_to_measure_first(plan: planopt.Plan) -> None:
    assert plan.worth_measuring
    document = json.loads(plan.to_json())
    assert refused(document) == ""
    first = plan.worth_measuring[0]
    assert first.saves_usd == max(each.saves_usd for each in plan.worth_measuring)
    assert 0 < first.changes_choice <= 1
    rented = [each.rent_usd for each in plan.worth_measuring if each.rent_usd]
    assert rented
    assert max(rented) < 5
    for field, value in (
        ("worth_measuring[0].saves_usd", 1e6),
        ("worth_measuring[0].changes_choice", 0.001),
        ("worth_measuring[0].without", "nothing"),
        ("worth_measuring[0].accelerator", "b200"),
        ("worth_measuring", []),
    ):
        assert "worth_measuring" in refused(forged(document, field, value)), field
    screen = str(render_plan(plan))
    assert f"{first.accelerators} × {first.accelerator} for 20 min" in screen
    assert len(screen.splitlines()) <= 24
    assert "20 minutes of" in str(render_plan(plan, details=True))
    assert "Scenarios" in markdown(plan)


def test_what_is_not_compared_is_not_measured() -> None:
    plan = planopt.solve("llama-3.1-8b", target="20tok/s", load="steady")
    assert plan.worth_measuring == ()
