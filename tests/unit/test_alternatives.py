"""Alternatives differ by the accelerator, and by whether it is rented."""

from __future__ import annotations

from planopt import solve


def test_each_accelerator_is_told_once() -> None:
    named = "h100-sxm,h200-sxm,b200,mi300x,rtx-4090,rtx-5090,l40s,a100-sxm-80,a40"
    plan = solve(model="llama-3.1-70b", target="20tok/s", accelerators=named)
    told = [each.candidate and each.candidate.accelerator for each in plan.alternatives]
    (chosen,) = plan.deployments
    assert len(told) >= 3
    assert len(set(told)) == len(told)
    assert chosen.candidate.accelerator not in told
    prices = [each.price_usd or 0.0 for each in plan.alternatives]
    assert prices == sorted(prices)


def test_what_is_rented_stands_beside_what_is_bought() -> None:
    plan = solve(
        model="llama-3.1-8b",
        target="5tok/s",
        accelerators="rtx-4090",
        procurement="both",
    )
    kinds = [
        each.bill_of_materials[0].usd_per_hour is not None for each in plan.alternatives
    ]
    assert len(kinds) <= 1
