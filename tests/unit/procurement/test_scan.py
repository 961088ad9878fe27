from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from units import Unit, builds, scan

from planopt.procurement.problem import Limits
from planopt.procurement.purchase import why_not

if TYPE_CHECKING:
    from collections.abc import Callable

    MakeUnit = Callable[..., Unit]

USD = 10**6


def test_scan_buys_as_few_copies_as_will_do(unit: MakeUnit) -> None:
    assert scan([unit()], Limits(users=9, redundancy={"host": 1}), "cheapest") == {0: 4}
    assert scan([unit()], Limits(users=9, accelerators=2), "cheapest") is None


def test_alternatives_are_one_per_hardware_and_sorted_by_price(unit: MakeUnit) -> None:
    units = [
        unit(0, price_micro_usd=1200 * USD),
        # The same hardware with another layout: the one with lower $/Mtok is listed.
        unit(1, host="server", tokens_per_second=40.0),
        unit(2, host="server", tokens_per_second=41.0),
        # Two accelerators at once are the same two desktops bought one by one? No.
        unit(3, accelerators=2, replica_users=8, price_micro_usd=2300 * USD),
    ]
    listed = builds(units, Limits(users=8), 5)
    assert [(b.row, b.count) for b in listed] == [(2, 2), (3, 1), (0, 2)]
    assert len(builds(units, Limits(users=8), 2)) == 2


def test_builds_of_equal_hardware_in_the_end_are_one(unit: MakeUnit) -> None:
    # Two hosts bought one by one, or as a pair: the same four accelerators.
    single = unit(0, accelerators=2, replica_users=4)
    pair = replace(single, index=1, accelerators=4, hosts=2, replica_users=8)
    listed = builds([single, pair], Limits(users=8), 5)
    assert [(b.row, b.count) for b in listed] == [(1, 1)]


def test_builds_over_a_limit_say_why_not(unit: MakeUnit) -> None:
    asked = Limits(
        users=8,
        budget_micro_usd=1200 * USD,
        power_watts=500.0,
        rack_units=3.0,
        accelerators=1,
        stock={"x": 1},
    )
    (build,) = builds([unit()], asked, 5)
    assert tuple(why_not(build.broken, asked, rough=False)) == (
        "over budget by $800",
        "over the power limit by 100 W",
        "over the rack limit by 1 U",
        "needs 2 accelerators where the limit is 1",
        "needs 2 x where the stock is 1",
    )
    rough, *_ = why_not(build.broken, asked, rough=True)
    assert rough == "over budget by ~$800"
    (build,) = builds([unit()], Limits(users=8), 5)
    assert build.broken == ()
