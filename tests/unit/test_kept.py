"""What the core keeps of layouts from one question to the next changes no answer."""

from __future__ import annotations

import msgspec
import pytest

from planopt.catalog.open import DEFAULT_ASSUMPTIONS, Catalog
from planopt.documents.plan import Plan
from planopt.options import Asked
from planopt.planning.pipeline import Serving, whole
from planopt.procurement.solver import Solver
from planopt.steps import Steps

ASKED = {
    "model": "llama-3.1-8b",
    "accelerators": ["rtx-4090", "l40s", "h100-sxm"],
    "prompt": 1000,
    "output": 200,
    "target": "20tok/s",
    "ttft": "2s",
}
LOADS = ({"request_rate": "2/s"}, {"concurrency": 20})
OTHERS = (
    {"budget": 15_000},
    {"network": "ethernet-25g"},
    {"redundancy": "host:1"},
    {"ttft": "1s"},
)


def planned(catalog: Catalog, **options: object) -> Plan:
    asked = Asked.by_user("solve", {**ASKED, **options})
    with Solver() as solver:
        question = Serving().read(asked, catalog, solver)
        return whole(Serving(), question, Steps(None))


def said(plan: Plan) -> bytes:
    """Say all of a plan but how long it took."""
    told = msgspec.to_builtins(plan)
    told["search"].pop("seconds", None)
    return msgspec.json.encode(told)


@pytest.mark.parametrize("load", LOADS)
def test_what_was_asked_before_changes_no_plan(load: dict[str, object]) -> None:
    fresh = planned(Catalog((), DEFAULT_ASSUMPTIONS), **load)
    asked_before = Catalog((), DEFAULT_ASSUMPTIONS)
    for other in OTHERS:
        planned(asked_before, **{**load, **other})
    again = planned(asked_before, **load)
    assert fresh.status == "optimal"
    assert said(again) == said(fresh)
