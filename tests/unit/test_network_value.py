"""What the network of a cluster is worth: the plan on slower and on faster ones."""

from __future__ import annotations

from typing import Any

import pytest

import planopt

STEADY: dict[str, Any] = {
    "model": "llama-2-70b",
    "target": "5tok/s",
    "load": "steady",
    "accelerators": "rtx-4090",
    "time_limit": "60s",
}
UNDER_LOAD: dict[str, Any] = {
    "model": "llama-2-13b",
    "request_rate": "0.1/s",
    "ttft": "5s",
    "target": "5tok/s",
    "accelerators": "rtx-4090",
    "host": "desktop",
    "time_limit": "60s",
}


@pytest.mark.parametrize("asked", [STEADY, UNDER_LOAD], ids=["steady", "load"])
def test_plans_on_the_next_networks_are_priced(asked: dict[str, Any]) -> None:
    plan = planopt.solve(**asked)
    assert plan.price_usd is not None
    used = {each.hardware.network for each in plan.deployments}
    told = [each for each in plan.sensitivity if each.change.startswith("--network ")]
    assert used != {None}
    assert told
    for each in told:
        names = each.change.removeprefix("--network ")
        assert not used & set(names.split(","))
        other = planopt.solve(**asked, network=names)
        assert each.price_usd == other.price_usd
        # No network is better than that of the plan.
        assert other.price_usd is None or other.price_usd >= plan.price_usd
        same = other.bill_of_materials == plan.bill_of_materials
        assert each.choice_changes is not same
    assert planopt.verify(plan)


def test_a_network_that_was_asked_for_has_no_others() -> None:
    plan = planopt.solve(**STEADY, network="ethernet-1g")
    assert not any(each.change.startswith("--network") for each in plan.sensitivity)
