"""Spare hosts of a training run: how many, what they cost, what they are good for."""

from __future__ import annotations

from math import exp, isclose
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.errors import InputError

if TYPE_CHECKING:
    from planopt.documents.training import TrainingDocument

WANTED = 0.99
"""Availability of the bundled assumptions."""


SWITCH_WATTS = 1720.0
"""Of one of the network below, as the catalog has it."""


def run(**changes: Any) -> TrainingDocument:
    options: dict[str, Any] = {
        "accelerator": "a100-sxm-80",
        "host": "hgx-a100-640",
        "network": "infiniband-400g",
        "tp": 8,
        "dp": 256,
        "global_batch": 1024,
        "sequence_parallel": True,
        "shard": "zero3",
        "tokens": "2T",
        **changes,
    }
    return planopt.evaluate_training(**options)


def hosts_bought(document: TrainingDocument) -> int:
    (hosts,) = (each for each in document.bill_of_materials if each.kind == "host")
    return hosts.quantity


def test_the_fewest_hosts_are_spared_that_suffice() -> None:
    failures = run().failures
    assert failures.availability is not None
    assert failures.spare_hosts is not None
    fewer = run(redundancy=failures.spare_hosts - 1).failures.availability

    assert fewer is not None
    assert fewer < WANTED <= failures.availability


def test_hosts_away_are_those_that_failed_within_a_repair() -> None:
    failures = run().failures
    assert failures.interval_seconds is not None
    assert failures.hosts_away is not None
    assert isclose(failures.hosts_away * failures.interval_seconds, 86_400)
    alone = run(redundancy=0).failures.availability
    assert alone is not None
    assert isclose(alone, exp(-failures.hosts_away))


def test_without_spares_a_run_waits_for_repairs() -> None:
    usual, without = run(), run(redundancy=0)
    for part in (usual, without):
        assert part.days is not None
        assert part.goodput is not None
        assert part.failures.availability is not None
    assert without.days > usual.days  # type: ignore[operator] # not None, see above
    # All else of the goodput is alike.
    ratio = without.goodput / usual.goodput  # type: ignore[operator] # as above
    availability = without.failures.availability / usual.failures.availability  # type: ignore[operator] # as above
    assert isclose(ratio, availability, rel_tol=1e-12)


def test_spares_are_bought_with_their_place_in_the_network_and_draw_nothing() -> None:
    # Two tiers of switches, with and without.
    none, ten = run(dp=128, redundancy=0), run(dp=128, redundancy=10)

    assert (none.hosts, ten.hosts) == (128, 128)
    assert hosts_bought(none) == 128
    assert hosts_bought(ten) == 138
    nics = {each.kind: each.quantity for each in ten.bill_of_materials}["nic"]
    assert nics == 138 * (ten.hardware.nics_per_host or 0)
    assert none.power_watts is not None
    assert ten.power_watts is not None
    # More NICs take more switches, and nothing else draws more.
    switches = ten.hardware.switch_count - none.hardware.switch_count
    assert ten.power_watts - none.power_watts == switches * SWITCH_WATTS


def test_a_few_hosts_need_none() -> None:
    small = run(dp=2, global_batch=64)
    assert small.failures.spare_hosts == 0
    assert small.failures.availability is not None
    assert small.failures.availability >= WANTED


def test_the_article_knows_of_no_repair() -> None:
    article = run(assumptions="article", host=None, network=None, tp=1, dp=1)
    assert article.failures.spare_hosts == 0
    assert article.failures.availability == 1.0


def test_a_plan_without_spares_hears_of_them() -> None:
    plan = planopt.train(
        model="llama-2-70b",
        tokens="2T",
        deadline="30d",
        accelerators="a100-sxm-80",
        redundancy=0,
    )
    assert plan.status == "infeasible"
    assert plan.infeasibility is not None
    options = [change.options for change in plan.infeasibility.nearest]
    assert {"redundancy": ""} in options


@pytest.mark.parametrize("redundancy", [-1, 1.5, "many"])
def test_spares_are_counted(redundancy: object) -> None:
    with pytest.raises(InputError, match="E003"):
        run(redundancy=redundancy)
