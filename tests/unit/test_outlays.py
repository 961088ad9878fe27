"""What the cost of a plan consists of, and what moves it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from forging import forged, located
from planopt.catalog.open import bundled_folder
from planopt_reference import verify_plan

if TYPE_CHECKING:
    from planopt.documents.plan import Plan, TrainingPlan

ASKED: dict[str, dict[str, Any]] = {
    "bought": {"concurrency": 64},
    "in racks": {
        "concurrency": 64,
        "accelerators": "h100-sxm",
        "duty": "50%",
        "pue": 1.3,
    },
    "rented": {
        "concurrency": 64,
        "procurement": "rent",
        "duty": "40%",
        "regained": "100%",
    },
    "held": {"concurrency": 64, "procurement": "rent", "duty": "40%"},
    "under a load": {"concurrency": 64, "ttft": "2s", "accelerators": "l40s"},
}


def leaf(document: Any, field: str) -> Any:
    """Return what stands in one place."""
    holder, key = located(document, field)
    return holder[key]


@pytest.fixture(scope="module", params=ASKED)
def plan(request: pytest.FixtureRequest) -> Plan:
    return planopt.solve("llama-3.1-8b", target="20tok/s", **ASKED[request.param])


@pytest.fixture(scope="module")
def run() -> TrainingPlan:
    return planopt.train("llama-2-7b", tokens="50B", deadline="30d")


def test_parts_sum_to_what_an_hour_costs(plan: Plan, run: TrainingPlan) -> None:
    for each in (plan, run):
        parts = sum(part.usd_per_hour for part in each.cost.parts)
        assert parts == pytest.approx(each.tco_usd_per_hour)


def test_cost_at_the_duty_that_was_asked_for_is_the_plans(plan: Plan) -> None:
    assert plan.facts is not None
    at = {each.duty: each.usd_per_million_tokens for each in plan.cost.at_duty}
    asked = plan.facts.rates["duty"]
    assert asked is not None
    assert at[asked] == pytest.approx(plan.usd_per_million_tokens)
    idle = at[0.01] / at[1.0]
    goes_back = plan.facts.rates["regained"]
    assert idle == pytest.approx(1) if goes_back else idle > 50


def test_the_times_of_a_token_sum_to_what_is_judged(plan: Plan) -> None:
    of = plan.deployments[0].evaluation
    summed = sum(each.seconds for each in of.time_parts)
    judged = plan.request.percentile and getattr(
        of.tpot_seconds, plan.request.percentile
    )
    assert of.decode.tpot_seconds is not None
    assert summed == pytest.approx(max(judged or 0.0, of.decode.tpot_seconds))


def test_what_becomes_of_the_peak_sums_to_it(run: TrainingPlan) -> None:
    parts = run.deployments[0].evaluation.peak_parts
    assert sum(each.share for each in parts) == pytest.approx(1)
    assert parts[0].share == run.deployments[0].evaluation.mfu
    assert all(each.share >= 0 for each in parts)


def test_dearer_is_dearer(plan: Plan) -> None:
    now = plan.usd_per_million_tokens
    assert now is not None
    for move in plan.cost.moves:
        ends = (
            move.at_low_usd_per_million_tokens,
            move.at_high_usd_per_million_tokens,
        )
        falls = move.name in {"years", "duty", "speed"}
        assert move.low < move.high
        assert min(ends) <= now * (1 + 1e-9)
        assert max(ends) >= now * (1 - 1e-9)
        if ends[0] != pytest.approx(ends[1]):  # of what is rented duty moves nothing
            assert (ends[0] > ends[1]) == falls, move


def test_the_reference_refuses_others(plan: Plan, run: TrainingPlan) -> None:
    for each in (plan, run):
        document = json.loads(each.to_json())
        assert verify_plan(document, bundled_folder()) == []
        fields = [
            "cost.parts[0].usd_per_hour",
            "cost.moves[0].at_low_usd_per_million_tokens",
            "cost.at_duty[3].usd_per_million_tokens",
            "totals.rack_units",
        ]
        of = "deployments[0].evaluation"
        timed = document["kind"] == "serving"
        fields += [
            f"{of}.time_parts[0].seconds" if timed else f"{of}.peak_parts[0].share"
        ]
        for field in fields:
            wrong = forged(document, field, 123.456)
            assert verify_plan(wrong, bundled_folder()), field
        parts = f"{of}.{'time' if timed else 'peak'}_parts"
        first, second, *rest = leaf(document, parts)
        wrong = forged(document, parts, [second, first, *rest])
        assert parts in {each.field for each in verify_plan(wrong, bundled_folder())}


def test_an_alternative_serves_no_more_than_it_has_places(plan: Plan) -> None:
    document = json.loads(plan.to_json())
    if not document["alternatives"]:
        pytest.skip("nothing stands beside it")
    field = "alternatives[0].users"
    for users in (0, 10**6):
        wrong = forged(document, field, users)
        assert field in {each.field for each in verify_plan(wrong, bundled_folder())}


LINES: dict[str, dict[str, Any]] = {
    "colocation": {"cost_line": "colocation=off"},
    "support": {"cost_line": "support=off"},
    "financing": {"wacc": 0},
}


@pytest.mark.parametrize("accelerators", ["h100-sxm", "rtx-4090"])
def test_a_line_switched_off_takes_off_itself_and_is_verified(
    accelerators: str,
) -> None:
    asked: dict[str, Any] = {"concurrency": 8, "load": "steady"}
    asked["accelerators"] = accelerators
    if accelerators == "rtx-4090":
        asked["host"] = "desktop"
    whole = planopt.solve("llama-3.1-8b", target="20tok/s", **asked)
    parts = whole.cost.parts
    lines: dict[str, float] = {part.name: part.usd_per_hour for part in parts}
    assert whole.tco_usd_per_hour is not None
    # A desktop stands in no hall: nothing is switched off.
    assert set(LINES).isdisjoint(lines) == (accelerators == "rtx-4090")
    for name, option in LINES.items():
        plan = planopt.solve("llama-3.1-8b", target="20tok/s", **asked, **option)
        less = whole.tco_usd_per_hour - lines.get(name, 0.0)
        assert plan.tco_usd_per_hour == pytest.approx(less)
        assert name not in {part.name for part in plan.cost.parts}
        assert planopt.verify(plan)
