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


def test_two_thousand_cards_over_roce_are_joined_by_light() -> None:
    plan = planopt.train(
        model="llama-3.1-70b",
        tokens="15T",
        global_batch=2048,
        seq_len=8192,
        deadline="92d",
        accelerators="h100-sxm",
        network="ethernet-400g-optical",
    )
    bought = {each.id: each.quantity for each in plan.bill_of_materials}
    assert plan.deployments[0].hardware.accelerators == 2048
    # Leaves and spines of 128 ports; optics and fibre for each NIC and each uplink.
    nics = bought["nic-connectx7-400g"]
    leaves = -(-nics // 64)
    assert bought["sw-sn5600"] > leaves > 1
    assert bought["cable-400g-optical"] == nics + leaves * 64
    assert planopt.verify(plan)
