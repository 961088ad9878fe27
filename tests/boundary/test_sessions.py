"""Sessions as they are asked about: what is found is an outcome."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import planopt

if TYPE_CHECKING:
    from planopt.documents.evaluation import (
        EvaluationDocument,
        ServingEvaluation,
        Sessions,
    )

ON_ONE_HOST: dict[str, Any] = {
    "model": "glm-4.5",
    "weights": "fp8",
    "accelerator": "b200",
    "tp": 8,
}


def asked(**options: Any) -> EvaluationDocument:
    return planopt.evaluate(**{**ON_ONE_HOST, **options})


def sessions_of(document: ServingEvaluation) -> Sessions:
    assert document.under_load is not None
    assert document.under_load.sessions is not None
    return document.under_load.sessions


def test_agents_find_what_they_have_said() -> None:
    document = asked(sessions=30)
    sessions = sessions_of(document)
    assert sessions.alive == 30
    # TraceLab: 98 % after tools; the mean prompt stands in the catalog too.
    assert sessions.all_hit_rate == pytest.approx(0.98, abs=0.005)
    assert document.context_tokens == pytest.approx(85_600 + 520, rel=0.02)
    assert 0.96 < sessions.hit_rate <= sessions.all_hit_rate
    assert sessions.needed_kv_tokens < sessions.kv_tokens
    assert sessions.ended > 500
    assert (document.ttft_seconds.p50 or 9.0) < 0.5
    assert not document.warnings


def test_past_the_cliff_they_thrash_and_it_says_so() -> None:
    document = asked(sessions=80)
    sessions = sessions_of(document)
    assert sessions.thrashes
    assert sessions.hit_rate < 0.6
    assert (document.ttft_seconds.p50 or 0.0) > 60
    (warning,) = document.warnings
    assert warning.code == "W013"
    assert "thrash" in warning.message
    assert sessions_of(asked(sessions=80, kv="fp8")).hit_rate > 0.95


@pytest.mark.parametrize(
    ("memory", "least", "most"),
    [("2TB", 0.94, 0.97), ("400GB", 0.08, 0.3)],
)
def test_what_hosts_keep_is_looked_for_when_a_turn_comes(
    memory: str, least: float, most: float
) -> None:
    """Forty keep five times what the card has: all of it is in 2 TB, in 400 GB a third.

    Who stands in line for minutes has nothing kept for him by having asked early.
    """
    document = asked(
        model="llama-3.1-8b",
        weights=None,
        kv="fp8",
        tp=1,
        accelerator="h100-sxm",
        host="hgx-8",
        engine="vllm",
        sessions=40,
        turns=20,
        grow=1600,
        osl=100,
        shared=4000,
        think="5s",
        host_cache=memory,
    )
    assert least < sessions_of(document).hit_rate < most


@pytest.mark.parametrize(
    ("workload", "all_hit_rate", "prompt"),
    [("assistant", 0.908, 4_200), ("rag-chat", 0.698, 15_500)],
)
def test_workloads_come_to_what_their_sources_say(
    workload: str, all_hit_rate: float, prompt: int
) -> None:
    document = asked(sessions=10, workload=workload)
    sessions = sessions_of(document)
    assert sessions.all_hit_rate == pytest.approx(all_hit_rate, abs=0.01)
    assert document.context_tokens == pytest.approx(prompt + 320, rel=0.05)


def test_what_is_said_of_sessions_takes_the_place_of_the_workloads() -> None:
    long = sessions_of(asked(sessions=10, turns=40, grow=500, shared=0, think="20s"))
    short = sessions_of(asked(sessions=10, turns=2, grow=500, shared=0, think="20s"))
    assert short.all_hit_rate < long.all_hit_rate
    assert short.needed_kv_tokens < long.needed_kv_tokens


def test_a_hit_rate_that_is_given_is_taken() -> None:
    sessions = sessions_of(asked(sessions=10, prefix_hit_rate="50%"))
    assert sessions.hit_rate == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("options", "about"),
    [
        ({"turns": 3}, "of which sessions?"),
        ({"router": "hash"}, "for whose prompts?"),
        ({"host_cache": "1TB"}, "for whose prompts?"),
        ({"sessions": 3, "host_cache": "3TB"}, "what each host has"),
        ({"sessions": 3, "shared_store": True}, "a store of what?"),
        (
            {"sessions": 3, "cache_disks": 1, "shared_store": True, "engine": "vllm"},
            "others do not read",
        ),
        ({"sessions": 3, "workload": "chat"}, "says nothing of sessions"),
        ({"sessions": 3, "users": 3}, "both say how many ask"),
        ({"sessions": 3, "prompt": 900}, "both say how long prompts are"),
        ({"sessions": 3, "load": "steady"}, "steps that are all alike"),
    ],
)
def test_what_cannot_be_is_told(options: dict[str, Any], about: str) -> None:
    with pytest.raises(planopt.InputError, match=about.replace("?", r"\?")):
        asked(**options)


BOUGHT: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "weights": "fp8",
    "workload": "assistant",
    "target": "20tok/s",
    "ttft": "2s",
    "accelerators": "l40s",
}


def test_a_hit_rate_that_is_given_is_bought_for() -> None:
    plan = planopt.solve(**BOUGHT, sessions=40, prefix_hit_rate="50%")
    (deployment,) = plan.deployments
    assert sessions_of(deployment.evaluation).hit_rate == pytest.approx(0.5, abs=0.01)
    assert plan.status == "optimal"
    assert planopt.verify(plan)


def test_solve_buys_for_sessions() -> None:
    plan = planopt.solve(**BOUGHT, sessions=40)
    assert plan.request.sessions == plan.request.concurrency == 40
    assert plan.request.workload == "assistant"
    assert all(each.held for each in plan.promises)
    (deployment,) = plan.deployments
    load = deployment.evaluation.under_load
    assert load is not None
    assert load.sessions is not None
    # Assistants think two minutes: hardly any are answered at the same time.
    assert deployment.candidate.batch < 10
    assert load.sessions.hit_rate > 0.85
    left_out = {name for each in plan.not_considered for name in each.names}
    assert "two pools" in left_out
    asked = {"--sessions 80", "--turns 8", "--prefix-hit-rate 90%"}
    assert {each.change for each in plan.sensitivity} >= asked
    assert planopt.verify(plan)
    # The same prompts, if all of each were read and nobody paused.
    cold = planopt.solve(
        **{**BOUGHT, "workload": "chat"}, concurrency=40, isl=4200, osl=350
    )
    assert (plan.price_usd or 0.0) <= (cold.price_usd or 0.0)


def test_more_sessions_cost_no_less() -> None:
    prices = [planopt.solve(**BOUGHT, sessions=n).price_usd or 0.0 for n in (40, 400)]
    assert 0.0 < prices[0] < prices[1]


def test_sessions_are_bought_for_with_a_time_to_wait() -> None:
    with pytest.raises(planopt.InputError) as refused:
        planopt.solve(**{**BOUGHT, "ttft": None}, sessions=40)
    assert "--ttft" in str(refused.value)


def test_disks_are_refused_where_an_engine_keeps_nothing_on_them(
    tmp_path: Path,
) -> None:
    calibrated = Path(__file__).parents[2] / "catalogs/assumptions/calibrated.toml"
    own = 'disks = { value = "own", source = "vllm-host-cache" }'
    file = tmp_path / "calibrated.toml"
    file.write_text(calibrated.read_text().replace(own, own.replace('"own"', '"none"')))
    told = {"sessions": 3, "engine": "vllm", "cache_disks": 1}
    with pytest.raises(planopt.InputError, match="keeps no cache on disks"):
        asked(**told, assumptions=str(file))


def test_what_hosts_are_bought_with_is_on_the_bill() -> None:
    plan = planopt.solve(**BOUGHT, sessions=40, extra_memory="2TB", cache_disks=2)
    bill = {each.kind: each for each in plan.bill_of_materials}
    hosts = bill["host"].quantity
    # DDR5 at $12.6 a GB, disks at $10,950.
    assert bill["memory"].price_usd == pytest.approx(hosts * 2000 * 12.6)
    assert bill["disks"].price_usd == pytest.approx(hosts * 2 * 10_950)
    assert planopt.verify(plan)
    (deployment,) = plan.deployments
    assert deployment.evaluation.under_load is not None
    sessions = deployment.evaluation.under_load.sessions
    assert sessions is not None
    assert [each.name for each in sessions.tiers] == ["host", "disk"]


def test_sessions_that_nothing_serves_are_told_what_would() -> None:
    plan = planopt.solve(**{**BOUGHT, "target": "2000tok/s"}, sessions=40)
    assert plan.status == "infeasible"
    assert plan.infeasibility is not None
    assert {each.name for each in plan.infeasibility.binding} >= {"target", "model"}
    assert plan.infeasibility.nearest


def test_hosts_without_so_much_memory_are_left_out() -> None:
    with pytest.raises(planopt.InputError, match="no host has 9000 GB for it"):
        planopt.solve(**BOUGHT, sessions=40, host_cache="9TB")
    plan = planopt.solve(**BOUGHT, sessions=40, host_cache="200GB")
    hosts = {each.hardware.host for each in plan.deployments}
    assert hosts
    usual = planopt.solve(**BOUGHT, sessions=40)
    assert hosts.isdisjoint({each.hardware.host for each in usual.deployments})


def test_a_store_of_all_is_bought_with_what_reads_it() -> None:
    asked = {**BOUGHT, "engine": "vllm", "kv_connector": "lmcache", "cache_disks": 1}
    plan = planopt.solve(**asked, sessions=40, router="random", shared_store=True)
    assert plan.request.engine["kv_connector"] == "lmcache"
    assert plan.request.engine["shared_store"] is True
    assert planopt.verify(plan)


def test_each_accelerator_is_compared_for_sessions() -> None:
    asked = {**BOUGHT, "accelerators": ["l40s", "h100-sxm"]}
    plans = planopt.compare(**asked, sessions=40)
    assert [plan.request.sessions for plan in plans] == [40, 40]
    alone = planopt.solve(**BOUGHT, sessions=40)
    assert plans[0].price_usd == alone.price_usd


def test_routers_change_what_is_found() -> None:
    hits = {
        router: sessions_of(asked(sessions=60, replicas=4, router=router)).hit_rate
        for router in ("even", "random", "cache-aware")
    }
    assert hits["even"] > 0.96
    assert hits["cache-aware"] > hits["even"] - 0.03
    assert hits["random"] < hits["even"] - 0.1


def test_a_batch_is_through_by_its_deadline() -> None:
    batch: dict[str, Any] = {
        "model": "llama-3.1-8b",
        "workload": "batch",
        "num_prompts": 1_000_000,
        "accelerators": "l40s",
    }
    plan = planopt.solve(**batch, deadline="8h")
    assert plan.request.requests_per_second == pytest.approx(1e6 / 8 / 3600)
    assert (plan.totals.requests_per_second or 0.0) >= 0.99 * 1e6 / 8 / 3600
    assert planopt.verify(plan)
    longer = planopt.solve(**batch, deadline="24h")
    assert (longer.price_usd or 0.0) < (plan.price_usd or 0.0)
    with pytest.raises(planopt.InputError, match="by when"):
        planopt.solve(**batch)
