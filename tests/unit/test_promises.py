"""What is proven is what is promised: plans under a load, as issue 24 has seen them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

import planopt
from planopt.catalog.open import open_catalog
from planopt.options import Asked
from planopt.planning import settle
from planopt.planning.pipeline import Serving, missing
from planopt.planning.pools import better_of
from planopt.procurement.solver import Solver
from planopt.serving.load import Trial, of_deployment
from planopt.units import MICRO_USD

if TYPE_CHECKING:
    from planopt.documents.evaluation import Deployment

MOST_LATE = 0.05
"""Of a promise at the 95th percentile."""


def kept(plan: planopt.Plan) -> None:
    """Hold the deployments of a plan against its own promises."""
    for each in plan.deployments:
        load = each.evaluation.under_load
        assert load is not None
        assert not load.overloaded
        assert load.ttft_slo_violation is not None
        assert load.tpot_slo_violation is not None
        assert load.ttft_slo_violation <= MOST_LATE
        assert load.tpot_slo_violation <= MOST_LATE


def test_kinds_beside_each_other_are_bought_for_requests_in_turn() -> None:
    """What each gets of a load holds with a seed that nothing was chosen by.

    It was left open, and a plan of one kind bought for 13,172 dollars. By chance, and
    not in turn, the one in a host of its own gets 3.6 points more late than it may.
    """
    question: dict[str, Any] = {
        "model": "llama-3.1-8b",
        "accelerators": "l40s,rtx-4090",
        "request_rate": "10/s",
        "isl": 800,
        "osl": 200,
        "ttft": "300ms",
        "target": "25tok/s",
        "time_limit": "120s",
    }
    plan = planopt.solve(**question)
    assert (plan.status, plan.price_usd) == ("optimal", 10_682)
    loads = [each.evaluation.under_load for each in plan.deployments]
    rates = [load.requests_per_second or 0.0 for load in loads if load is not None]
    assert len(rates) == 2
    catalog = open_catalog()
    asked = Asked.by_user("solve", question)
    with Solver() as solver:
        problem = Serving().read(asked, catalog, solver).problem
    for each, rate in zip(plan.deployments, rates, strict=True):
        share = rate / sum(rates)
        trial = Trial(requests=50_000, seed=90_210)
        shown = trial.of(catalog, problem, of_deployment(problem, each, share))
        assert shown is not None
        assert shown.slo_violation is not None
        assert shown.slo_violation.ttft.mean <= MOST_LATE
        assert shown.slo_violation.tpot.mean <= MOST_LATE


def test_most_throughput_keeps_its_promises() -> None:
    """It was proven with a TTFT of 1,959 ms for 1 s asked."""
    plan = planopt.solve(
        model="llama-3.1-70b",
        weights="fp8",
        accelerators="h100-sxm",
        max_accelerators=8,
        isl=3000,
        osl=500,
        ttft="1s",
        target="30ms/tok",
        objective="throughput",
        engine="trtllm",
        time_limit="120s",
    )
    kept(plan)
    (deployment,) = plan.deployments
    ttft = deployment.evaluation.ttft_seconds.p95
    assert ttft is not None
    assert ttft <= 1
    # Nothing shows that more is not possible.
    assert plan.status == "feasible"
    assert plan.gap is not None
    assert plan.gap > 0


def asked_of_l40s(ttft: str, requests: str) -> dict[str, Any]:
    return {
        "model": "llama-3.1-8b",
        "accelerators": "l40s",
        "target": "20tok/s",
        "ttft": ttft,
        "request_rate": requests,
        "time_limit": "120s",
    }


def on_l40s(ttft: str, requests: str) -> planopt.Plan:
    return planopt.solve(**asked_of_l40s(ttft, requests))


def test_what_no_unit_can_beat_is_optimal_and_holds() -> None:
    plan = on_l40s(ttft="1s", requests="4/s")
    kept(plan)
    assert plan.status == "optimal"
    assert plan.bound_usd == plan.price_usd


def test_a_dearer_plan_is_proven_where_the_cheaper_one_is_late() -> None:
    """A single unit carries all by the fluid bound, and is late when simulated.

    So may two pools of one card each, which runs refuse.
    """
    with Solver() as solver:
        read = Asked.by_user("solve", asked_of_l40s(ttft="120ms", requests="6/s"))
        question = Serving().read(read, open_catalog(), solver)
        (choice,) = settle.settled([(question, question.buy())])
        assert choice is not None
        of_both, two = better_of(question, choice)
    price = round(choice.build.price_usd * MICRO_USD)
    assert choice.purchase.status == "optimal"
    assert choice.purchase.bound_micro_usd == price
    assert sum(line.quantity for line in choice.build.bill_of_materials[:1]) > 1
    assert of_both is not None
    assert of_both.purchase.status == "optimal"
    assert of_both.purchase.bound_micro_usd == price
    assert two.bound == choice.build.price_usd


def test_a_clock_that_ends_over_much_dearer_kinds_is_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the closed form buys is simulated then, and is the plan if it holds."""
    usual = on_l40s(ttft="1s", requests="4/s")
    asked = settle._asked

    def ended(asks: Any) -> Any:
        told: Any = asked(asks)
        return [replace(each, ended="time", value=100 * each.value) for each in told]

    monkeypatch.setattr(settle, "_asked", ended)
    plan = on_l40s(ttft="1s", requests="4/s")
    kept(plan)
    assert (plan.status, plan.why) == ("feasible", "time")
    assert usual.price_usd is not None
    assert plan.price_usd is not None
    # The distance is that of what was bought, not of the dear one.
    assert plan.gap == pytest.approx(1 - usual.price_usd / plan.price_usd)


