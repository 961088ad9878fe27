"""What a run keeps in its host has to be there."""

from __future__ import annotations

from typing import Any

import pytest

import planopt

RUN: dict[str, Any] = {
    "tokens": "100M",
    "global_batch": 64,
    "seq_len": 4096,
    "micro_batch": 1,
    "recompute": "full",
    "offload": "optimizer",
}


@pytest.mark.parametrize(
    ("asked", "codes"),
    [
        # 81 GB in a desktop of 64, of which three quarters may be used.
        (
            {"model": "llama-2-7b", "accelerator": "rtx-pro-6000-blackwell"},
            ["host-memory"],
        ),
        ({"model": "llama-3.2-1b", "accelerator": "rtx-4090"}, []),
        # One memory is not there twice.
        ({"model": "llama-3.2-1b", "accelerator": "ryzen-ai-max-395"}, ["host-memory"]),
    ],
)
def test_the_host_holds_what_rests_in_it(
    asked: dict[str, Any], codes: list[str]
) -> None:
    host = "beelink-gtr9-pro" if asked["accelerator"].startswith("ryzen") else "desktop"
    found = planopt.evaluate_training(**RUN, **asked, host=host)
    assert [each.code for each in found.rejections] == codes


def test_a_machine_with_its_own_accelerator_is_no_price_of_another() -> None:
    asked: dict[str, Any] = {"model": "llama-2-7b", "host": "beelink-gtr9-pro"}
    own = planopt.evaluate_training(**asked, accelerator="ryzen-ai-max-395")
    other = planopt.evaluate_training(**asked, accelerator="b200")
    assert own.cost.price_usd
    assert not other.cost.price_usd
    assert not other.bill_of_materials
