"""Units, their bills of materials, and cost, computed by hand."""

from typing import Any

import pytest

from planopt_reference import Facts
from planopt_reference.cost import usd_per_hour, usd_per_million_tokens
from planopt_reference.purchase import PurchaseError, Unit, merged, unit


def bought(facts: Facts, **changes: Any) -> Unit:
    question: dict[str, Any] = {
        "accelerator": "card",
        "host": "desktop",
        "network": None,
        "nics_per_host": 1,
        "switch": None,
        "tp": 1,
        "pp": 8,
        "replicas": 1,
    }
    return unit(facts, **(question | changes))


def test_eight_desktops_with_part_of_a_switch(article: Facts) -> None:
    # 8 * ($700 + $1600 + $150) = $19 600, and 8 of 20 ports at $750: $20 350.
    cluster = bought(article, network="ten", switch="switch-ten")
    assert cluster.price == 20_350_000_000
    # 8 * (400 + 250 + 5) W, and half of the switch's 100 W; desktops need no rack.
    assert cluster.power_watts == 5290
    assert cluster.rack_units == 0


def test_eight_desktops_with_a_fast_network(article: Facts) -> None:
    # 8 * ($700 + $1600 + $1000) = $26 400, and 8 of 40 ports, a fifth of $20 000.
    cluster = bought(
        article, network="two-hundred", switch="switch-two-hundred", tp=8, pp=1
    )
    assert cluster.price == 30_400_000_000


def test_two_servers_connected_directly(article: Facts) -> None:
    # 2 * $3000 + 8 * $1600 + 2 * $300 = $19 400.
    cluster = bought(article, host="server4", network="direct", tp=4, pp=2)
    assert cluster.price == 19_400_000_000
    # 8 * 400 + 2 * 300 + 2 * 5 W.
    assert cluster.power_watts == 3810
    assert cluster.rack_units == 8


def test_one_cable_replaces_the_switch(engine: Facts) -> None:
    # Two hosts of two NICs: two cables. Four hosts of one NIC: four, and the switch.
    pair = bought(
        engine, host="server4", network="twenty-five", nics_per_host=2, tp=4, pp=2
    )
    assert quantities(pair)["cable-twenty-five"] == 2
    assert "switch-twenty-five" not in quantities(pair)
    four = bought(
        engine,
        host="server4",
        network="twenty-five",
        switch="switch-twenty-five",
        tp=4,
        pp=4,
    )
    assert quantities(four) == {
        "card": 16,
        "server4": 4,
        "nic-twenty-five": 4,
        "switch-twenty-five": 1,
        "cable-twenty-five": 4,
    }
    # Four servers of 4 units and a switch of one.
    assert four.rack_units == 17


def quantities(purchase: Unit) -> dict[str, int]:
    return {line.id: line.quantity for line in purchase.lines}


def test_replicas_share_a_host_and_a_switch(engine: Facts) -> None:
    shared = bought(engine, host="server4", tp=2, pp=1, replicas=2)
    assert quantities(shared) == {"card": 4, "server4": 1}
    # Two replicas of four hosts are eight hosts, on one switch of 8 ports.
    switched = bought(
        engine,
        host="server4",
        network="twenty-five",
        switch="switch-twenty-five",
        tp=4,
        pp=4,
        replicas=2,
    )
    assert quantities(switched)["switch-twenty-five"] == 1
    assert quantities(switched)["nic-twenty-five"] == 8


def test_whole_hosts_are_filled_but_only_used_cards_draw_power(engine: Facts) -> None:
    whole = bought(engine, host="server8", tp=4, pp=1)
    assert quantities(whole) == {"card": 8, "server8": 1}
    assert whole.power_watts == 4 * 400 * 0.9 + 2000


def test_a_machine_comes_with_its_accelerators(engine: Facts) -> None:
    machine = bought(engine, accelerator="board", host="machine", tp=8, pp=1)
    assert quantities(machine) == {"machine": 1}
    assert machine.price == 300_000_000_000
    assert machine.power_watts == 8 * 700 * 0.9 + 4400


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"network": None}, "need a network"),
        ({"network": "ten", "switch": "switch-two-hundred"}, "need a switch"),
        ({"network": "ten", "switch": "switch-ten", "pp": 21}, "21 ports"),
        ({"network": "ten", "switch": "switch-ten", "replicas": 2}, "one replica"),
        (
            {"host": "server4", "network": "ten", "tp": 4, "pp": 2, "replicas": 2},
            "a unit of one replica",
        ),
        ({"accelerator": "board", "pp": 1}, "does not fit"),
        ({"host": "server4", "pp": 1, "replicas": 5}, "do not fit"),
    ],
)
def test_what_cannot_be_bought(
    article: Facts, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(PurchaseError, match=message):
        bought(article, **changes)


def test_lines_of_several_units_add_up(article: Facts) -> None:
    servers = bought(article, host="server4", tp=4, pp=1)
    whole = bought(article, host="server8", tp=8, pp=1)
    lines = {
        line.id: line.quantity
        for line in merged([(2, servers.lines), (3, whole.lines)])
    }
    assert lines == {"card": 2 * 4 + 3 * 8, "server4": 2, "server8": 3}


def test_the_article_s_machine_costs_by_the_hour(article: Facts) -> None:
    # $40 000 / 26 280 h = $1.52207; 5.2 kW * $0.10 = $0.52; a quarter of a rack:
    # $1500 / 4 / 730 h = $0.513699. Together $2.555767.
    cost = article.assumptions.cost
    hourly = usd_per_hour(40_000_000_000, 5200, 10.5, cost)
    assert hourly == pytest.approx(40000 / 26280 + 0.52 + 1500 / 4 / 730)
    # 12 207 tokens per second: 43.9452e6 an hour.
    per_million = usd_per_million_tokens(hourly, 12207, cost.duty)
    assert per_million == pytest.approx(hourly / 43.9452)


def test_idle_hours_and_a_price_at_the_end(engine: Facts) -> None:
    # $26 280, a fifth of it left after 26 280 h: $0.80. 2 kW for half of the hours
    # and half as much again for cooling: 1.5 kW at $0.10. 21 of 42 units: $750 / 730 h.
    cost = engine.assumptions.cost
    hourly = usd_per_hour(26_280_000_000, 2000, 21, cost)
    assert hourly == pytest.approx(0.8 + 0.15 + 750 / 730)
    # 1000 tokens per second in half of the hours: 1.8e6 an hour.
    assert usd_per_million_tokens(1.8, 1000, cost.duty) == pytest.approx(1.0)
