"""Asking first what may be cheapest finds what asking everything does."""

from __future__ import annotations

from typing import Any

import pytest

from planopt.catalog.open import DEFAULT_ASSUMPTIONS, Catalog
from planopt.options import Asked
from planopt.planning.pipeline import Serving
from planopt.procurement.solver import Solver
from planopt.serving.search import Aim, UnitsSought, find_together

ASKED: dict[str, Any] = {
    "accelerators": ["rtx-4090", "l40s", "h100-sxm", "mi300x"],
    "prompt": 1000,
    "output": 200,
    "target": "20tok/s",
    "ttft": "2s",
}
LOADS: tuple[dict[str, Any], ...] = (
    {"model": "llama-3.1-8b", "request_rate": "2/s"},
    {"model": "llama-3.1-70b", "request_rate": "9/s", "percentile": "p50"},
    {"model": "mixtral-8x7b", "concurrency": 40, "redundancy": "host:1"},
    {"model": "llama-3.1-8b", "request_rate": "20/s", "procurement": "rent"},
)


@pytest.mark.parametrize("load", LOADS)
def test_the_cheapest_of_one_unit_is_found_best_first(load: dict[str, Any]) -> None:
    with Solver() as solver:
        catalog = Catalog((), DEFAULT_ASSUMPTIONS)
        asked = Asked.by_user("solve", {**ASKED, **load})
        question = Serving().read(asked, catalog, solver)
        sought = question.first_aim.aim
        assert sought == ("hour" if question.problem.hourly else "price")
        problem, wanted = question.problem, question.wanted
        aims = (Aim(aim=aim) for aim in (sought, None))
        both = [UnitsSought(problem, aim, wanted=wanted) for aim in aims]
        quick, whole = find_together(question.catalog, both)
        best = quick.offered.least_micro_usd
        assert best is not None
        assert best == whole.offered.least_micro_usd
        evaluated = quick.search.candidates_evaluated
        assert evaluated < whole.search.candidates_evaluated
