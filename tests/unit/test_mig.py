"""Cards divided into instances: shares of one, bought whole, with no link between."""

from __future__ import annotations

import json
from typing import Any

import pytest

import planopt
from planopt.errors import InputError

SMALL: dict[str, Any] = {
    "model": "llama-3.2-1b",
    "target": "40tok/s",
    "concurrency": 30,
    "load": "steady",
}


def test_instances_are_shares_of_a_card_that_is_bought_whole() -> None:
    whole = planopt.solve(**SMALL, accelerators="a100-pcie-80")
    plan = planopt.solve(**SMALL, accelerators="a100-pcie-80@1g.10gb")

    (one,), (of_whole,) = plan.deployments, whole.deployments
    assert one.candidate.accelerators == 1
    assert one.replicas <= 7
    memory, card = one.evaluation.memory, of_whole.evaluation.memory
    assert memory is not None
    assert card is not None
    assert memory.capacity_bytes == pytest.approx(card.capacity_bytes / 8)
    line = next(e for e in plan.bill_of_materials if e.kind == "accelerator")
    assert (line.quantity, line.unit_price_usd) == (1, 11_000)
    # An eighth of the bandwidth takes eight times as long, or more.
    decode, other = one.evaluation.decode, of_whole.evaluation.decode
    assert (decode.memory_seconds or 0.0) > 7 * (other.memory_seconds or 0.0) / 2
    assert not planopt.verify(plan).mismatches
    assert whole.totals.accelerators == plan.totals.accelerators == 1


def test_boards_hold_seven_times_their_cards() -> None:
    asked = {**SMALL, "concurrency": 500}
    plan = planopt.solve(**asked, accelerators="h100-sxm@1g.10gb")
    (one,) = plan.deployments
    cards = sum(e.quantity for e in plan.bill_of_materials if e.kind == "accelerator")
    assert one.replicas <= 7 * cards
    assert cards % 4 == 0
    assert not planopt.verify(plan).mismatches


def test_no_replica_is_on_several_instances() -> None:
    large = {**SMALL, "model": "llama-2-13b"}
    assert planopt.solve(**large, accelerators="h100-sxm@1g.10gb").status != "optimal"
    assert planopt.solve(**large, accelerators="h100-sxm@3g.40gb").status == "optimal"


def test_a_card_that_costs_a_seventh_was_forged() -> None:
    plan = planopt.solve(**SMALL, accelerators="a100-pcie-80@1g.10gb")
    document = json.loads(plan.to_json())
    document["price_usd"] -= 6 * 11_000 / 7
    for bill in (document, document["deployments"][0]):
        line = next(e for e in bill["bill_of_materials"] if e["kind"] == "accelerator")
        line["unit_price_usd"] = line["price_usd"] = 11_000 / 7
    forged = type(plan).from_json(json.dumps(document))
    assert planopt.verify(forged).mismatches


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(InputError):
        planopt.solve(**SMALL, accelerators="a100-pcie-80@5g.10gb")
