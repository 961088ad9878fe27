"""What may fail: whichever parts do, what is left keeps the promises."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

import planopt
from planopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt.documents.plan import Plan

# Four small cards fit into one server, each with a replica of its own.
ASKED: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "target": "10tok/s",
    "concurrency": 24,
    "load": "steady",
    "accelerators": "rtx-4090",
    "host": "pcie-4gpu",
}
HOSTS = {**ASKED, "host": ["pcie-4gpu", "desktop"]}
CASES: tuple[tuple[dict[str, Any], str], ...] = (
    (ASKED, "device:1"),
    (ASKED, "host:1"),
    (ASKED, "host:2"),
    (HOSTS, "host:1"),
    (HOSTS, "rack:1"),
    (ASKED, "device:1,host:1,rack:1"),
    ({**ASKED, "concurrency": None, "throughput": "900tok/s"}, "host:1"),
    ({**ASKED, "model": "llama-3.1-70b", "network": "ethernet-100g-cx5"}, "switch:1"),
    # Neither implies the other.
    (ASKED, "device:6,host:1"),
    (HOSTS, "device:3,host:2"),
    (
        {**ASKED, "model": "llama-3.1-70b", "network": "ethernet-100g-cx5"},
        "host:2,switch:1",
    ),
)


def parts(plan: Plan, part: str) -> Iterator[tuple[int, float]]:
    """List what stands together: replicas, and the users or tokens of them all."""
    for one in plan.deployments:
        decode, replicas = one.evaluation.decode, one.replicas // one.units
        gives = float(one.candidate.batch * one.candidate.in_flight)
        if plan.request.throughput_tokens_per_second:
            gives = decode.tokens_per_second or 0.0
        together = {
            "device": 1,
            "host": replicas if one.hardware.hosts == 1 else 1,
            "switch": replicas,
            "rack": replicas,
        }[part]
        for _ in range(one.replicas // together):
            yield together, together * gives


@pytest.mark.parametrize(("asked", "redundancy"), CASES)
def test_what_is_left_carries_what_is_asked_whatever_fails(
    asked: dict[str, Any], redundancy: str
) -> None:
    plan = planopt.solve(**asked, redundancy=redundancy)

    assert plan.status == "optimal"
    assert not planopt.verify(plan).mismatches
    request = plan.request
    demand = request.throughput_tokens_per_second or request.concurrency or 0
    told = {str(each.domain): each for each in plan.failures}
    for each in redundancy.split(","):
        part, losses = each.split(":")
        standing = [*parts(plan, part)]
        all_replicas, all_of_it = map(sum, zip(*standing, strict=True))
        hung = part != "switch" or any(one.hardware.switch for one in plan.deployments)
        failed = itertools.combinations(standing, int(losses) if hung else 0)
        ways = [[map(sum, zip(*way, strict=True)) if way else (0, 0)] for way in failed]
        left = [
            (all_replicas - replicas, all_of_it - gives)
            for ((replicas, gives),) in ways
        ]
        assert min(gives for _, gives in left) >= demand
        assert told[part].losses == int(losses)
        assert told[part].replicas_left == min(replicas for replicas, _ in left)


def test_two_replicas_in_one_chassis_are_no_spare() -> None:
    in_one = planopt.solve(**ASKED, redundancy="device:1")
    apart = planopt.solve(**ASKED, redundancy=1)

    assert (in_one.totals.hosts, apart.totals.hosts) == (1, 2)
    assert apart.request.redundancy == {"host": 1}
    assert (in_one.price_usd or 0.0) < (apart.price_usd or 0.0)
    # The one called the other.
    forged = structs.replace(
        in_one,
        request=structs.replace(in_one.request, redundancy={"host": 1}),
        failures=apart.failures,
    )
    fields = {each.field for each in planopt.verify(forged).mismatches}
    assert {"failures", "request.concurrency", "request.redundancy.host"} <= fields


def test_steps_of_fewer_users_have_more_time() -> None:
    """Predicted for all places, and held to for the users that are asked for."""
    asked = {"load": None, "concurrency": 120, "accelerators": "rtx-4090,l40s"}
    asked |= {"host": None, "network": "ethernet-25g", "target": "30tok/s"}
    plan = planopt.solve(**{**ASKED, **asked}, redundancy="host:1")

    held = {each.name: each for each in plan.promises}
    assert (held["concurrency"].predicted or 0) > 120
    assert not planopt.verify(plan).mismatches


def test_any_instance_may_go() -> None:
    asked = {**ASKED, "accelerators": "l40s", "host": None, "procurement": "rent"}
    plan = planopt.solve(**asked, redundancy=1)

    assert all(one.hardware.terms for one in plan.deployments)
    assert (plan.totals.hosts or 0) > 1
    assert not planopt.verify(plan).mismatches


def test_more_than_one_kind_under_a_load() -> None:
    asked = {**ASKED, "load": None, "concurrency": None, "request_rate": "12/s"}
    both = planopt.solve(**asked, redundancy="device:6,host:1")
    each = [planopt.solve(**asked, redundancy=one) for one in ("device:6", "host:1")]

    assert not planopt.verify(both).mismatches
    assert (both.price_usd or 0.0) >= max(one.price_usd or 0.0 for one in each)
    assert {each.domain: each.losses for each in both.failures} == {
        "device": 6,
        "host": 1,
    }


def largest(plan: Plan, part: str = "host") -> float:
    """Return the share of the demand that the fullest part must carry, spread evenly.

    Each carries as much as it can, and all as little as they may: the level that fills
    them up to the demand.
    """
    request = plan.request
    demand = request.throughput_tokens_per_second or request.concurrency or 0
    sizes = sorted(gives for _, gives in parts(plan, part))
    left, many = float(demand), len(sizes)
    for place, size in enumerate(sizes):
        level = left / (many - place)
        if size >= level:
            return level / demand
        left -= size
    raise AssertionError(sizes)


@pytest.mark.parametrize(
    ("asked", "redundancy", "most"),
    [
        (ASKED, "loss:20%", 0.2),
        (HOSTS, "host:1,loss:25%", 0.25),
        ({**ASKED, "concurrency": None, "throughput": "900tok/s"}, "loss:30%", 0.3),
    ],
)
def test_no_failure_takes_more_than_its_share(
    asked: dict[str, Any], redundancy: str, most: float
) -> None:
    without = redundancy.partition("loss")[0].strip(",") or None
    plain = planopt.solve(**asked, redundancy=without)
    plan = planopt.solve(**asked, redundancy=redundancy)

    assert plan.status == "optimal"
    assert not planopt.verify(plan).mismatches
    assert largest(plain) > most >= largest(plan) - 1e-9
    assert (plan.price_usd or 0.0) > (plain.price_usd or 0.0)
    # The one called the other.
    forged = structs.replace(
        plain,
        request=structs.replace(plain.request, redundancy=plan.request.redundancy),
    )
    assert planopt.verify(forged).mismatches


def test_the_share_is_kept_under_a_load() -> None:
    asked = {**ASKED, "load": None, "concurrency": None, "request_rate": "12/s"}
    plan = planopt.solve(**asked, redundancy="loss:34%")

    assert not planopt.verify(plan).mismatches
    assert (plan.totals.hosts or 0) >= 3


def test_a_share_is_none_of_more_than_all() -> None:
    with pytest.raises(InputError):
        planopt.solve(**ASKED, redundancy="loss:120%")
