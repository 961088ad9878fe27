"""Where ranks sit, and what their messages take (model.md, section 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from planopt_reference.derivation import formula

if TYPE_CHECKING:
    from planopt_reference.assumptions import Assumptions
    from planopt_reference.facts import Facts
    from planopt_reference.hardware import Accelerator, Host, Link, Network
    from planopt_reference.reached import ScaleUp


class PlacementError(ValueError):
    """The ranks cannot be put into hosts of that kind."""


class UnconnectedError(ValueError):
    """Several hosts have to be connected, and no network does.

    Attributes
    ----------
    hosts : int
        How many.
    """

    def __init__(self, hosts: int) -> None:
        super().__init__(f"{hosts} hosts need a network")
        self.hosts = hosts


# Section 4, "a group sits on the first of".
@formula(
    "ceil(p / floor(slots/t)), or p t/slots",
    section="4",
    unit="hosts",
)
def hosts_of_replica(
    accelerator: Accelerator, host: Host, *, t: int, p: int, d: int = 1, c: int = 1
) -> int:
    """Return how many hosts a replica of `t` x `c` x `d` x `p` accelerators occupies.

    Raises
    ------
    PlacementError
        If a group larger than a host does not fill hosts whole.
    """
    ranks, slots = t * c * d, host.slots
    if ranks > slots:
        if ranks % slots or (t % slots and slots % t):
            message = (
                f"{c * d} x {t} {accelerator.id} do not fill hosts of {slots} slots"
            )
            raise PlacementError(message)
        return p * ranks // slots
    return math.ceil(p / (slots // ranks))


@dataclass(frozen=True)
class Fabric:
    """The links that a replica of `t` x `c` x `d` x `p` ranks communicates over.

    `nic_rate` is the line rate of one NIC and `network_latency` that of its link.
    """

    accelerator: Accelerator
    host: Host
    assumptions: Assumptions
    pcie_link_rate: float
    network: Network | None
    nic_rate: float
    network_latency: float
    nics_per_host: int
    t: int
    p: int
    d: int = 1
    c: int = 1

    @property
    def hosts(self) -> int:
        """Return the hosts of the replica."""
        return hosts_of_replica(
            self.accelerator, self.host, t=self.t, p=self.p, d=self.d, c=self.c
        )

    @property
    def scale_up_domain(self) -> int:
        """Return how many accelerators the scale-up link joins."""
        return self.accelerator.domain_in(self.host.slots)

    @property
    def stage_ranks(self) -> int:
        """Return the ranks of a stage."""
        return self.t * self.c * self.d

    # Section 4, Scale-up: W.
    @property
    def scale_up_bandwidth(self) -> float:
        """Return the bytes/s that a scale-up link reaches."""
        return self.accelerator.scale_up_bandwidth * self.scale_up.efficiency

    @cached_property
    def scale_up(self) -> ScaleUp:
        """Return what collectives over the scale-up link reach."""
        return self.assumptions.scale_up(self.accelerator)

    # Section 4, PCIe: P.
    @property
    def pcie_bandwidth(self) -> float:
        """Return the bytes/s that a PCIe link reaches."""
        return self.pcie_link_rate * self.assumptions.communication.pcie_efficiency

    # Section 4, PCIe: latency.
    @property
    def pcie_latency(self) -> float:
        """Return the seconds of one message over PCIe."""
        communication = self.assumptions.communication
        if self.accelerator.peer_to_peer:
            return communication.pcie_latency
        return communication.pcie_host_latency

    # Section 4, PCIe: W.
    def pcie_all_reduce_bandwidth(self, n: int) -> float:
        """Return the bus bandwidth of an all-reduce of `n` ranks of one host."""
        classes = self.host.all_reduce
        wanted = self.assumptions.pcie_all_reduce
        if wanted == "default" and self.accelerator.peer_to_peer:
            wanted = "peer-to-peer"
        groups = classes.get(wanted, classes.get("default"))
        if groups is None:
            return self.pcie_bandwidth
        group = "group_2" if n <= 2 else "group_4" if n <= 4 else "group_8"
        return min(groups[group], self.pcie_bandwidth)

    # Section 4, Across hosts: N.
    @property
    def network_bandwidth(self) -> float:
        """Return the bytes/s of all the NICs of a host together."""
        communication = self.assumptions.communication
        rdma = self.network is not None and self.network.rdma
        efficiency = (
            communication.rdma_efficiency if rdma else communication.tcp_efficiency
        )
        return self.nic_rate * efficiency * self.nics_per_host

    # Section 4, Across hosts: l.
    @property
    def message_latency(self) -> float:
        """Return the seconds of one message between hosts."""
        communication = self.assumptions.communication
        rdma = self.network is not None and self.network.rdma
        software = communication.rdma_latency if rdma else communication.tcp_latency
        return software + self.network_latency


# Section 4, ring all-reduce.
def ring_all_reduce(message: float, n: int, bandwidth: float, latency: float) -> float:
    """Return the seconds of a ring all-reduce of `n` ranks."""
    return 2 * (n - 1) / n * message / bandwidth + 2 * (n - 1) * latency


# Section 4, Scale-up: a ring.
def scale_up_ring(message: float, n: int, fabric: Fabric, *, rounds: int = 2) -> float:
    """Return the seconds of a ring that sends a vector around once or twice."""
    if n == 1:
        return 0.0
    reached = fabric.scale_up
    rate = fabric.accelerator.scale_up_bandwidth
    sent = rounds * (n - 1) / n * message
    steps = rounds * (n - 1) * reached.latency
    return min(
        reached.overhead + steps + sent / (rate * reached.efficiency),
        rounds / 2 * reached.bulk_latency + sent / (rate * reached.bulk_efficiency),
    )


# Section 4, one-shot all-reduce.
def one_shot_all_reduce(
    message: float, n: int, bandwidth: float, latency: float
) -> float:
    """Return the seconds of an all-reduce in which every rank reads all others."""
    return latency + (n - 1) * message / bandwidth


# Section 4, `all_reduce = "transfer"`.
def transfer(message: float, bandwidth: float, latency: float) -> float:
    """Return the seconds of the seed article's collective."""
    return max(latency, message / bandwidth)


