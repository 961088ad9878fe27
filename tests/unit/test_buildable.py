"""Nothing is proposed that nobody sells, that fits nowhere, or that no engine runs."""

from __future__ import annotations

from typing import Any

import pytest

import planopt
from planopt.catalog.open import open_catalog
from planopt.errors import InputError

TWO_CARDS: dict[str, Any] = {
    "model": "llama-3.1-70b",
    "weights": "int4",
    "accelerators": "rtx-5090",
    "max_accelerators": 2,
    "concurrency": 1,
    "target": "8tok/s",
    "load": "steady",
}


def test_rdma_networks_have_cables_and_these_are_bought() -> None:
    """HDR had none: its price was that of NICs and switches alone."""
    catalog = open_catalog()
    for each in catalog.list("network"):
        if catalog.text("networks", each.id, "transport") == "rdma":
            figures = catalog.figures("networks", each.id)
            assert "cable.id" in figures, each.id
            # Without a price of them nothing over the network is bought.
            assert "cable.price" in figures or "switch[0].price" not in figures
    plan = planopt.train(
        "llama-2-7b",
        tokens="100B",
        deadline="2d",
        accelerators="h100-sxm",
        network="infiniband-200g",
        max_accelerators=128,
    )
    kinds = {line.kind: line.quantity for line in plan.bill_of_materials}
    assert kinds["cable"] >= kinds["nic"]


def test_two_cards_of_one_replica_stand_in_one_machine() -> None:
    """Two desktops over gigabit, as no desktop held two cards."""
    plan = planopt.solve(**TWO_CARDS)
    assert plan.status == "optimal"
    (deployment,) = plan.deployments
    assert deployment.hardware.hosts == 1
    assert deployment.hardware.network is None


def test_llama_cpp_divides_no_stage_among_hosts() -> None:
    asked = {**TWO_CARDS, "engine": "llama-cpp", "host": "desktop"}
    for network in ("ethernet-1g", "ethernet-10g"):
        plan = planopt.solve(**asked, network=network)
        assert plan.deployments
        for each in plan.deployments:
            assert each.candidate.tp == 1


@pytest.mark.parametrize("accelerator", ["gaudi3", "mi300x", "b200"])
def test_boards_of_eight_go_into_no_host_of_four(accelerator: str) -> None:
    asked: dict[str, Any] = {
        "model": "llama-3.1-8b",
        "accelerators": accelerator,
        "load": "steady",
    }
    none = planopt.solve(**asked, host="hgx-4,pcie-4gpu")
    assert none.status == "infeasible"
    (deployment,) = planopt.solve(**asked).deployments
    assert deployment.hardware.host in {"hgx-8", "dgx-b200"}


def test_a_percentile_is_promised_on_no_marketplace_unless_asked() -> None:
    asked: dict[str, Any] = {
        "model": "llama-3.1-8b",
        "target": "20tok/s",
        "procurement": "rent",
        "time_limit": "30s",
    }
    catalog = open_catalog()
    plan = planopt.solve(**asked)
    assert plan.bill_of_materials
    for line in plan.bill_of_materials:
        provider = line.id.partition("/")[0]
        assert catalog.text("offers", provider, "class") != "marketplace"
    (left_out,) = [each for each in plan.not_considered if each.what == "offers"]
    assert "marketplace" in left_out.why
    assert "vast" in left_out.names
    anybody = planopt.solve(**asked, provider_class="any")
    assert (anybody.cost.usd_per_hour or 0.0) < (plan.cost.usd_per_hour or 0.0)


def test_a_nic_that_no_slot_takes_is_refused() -> None:
    """800 Gbit/s need PCIe 6: cards of an older one were evaluated over it."""
    asked: dict[str, Any] = {"model": "llama-3.1-405b", "tp": 8, "pp": 2}
    asked["network"] = "ethernet-800g"
    with pytest.raises(InputError) as refused:
        planopt.evaluate(accelerator="h100-sxm", **asked)
    (problem,) = refused.value.diagnostics
    assert (problem.code, problem.field) == ("E004", "--network")
    assert "PCIe 6" in problem.message
    assert "ethernet-400g" in (problem.accepted or "")
    assert "800g" not in (problem.accepted or "")
    assert planopt.evaluate(accelerator="b300", **asked).feasible
