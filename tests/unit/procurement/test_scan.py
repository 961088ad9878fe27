from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.procurement import Limits, Unit, alternatives, scan

if TYPE_CHECKING:
    from collections.abc import Callable

    MakeUnit = Callable[..., Unit]

USD = 10**6


def test_scan_buys_as_few_copies_as_will_do(unit: MakeUnit) -> None:
    found = scan([unit()], Limits(users=9, redundancy=1), "cheapest")
    assert found is not None
    assert found.counts == {0: 4}
    assert found.price_micro_usd == 4000 * USD
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
    builds = alternatives(units, Limits(users=8), 5)
    assert [(b.unit.index, b.count) for b in builds] == [(2, 2), (3, 1), (0, 2)]
    assert builds[0].totals.price_micro_usd == 2000 * USD
    assert len(alternatives(units, Limits(users=8), 2)) == 2


def test_builds_of_equal_hardware_in_the_end_are_one(unit: MakeUnit) -> None:
    # Two hosts bought one by one, or as a pair: the same four accelerators.
    single = unit(0, accelerators=2, replica_users=4)
    pair = Unit(
        **{
            field: getattr(single, field)
            for field in Unit.__dataclass_fields__
            if field not in ("index", "signature", "replica_users", "users")
        },
        index=1,
        signature=("x", 4, "desktop", 2, None, 0, None),
        users=8,
        replica_users=8,
    )
    builds = alternatives([single, pair], Limits(users=8), 5)
    assert [(b.unit.index, b.count) for b in builds] == [(1, 1)]


def test_builds_over_a_limit_say_why_not(unit: MakeUnit) -> None:
    asked = Limits(
        users=8,
        budget_micro_usd=1200 * USD,
        power_watts=500.0,
        rack_units=3.0,
        accelerators=1,
        stock={"x": 1},
    )
    assert alternatives([unit()], asked, 5) == []
    (build,) = alternatives([unit()], asked, 5, over_limits=True)
    assert build.why_not == (
        "over budget by $800",
        "over the power limit by 100 W",
        "over the rack limit by 1 U",
        "needs 2 accelerators where the limit is 1",
        "needs 2 x where the stock is 1",
    )