# Section 4, Scale-up.
def scale_up_all_reduce(message: float, n: int, fabric: Fabric) -> float:
    """Return the seconds of an all-reduce over the scale-up link."""
    reached = fabric.scale_up
    ring = scale_up_ring(message, n, fabric)
    if message >= reached.direct_limit:
        return ring
    bandwidth = fabric.accelerator.scale_up_bandwidth * reached.direct_efficiency
    return min(
        ring,
        one_shot_all_reduce(message, n, bandwidth, reached.one_shot_latency),
        reached.two_shot_latency + 2 * (n - 1) / n * message / bandwidth,
    )


# Section 4, PCIe.
def pcie_all_reduce(message: float, n: int, fabric: Fabric) -> float:
    """Return the seconds of an all-reduce over PCIe of one host."""
    bandwidth = fabric.pcie_all_reduce_bandwidth(n)
    overhead = fabric.assumptions.communication.pcie_overhead
    return overhead + ring_all_reduce(message, n, bandwidth, fabric.pcie_latency)


# Section 4, Across hosts.
def across_hosts_all_reduce(message: float, fabric: Fabric) -> float:
    """Return the seconds of an all-reduce over several full hosts."""
    slots = fabric.host.slots
    hosts = fabric.t // slots
    if slots == 1:
        local = 0.0
    elif slots <= fabric.scale_up_domain:
        local = scale_up_ring(message, slots, fabric)
    else:
        local = pcie_all_reduce(message, slots, fabric)
    return local + ring_all_reduce(
        message, hosts, fabric.network_bandwidth, fabric.message_latency
    )


def _transfer_all_reduce(message: float, fabric: Fabric) -> float:
    domain = fabric.scale_up_domain
    slots = fabric.host.slots
    over_scale_up = (fabric.scale_up_bandwidth, fabric.scale_up.latency)
    over_pcie = (fabric.pcie_bandwidth, fabric.pcie_latency)
    if fabric.t <= domain:
        return transfer(message, *over_scale_up)
    if fabric.t <= slots:
        return transfer(message, *over_pcie)
    across = transfer(message, fabric.network_bandwidth, fabric.message_latency)
    if slots == 1:
        return across
    local = transfer(message, *(over_scale_up if slots <= domain else over_pcie))
    return max(local, across)


# Section 4, "a group sits on the first of".
@formula(
    "ring 2(n-1)/n S/W + 2(n-1) latency, or one-shot; across hosts 2(H-1)/H S/N + "
    "2(H-1) l besides",
    section="4",
    unit="s",
)
def all_reduce(message: float, fabric: Fabric) -> float:
    """Return the seconds of an all-reduce of the tensor-parallel group.

    Parameters
    ----------
    message : float
        Bytes of one rank's vector, `S`.
    fabric : Fabric
        Links and degrees of the replica.

    Returns
    -------
    float
        Seconds; none where the group is one rank.
    """
    if fabric.t == 1:
        return 0.0
    t = fabric.t
    if fabric.assumptions.communication.all_reduce == "transfer":
        return _transfer_all_reduce(message, fabric)
    if t <= fabric.scale_up_domain:
        return scale_up_all_reduce(message, t, fabric)
    if t <= fabric.host.slots:
        return pcie_all_reduce(message, t, fabric)
    return across_hosts_all_reduce(message, fabric)


