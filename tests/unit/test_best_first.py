"""Asking first what may be cheapest finds what asking everything does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from planopt.catalog.open import DEFAULT_ASSUMPTIONS, Catalog
from planopt.options import Asked
from planopt.planning.pipeline import Serving
from planopt.procurement.solver import Solver
from planopt.serving.search import Aim, find_units

if TYPE_CHECKING:
    from planopt.procurement.problem import Found

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
        limits = msgspec.json.encode(question.limits.bounded())

        def found(aim: str | None) -> Found:
            return find_units(question.catalog, question.problem, Aim(aim=aim))

        quick, whole = found(sought), found(None)
        best = quick.rows.best_build(limits)
        assert best is not None
        assert best == whole.rows.best_build(limits)
        evaluated = quick.search.candidates_evaluated
        assert evaluated < whole.search.candidates_evaluated
