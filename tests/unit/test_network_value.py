"""What the network of a cluster is worth: the plan on slower and on faster ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import planopt

if TYPE_CHECKING:
    from pathlib import Path

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


TWO_THOUSAND: dict[str, Any] = {
    "model": "llama-3.1-70b",
    "tokens": "15T",
    "global_batch": 2048,
    "seq_len": 8192,
    "deadline": "92d",
    "accelerators": "h100-sxm",
    "network": "ethernet-400g-optical",
}
ROCE = "networks/ethernet-400g-optical.toml"


def test_two_thousand_cards_over_roce_are_joined_by_light() -> None:
    plan = planopt.train(**TWO_THOUSAND)
    bought = {each.id: each.quantity for each in plan.bill_of_materials}
    assert plan.deployments[0].evaluation.accelerators == 2048
    # Leaves and spines of 128 ports; optics and fibre for each NIC and each uplink.
    nics = bought["nic-connectx7-400g"]
    leaves = -(-nics // 64)
    assert bought["sw-sn5600"] > leaves > 1
    assert bought["cable-400g-optical"] == nics
    assert bought["uplink-400g-optical"] == leaves * 64
    assert planopt.verify(plan)


def oversubscribed(folder: Path, repository: Path, ratio: int) -> list[str]:
    """Write the network with so many ports to hosts for one to spines."""
    text = (repository / "catalogs" / ROCE).read_text(encoding="utf-8")
    (folder / "networks").mkdir(exist_ok=True)
    said = f"oversubscription = {ratio}\n[nic]"
    (folder / ROCE).write_text(text.replace("[nic]", said), encoding="utf-8")
    return [str(folder)]


def test_fewer_uplinks_cost_less_and_the_bill_says_so(
    tmp_path: Path, repository: Path
) -> None:
    even = planopt.train(**TWO_THOUSAND)
    two = planopt.train(**TWO_THOUSAND, catalog=oversubscribed(tmp_path, repository, 2))
    # Data-parallel neighbours stand few hosts apart: their leaf has uplinks enough.
    assert (two.price_usd or 0) < (even.price_usd or 0)
    (switch,) = (each for each in two.bill_of_materials if each.kind == "switch")
    assert switch.name.endswith(", leaves 2:1")
    assert planopt.verify(two)


@pytest.mark.parametrize("stages", [1, 64])
def test_rings_past_the_end_of_a_leaf_share_its_uplinks(
    tmp_path: Path, repository: Path, stages: int
) -> None:
    """Of 256 hosts 64 share a leaf; those of one stage stand `stages` hosts apart."""

    def waited(ratio: int) -> float:
        evaluation = planopt.evaluate_training(
            model="llama-2-7b" if stages == 1 else "llama-3.1-70b",
            accelerator="h100-sxm",
            network="ethernet-400g-optical",
            tp=8,
            pp=stages,
            dp=256 // stages,
            global_batch=2048,
            catalog=oversubscribed(tmp_path, repository, ratio),
        )
        return evaluation.step.data_seconds or 0.0

    even, two, four = (waited(ratio) for ratio in (1, 2, 4))
    if stages == 1:
        assert even == two == four > 0
    else:
        assert 0 < even < two < four