# Section 4, Pipeline hops: inside a host.
def hop_inside_host(message: float, fabric: Fabric) -> float:
    """Return the seconds of a hop between two stages on one host."""
    ranks = min(fabric.host.slots, fabric.stage_ranks * fabric.p)
    if ranks <= fabric.scale_up_domain:
        return _scale_up_hop(message, fabric)
    return fabric.pcie_latency + message / fabric.pcie_bandwidth


def _scale_up_hop(message: float, fabric: Fabric) -> float:
    return fabric.scale_up.latency + message / fabric.scale_up_bandwidth


# Section 4, Pipeline hops: across hosts.
def hop_across_hosts(message: float, fabric: Fabric) -> float:
    """Return the seconds of a hop between two stages on different hosts."""
    if fabric.stage_ranks * fabric.p <= fabric.scale_up_domain:
        return _scale_up_hop(message, fabric)
    senders = min(fabric.stage_ranks, fabric.host.slots)
    scattered = fabric.assumptions.communication.hop_payload == "scattered"
    sent = message * senders / (fabric.t if scattered else 1)
    return fabric.message_latency + sent / fabric.network_bandwidth


# Section 4, Pipeline hops.
@formula(
    "p - 1 times latency + S/B inside of a host, l + X/N across",
    section="4",
    unit="s",
)
def pipeline_hops(message: float, fabric: Fabric) -> float:
    """Return the seconds of all hops of one token: none with one stage."""
    p = fabric.p
    if p == 1:
        return 0.0
    last = p if fabric.assumptions.communication.return_hop else p - 1
    inside = hop_inside_host(message, fabric)
    overheads = (p - 1) * fabric.assumptions.reached.engine.hop_overhead
    return overheads + sum(
        inside
        if _same_host(stage, (stage + 1) % p, fabric)
        else hop_across_hosts(message, fabric)
        for stage in range(last)
    )


def _same_host(one: int, other: int, fabric: Fabric) -> bool:
    stages_per_host = fabric.host.slots // fabric.stage_ranks
    if stages_per_host == 0:
        return False
    return one // stages_per_host == other // stages_per_host


def link_rate(link: Link) -> float:
    """Return the bytes/s of a link that states them."""
    if link.bandwidth is None:
        message = f"link {link.id} has no bandwidth"
        raise PlacementError(message)
    return link.bandwidth


# Section 4, PCIe: "the slower of the host's and the accelerator's own".
def pcie_link_rate(facts: Facts, accelerator: Accelerator, host: Host) -> float:
    """Return the bytes/s of the PCIe link between an accelerator and its host."""
    slot = link_rate(facts.link(host.link))
    own = accelerator.pcie_link
    if own is None or not facts.has_link(own):
        return slot
    return min(slot, link_rate(facts.link(own)))


def fabric(
    facts: Facts,
    accelerator: Accelerator,
    host: Host,
    network: Network | None,
    *,
    nics_per_host: int,
    t: int,
    p: int,
    d: int = 1,
    c: int = 1,
) -> Fabric:
    """Look up the links that a replica communicates over.

    Raises
    ------
    PlacementError
        If it does not fit hosts of that kind.
    UnconnectedError
        If it needs a network that it lacks.
    """
    hosts = hosts_of_replica(accelerator, host, t=t, p=p, d=d, c=c)
    ranks = t * c * d * p
    if hosts > 1 and network is None and ranks > accelerator.domain_in(host.slots):
        raise UnconnectedError(hosts)
    if network is not None and nics_per_host < 1:
        message = f"network {network.id} needs at least one NIC in a host"
        raise PlacementError(message)
    link = None if network is None else facts.link(network.link)
    return Fabric(
        accelerator=accelerator,
        host=host,
        assumptions=facts.assumptions,
        pcie_link_rate=pcie_link_rate(facts, accelerator, host),
        network=network,
        nic_rate=0.0 if link is None else link_rate(link),
        network_latency=0.0 if link is None else link.latency,
        nics_per_host=nics_per_host,
        t=t,
        p=p,
        d=d,
        c=c,
    )
