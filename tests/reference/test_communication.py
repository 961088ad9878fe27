"""Collectives and hops on each tier of links, computed by hand."""

from dataclasses import replace

import pytest

from planopt_reference import Facts
from planopt_reference.communication import (
    Fabric,
    PlacementError,
    UnconnectedError,
    all_reduce,
    fabric,
    hop_across_hosts,
    pcie_link_rate,
    pipeline_hops,
    ring_all_reduce,
)

MEGABYTE = 1e6


def links(
    facts: Facts,
    *,
    accelerator: str = "card",
    host: str = "server4",
    network: str | None = "twenty-five",
    nics: int = 1,
    t: int,
    p: int,
) -> Fabric:
    return fabric(
        facts,
        facts.accelerator(accelerator),
        facts.host(host),
        None if network is None else facts.network(network),
        nics_per_host=nics,
        t=t,
        p=p,
    )


def test_ring_all_reduce() -> None:
    # 4 ranks: 2 * 3/4 of 1 MB over 1 GB/s is 1.5 ms, and 6 steps of 10 us.
    assert ring_all_reduce(MEGABYTE, 4, 1e9, 10e-6) == pytest.approx(1.56e-3)


def test_scale_up_takes_the_faster_of_ring_and_one_shot(engine: Facts) -> None:
    board = links(engine, accelerator="board", host="machine", network=None, t=8, p=1)
    # 1 kB: one-shot 9 us + 7 * 1e3/450e9; the ring's 14 steps alone take 14 us.
    assert all_reduce(1e3, board) == pytest.approx(9e-6 + 7e3 / 450e9)
    # 10 MB: ring 1.75 * 10e6 / 450e9 + 14 us = 52.9 us; one-shot 164.6 us.
    assert all_reduce(10e6, board) == pytest.approx(17.5e6 / 450e9 + 14e-6)


@pytest.mark.parametrize(
    ("t", "bandwidth", "host"),
    [(2, 20e9, "server4"), (4, 10e9, "server4"), (8, 5e9, "server8")],
)
def test_pcie_uses_the_bus_bandwidth_of_the_group(
    engine: Facts, t: int, bandwidth: float, host: str
) -> None:
    # Without peer-to-peer each of the 2(n-1) steps costs 30 us.
    expected = 2 * (t - 1) / t * MEGABYTE / bandwidth + 2 * (t - 1) * 30e-6
    found = all_reduce(MEGABYTE, links(engine, host=host, t=t, p=1))
    assert found == pytest.approx(expected)


def test_across_hosts_after_a_ring_inside(engine: Facts) -> None:
    # 8 ranks on 2 hosts of 4. Inside: 1.5 MB / 10 GB/s + 6 * 30 us = 330 us. Across:
    # 2 * 1/2 * 1 MB / (3.125 GB/s * 2 NICs) + 2 * (0.7 ms + 2 us) = 160 + 1404 us.
    found = all_reduce(MEGABYTE, links(engine, nics=2, t=8, p=1))
    assert found == pytest.approx(330e-6 + 160e-6 + 1404e-6)


def test_one_rank_has_nothing_to_reduce(engine: Facts) -> None:
    assert all_reduce(MEGABYTE, links(engine, t=1, p=2)) == 0


def test_transfer_across_hosts_is_the_slower_of_both(article: Facts) -> None:
    # Inside 1 MB / 32 GB/s = 31.25 us; across max(0.702 ms, 1 MB / 3.125 GB/s).
    assert all_reduce(MEGABYTE, links(article, t=8, p=1)) == pytest.approx(702e-6)
    # 10 MB: across 3.2 ms.
    assert all_reduce(10e6, links(article, t=8, p=1)) == pytest.approx(3.2e-3)


def test_hops_stay_inside_a_host_where_they_can(engine: Facts) -> None:
    # Stages of 1 on hosts of 4, six of them: 0-3 on the first host, 4-5 on the second.
    # Four hops inside at 30 us + 1 MB / 32 GB/s = 61.25 us, one across at
    # 702 us + 1 MB / 3.125 GB/s = 1022 us; none back to the first.
    six = links(engine, t=1, p=6)
    assert six.hosts == 2
    assert pipeline_hops(MEGABYTE, six) == pytest.approx(4 * 61.25e-6 + 1022e-6)


def test_a_return_hop_crosses_hosts_too(article: Facts) -> None:
    # The same six stages, with a sixth hop from the second host to the first.
    hops = pipeline_hops(MEGABYTE, links(article, t=1, p=6))
    assert hops == pytest.approx(4 * 61.25e-6 + 2 * 1022e-6)


def test_payload_of_a_hop_across_hosts(article: Facts, engine: Facts) -> None:
    # 4 ranks of a host send 1 MB each, or a quarter each: 4 or 1 MB over 3.125 GB/s.
    full = hop_across_hosts(MEGABYTE, links(article, t=4, p=2))
    assert full == pytest.approx(702e-6 + 4e6 / 3.125e9)
    scattered = hop_across_hosts(MEGABYTE, links(engine, t=4, p=2))
    assert scattered == pytest.approx(702e-6 + 1e6 / 3.125e9)
    # A stage of 8 on two hosts: each sends 4 of the 8 shares.
    wide = links(engine, t=8, p=2)
    assert wide.hosts == 4
    assert hop_across_hosts(MEGABYTE, wide) == pytest.approx(702e-6 + 0.5e6 / 3.125e9)


def test_hops_inside_a_scale_up_domain(engine: Facts) -> None:
    # 4 stages of 2 on one machine of 8: three hops of 1 us + 1 MB / 450 GB/s.
    board = links(engine, accelerator="board", host="machine", network=None, t=2, p=4)
    assert pipeline_hops(MEGABYTE, board) == pytest.approx(3 * (1e-6 + 1e6 / 450e9))


def test_placement(engine: Facts) -> None:
    # Groups of 3 leave a slot of each host empty: 4 stages need 4 hosts.
    assert links(engine, t=3, p=4).hosts == 4
    with pytest.raises(PlacementError, match="do not fill"):
        links(engine, t=6, p=1)
    with pytest.raises(UnconnectedError, match="2 hosts"):
        links(engine, network=None, t=4, p=2)


def test_a_scale_up_domain_may_span_hosts(engine: Facts) -> None:
    # Two hosts of 4 in a domain of 8: a hop between them is a scale-up hop.
    board = links(engine, accelerator="board", host="machine", network=None, t=4, p=2)
    joined = replace(board.accelerator, scale_up_between_hosts=True)
    spread = replace(board, host=replace(board.host, slots=4), accelerator=joined)
    assert spread.hosts == 2
    assert pipeline_hops(MEGABYTE, spread) == pytest.approx(1e-6 + 1e6 / 450e9)


def test_the_slower_of_two_pcie_links_counts(engine: Facts) -> None:
    card, board = engine.accelerator("card"), engine.accelerator("board")
    host = replace(engine.host("server4"), link="pcie5-x16")
    assert pcie_link_rate(engine, card, host) == 32e9
    assert pcie_link_rate(engine, board, host) == 64e9
