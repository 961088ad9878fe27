"""Racks of 72 as hosts, and networks of 800 Gbit/s that few accelerators can use."""

from __future__ import annotations

import json
from typing import Any

import pytest

import planopt

RUN: dict[str, Any] = {
    "model": "llama-3.1-70b",
    "tokens": "2T",
    "deadline": "60d",
    "accelerators": "gb300",
    "max_accelerators": 576,
    "top": 1,
}
XDR = {"sw-q3400": 190_000, "cable-xdr": 3_000, "uplink-xdr": 4_000}


@pytest.mark.parametrize(
    ("network", "prices"), [("ethernet-800g", None), ("infiniband-800g", XDR)]
)
def test_racks_are_bought_whole_and_joined(
    network: str, prices: dict[str, float] | None
) -> None:
    plan = planopt.train(**RUN, network=network, prices=prices)

    (one,) = plan.deployments
    assert (one.hardware.host, one.hardware.network) == ("gb300-nvl72", network)
    assert one.hardware.hosts > 1
    lines = {line.kind: line for line in plan.bill_of_materials}
    # Accelerators and NICs are in the rack's price, optics are not.
    assert not lines.keys() & {"accelerator", "nic"}
    assert lines["host"].quantity * 6_250_000 == lines["host"].price_usd
    assert lines["cable"].price_usd
    assert not planopt.verify(plan).mismatches


def test_one_rack_is_one_domain() -> None:
    plan = planopt.solve(
        model="deepseek-v3",
        weights="fp8",
        accelerators="gb200",
        target="30tok/s",
        concurrency=500,
        load="steady",
    )
    (one,) = plan.deployments
    assert one.hardware.hosts == 1
    assert one.candidate.ep > 8
    assert not planopt.verify(plan).mismatches


def test_what_has_no_price_is_not_bought() -> None:
    plan = planopt.train(**RUN, network="infiniband-800g")
    assert plan.status == "infeasible"
    assert plan.infeasibility is not None
    assert "networks" in {each.name for each in plan.infeasibility.binding}


def test_an_older_bus_does_not_carry_800_gbit() -> None:
    asked = {**RUN, "accelerators": "b200", "tokens": "500B"}
    assert planopt.train(**asked, network="ethernet-800g").status == "infeasible"
    plan = planopt.train(**asked, network="ethernet-400g-optical")
    document = json.loads(plan.to_json())
    document["deployments"][0]["hardware"]["network"] = "ethernet-800g"
    forged = type(plan).from_json(json.dumps(document))
    assert planopt.verify(forged).mismatches