def test_a_faster_promise_is_never_cheaper() -> None:
    """The price staircase: what keeps a faster promise keeps the slower one as well."""
    prices = [
        planopt.solve(
            model="llama-3.1-8b",
            accelerators="l40s,rtx-4090",
            ttft="1s",
            request_rate="3/s",
            isl=400,
            osl=150,
            target=f"{target}tok/s",
        ).price_usd
        for target in (12, 24, 36)
    ]
    assert None not in prices
    assert prices == sorted(prices, key=float)  # type: ignore[arg-type]


def test_what_holds_at_a_slower_promise_is_not_paid_twice() -> None:
    """Of issue 24: $9.78 an hour at 14 tok/s, where half of it holds."""
    prices = [
        planopt.solve(
            model="llama-3.3-70b",
            weights="fp8",
            accelerators="b200",
            procurement="rent",
            request_rate="6/s",
            isl=1500,
            osl=400,
            ttft="2s",
            target=f"{target}tok/s",
            time_limit="120s",
        ).cost.usd_per_hour
        for target in (12, 14)
    ]
    assert prices[0] is not None
    assert prices[0] == prices[1]


def test_what_is_missed_is_told_as_it_is() -> None:
    assert missing("p95", {"TTFT": 1.2}) == "TTFT at p95 is 20% longer than promised"
    # No percentage of what is within its promise, and not surely.
    assert "%" not in missing("p95", {"TTFT": 0.99})


def test_what_all_users_are_too_many_for_is_looked_at_once() -> None:
    plan = planopt.solve(
        model="llama-3.1-70b",
        target="12tok/s",
        ttft="2s",
        concurrency=16,
        percentile="p95",
        time_limit="120s",
    )
    assert plan.status == "optimal"
    # Some forty; two thousand where a replica that is late with all 16 was asked again.
    assert (plan.search.simulations or 0) < 200


RATES = (
    {"request_rate": "2/s", "ttft": "5s", "context": 2048},
    {"request_rate": "5/s", "target": "10tok/s", "redundancy": 1},
    {"request_rate": "5/s", "load": "steady", "redundancy": 1},
    {"throughput": "600tok/s", "target": "20tok/s", "context": 2048},
    {"throughput": "600tok/s", "load": "steady", "redundancy": 1},
)


@pytest.mark.parametrize("asked", RATES)
def test_what_is_asked_of_all_is_left_whichever_replica_fails(
    asked: dict[str, Any],
) -> None:
    cards = ["rx-7900-xtx", "r9700"]
    plan = planopt.solve(model="llama-3.1-8b", accelerators=cards, **asked)

    assert plan.status != "infeasible"
    assert all(promise.held for promise in plan.promises)
    assert not planopt.verify(plan).mismatches
    # Each of these replicas alone is asked for less than all of them supply.
    spare = asked.get("redundancy", 0)
    each = sorted(
        (rate(one) / one.replicas)
        for one in plan.deployments
        for _ in range(one.replicas)
    )
    demand = plan.request.throughput_tokens_per_second or 0.0
    assert sum(each[: len(each) - spare]) >= demand * 0.98


def rate(one: Deployment) -> float:
    load = one.evaluation.under_load
    if load is not None and load.tokens_per_second is not None:
        return load.tokens_per_second
    return (one.evaluation.decode.tokens_per_second or 0.0) * one.replicas


def test_a_hurried_run_is_as_full_as_a_long_one() -> None:
    # 800 are in the engines, and fill them slowly. Runs that ended before answered a
    # twentieth less, each token too soon.
    given = {"model": "llama-3.1-8b", "request_rate": "20/s", "ttft": "5s"}
    asked = {**given, "context": 2048, "accelerators": "r9700", "host": "pcie-4gpu"}
    with Solver() as solver:
        read = Asked.by_user("solve", asked)
        question = Serving().read(read, open_catalog(), solver).about(is_brief=True)
        (choice,) = settle.settled([(question, question.buy())])
    assert choice is not None
    loads = [each.evaluation.under_load for each in choice.build.deployments]
    answered = sum(load.requests_per_second or 0.0 for load in loads if load)
    assert 0.98 * 20 <= answered <= 1.02 * 20
