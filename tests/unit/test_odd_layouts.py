"""Layouts that can be computed, but that nobody would run, are for who asks so."""

from __future__ import annotations

from typing import Any

import planopt

# Four desktops with one card each: no one of them holds the model.
DESKTOPS: dict[str, Any] = {
    "model": "llama-3.1-70b",
    "weights": "int4",
    "accelerators": "rtx-4090",
    "host": "desktop",
    "network": "ethernet-10g",
    "concurrency": 1,
    "load": "steady",
    "objective": "latency",
    "budget": 20_000,
}


def _bought(**said: Any) -> planopt.Plan:
    return planopt.solve(**{**DESKTOPS, **said})


def test_over_tcp_only_pipelines_go_from_host_to_host() -> None:
    plan = _bought()
    (deployment,) = plan.deployments
    assert deployment.candidate.tp == 1
    assert deployment.candidate.pp > 1
    assert any("TCP" in name for each in plan.not_considered for name in each.names)


def test_who_asks_for_it_gets_stages_over_several_hosts() -> None:
    plan, odd = _bought(), _bought(allow_odd=True)
    (deployment,) = odd.deployments
    assert deployment.candidate.tp > 1
    speeds = [
        each.deployments[0].evaluation.decode.tokens_per_second_per_user or 0.0
        for each in (plan, odd)
    ]
    assert speeds[1] > speeds[0]
    assert not any("TCP" in name for each in odd.not_considered for name in each.names)


def test_over_rdma_stages_may_go_from_host_to_host() -> None:
    plan = _bought(network="ethernet-100g-cx5")
    assert plan.deployments[0].candidate.tp > 1
