"""Over what prices a choice stays the best: inside it does, at the end it is a draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.catalog.open import open_catalog
from planopt.market import read_market
from planopt.options import Asked
from planopt.planning.question import ServingQuestion
from planopt.planning.sensitivity import BISECTIONS
from planopt.procurement.solver import Solver
from planopt.serving.question_types import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from planopt.documents.explanations import PriceRange
    from planopt.documents.plan import Plan

BAND = 0.3
QUESTIONS: list[dict[str, Any]] = [
    {"model": "llama-2-70b", "target": "5tok/s", "budget": 40_000, "load": "steady"},
    {"model": "mixtral-8x7b", "target": "12tok/s", "users": 20, "load": "steady"},
    {"model": "llama-2-70b", "target": "5tok/s", "acquire": "rent", "load": "steady"},
    {
        "model": "llama-2-70b",
        "target": "5tok/s",
        "acquire": "both",
        "duty": "40%",
        "regained": "100%",
        "load": "steady",
    },
]


def cost_at(question: dict[str, Any], part: PriceRange, usd: float) -> float:
    """Money of the best purchase where one part has another price."""
    terms = part.name.rpartition(", ")[2] if part.kind == "instance" else None
    opened = open_catalog()
    asked = Asked("solve", question)
    problem = read_market(asked, opened, Problem)
    catalog = opened.with_cost(problem.cost).at_price(part.id, usd, terms)
    with Solver() as solver:
        best = ServingQuestion(catalog, problem, solver, asked).best()
    assert best is not None
    return best.usd_per_hour if problem.hourly else best.price_usd


def cost_of_choice(plan: Plan, part: PriceRange, usd: float) -> float:
    """Money of the plan's own purchase at that price of the part."""
    (line,) = [
        each
        for each in plan.bill_of_materials
        if (each.kind, each.id) == (part.kind, part.id)
    ]
    more = line.quantity * (usd - part.price_usd)
    if not plan.request.hourly:
        assert plan.price_usd is not None
        return plan.price_usd + more
    assert plan.cost.usd_per_hour is not None
    assert plan.rent_or_buy is not None
    if part.kind == "instance":
        return plan.cost.usd_per_hour + more * plan.rent_or_buy.duty
    return plan.cost.usd_per_hour + more / (plan.rent_or_buy.years * 8760)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_choice_is_the_best_inside_and_ties_at_the_end(
    question: dict[str, Any],
) -> None:
    plan = planopt.solve(**question, price_band=BAND)
    assert plan.uncertainty is not None
    exact = 1e-5 if plan.request.hourly else 0.02
    limits = 0
    for part in plan.uncertainty.prices:
        assert part.low_usd is None or part.low_usd <= part.price_usd + exact
        assert part.high_usd is None or part.high_usd >= part.price_usd - exact
        for limit, outwards in ((part.low_usd, -1), (part.high_usd, 1)):
            if limit is None or not part.price_usd:
                continue
            limits += 1
            assert cost_at(question, part, limit) == pytest.approx(
                cost_of_choice(plan, part, limit), abs=exact
            )
            beyond = limit + outwards * 0.01 * part.price_usd
            assert cost_at(question, part, beyond) < cost_of_choice(plan, part, beyond)
    assert limits, "no price within the band flips the choice: the test shows nothing"
    for part in plan.uncertainty.prices:
        if part.high_usd is None and part.price_usd:
            end = part.price_usd * (1 + BAND)
            assert cost_at(question, part, end) == pytest.approx(
                cost_of_choice(plan, part, end), abs=exact
            )


def test_regret_is_what_the_best_at_the_end_saves() -> None:
    question = QUESTIONS[0]
    plan = planopt.solve(**question, price_band=BAND)
    assert plan.uncertainty is not None
    worst = max(plan.uncertainty.prices, key=lambda part: part.regret_usd)
    assert plan.uncertainty.worst_regret_usd == worst.regret_usd
    ends = [worst.price_usd * (1 + side * BAND) for side in (-1, 1)]
    regrets = [
        cost_of_choice(plan, worst, end) - cost_at(question, worst, end) for end in ends
    ]
    assert worst.regret_usd == pytest.approx(max(regrets), abs=0.02)


def choice(question: dict[str, Any], **changed: Any) -> tuple[object, ...] | None:
    """Parts of the best purchase of a question with something changed."""
    plan = planopt.solve(**{**question, **changed})
    return tuple((e.id, e.quantity) for e in plan.bill_of_materials) or None


OPTIONS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "electricity_usd_per_kwh": lambda value: {"electricity": f"${value}/kWh"},
    "duty": lambda value: {"duty": value},
    "years": lambda value: {"years": value},
    "pue": lambda value: {"pue": value},
    "context_tokens": lambda value: {"context": round(value)},
}


@pytest.mark.parametrize(
    "question",
    [
        {"model": "llama-3.1-8b", "target": "10tok/s", "users": 200, "context": 2000},
        {
            "model": "llama-2-70b",
            "target": "5tok/s",
            "acquire": "both",
            "accelerators": "rtx-4090,a100-sxm-80",
            "duty": 0.4,
            "regained": 1.0,
            "context": 1024,
        },
    ],
)
def test_an_assumption_flips_the_choice_where_the_plan_says(
    question: dict[str, Any],
) -> None:
    question = {**question, "load": "steady"}
    plan = planopt.solve(**question, price_band=BAND)
    assert plan.uncertainty is not None
    own = choice(question)
    flips = {each.name: each for each in plan.uncertainty.flips}
    assert "predicted_speed" in flips
    assert "context_tokens" in flips
    assert ("duty" in flips) == plan.request.hourly
    limits = 0
    for name, flip in flips.items():
        if name == "predicted_speed":
            continue
        resolution = BAND * flip.value / 2**BISECTIONS
        for limit, inwards in ((flip.low, 1), (flip.high, -1)):
            if limit is None:
                continue
            limits += 1
            assert choice(question, **OPTIONS[name](limit)) != own
            inside = limit + inwards * resolution
            assert choice(question, **OPTIONS[name](inside)) == own
    assert limits, "nothing within the band flips the choice: the test shows nothing"


def test_a_choice_that_is_slower_than_predicted_is_another_one() -> None:
    question = QUESTIONS[0]
    plan = planopt.solve(**question, price_band=0.8)
    assert plan.uncertainty is not None
    (speed,) = [e for e in plan.uncertainty.flips if e.name == "predicted_speed"]
    assert speed.low is not None
    predicted = plan.deployments[0].evaluation.decode.tokens_per_second_per_user
    assert predicted is not None
    assert speed.low == pytest.approx(5 / predicted)
    own = choice(question)
    assert choice(question, target=predicted * 0.999) == own
    assert choice(question, target=predicted * 1.001) != own
