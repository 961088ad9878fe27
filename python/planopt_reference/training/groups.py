"""Groups of ranks and their messages (training.md, section 6)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from math import ceil, gcd
from typing import TYPE_CHECKING, Final

from planopt_reference.derivation import formula

if TYPE_CHECKING:
    from planopt_reference.communication import Fabric
    from planopt_reference.hardware import Network
    from planopt_reference.training.candidate import Candidate

# Section 6: more domains than these are joined as a tree of rings.
_LONGEST_RING: Final = 32


@dataclass(frozen=True)
class Line:
    """Bytes/s in one direction, and seconds of one message."""

    bandwidth: float
    latency: float
    overhead: float = 0.0
    bulk_latency: float = math.inf
    bulk_bandwidth: float = math.inf

    # Section 6, a ring; model.md, section 4.
    def ring(self, ranks: int, payload: float, rounds: int) -> float:
        """Return the seconds of a ring that goes around once or twice."""
        if ranks == 1:
            return 0.0
        steps = rounds * (ranks - 1)
        sent = payload * steps / ranks
        return min(
            self.overhead + steps * self.latency + sent / self.bandwidth,
            rounds / 2 * self.bulk_latency + sent / self.bulk_bandwidth,
        )


@dataclass(frozen=True)
class Group:
    """Ranks that exchange messages, `local` of them in each domain."""

    ranks: int
    local: int
    inside: Line
    across: Line | None
    transfer: bool
    exchanged: float = 1.0
    """Share of the network's bandwidth that is left where all send to all."""
    passed: float = 1.0
    """The same where each sends to the next."""

    @property
    def domains(self) -> int:
        """Return `n_h`."""
        return ceil(self.ranks / self.local)

    @property
    def leaves_its_domain(self) -> bool:
        """Return whether it needs a network."""
        return self.domains > 1

    # Section 6, "beyond 32 domains".
    @property
    def _between_domains(self) -> Line:
        """Return the network as rings among the domains meet it."""
        hosts = self.domains
        if hosts <= _LONGEST_RING:
            return self.network
        steps = _LONGEST_RING - 1 + math.log2(hosts / _LONGEST_RING)
        latency = self.network.latency * steps / (hosts - 1)
        return replace(self.network, latency=latency)

    @property
    def network(self) -> Line:
        """Return the line across hosts; rule `network` is that there is one."""
        return self._reached(self.passed)

    def _reached(self, share: float) -> Line:
        if self.across is None:
            message = "a group that leaves its host has no network"
            raise ValueError(message)
        return replace(self.across, bandwidth=self.across.bandwidth * share)

    # Section 6, "all 0 for one rank, and for no bytes".
    def is_silent(self, payload: float) -> bool:
        """Return whether nothing is sent."""
        return self.ranks == 1 or payload == 0

    # Section 6, reduce-scatter and all-gather.
    @formula(
        "ring(1; n_l, S) + ring(1; n_h, S / n_l)",
        section="6",
        unit="s",
    )
    def half(self, payload: float) -> float:
        """Return the seconds of a reduce-scatter, or of an all-gather."""
        return self._rings(payload, 1)

    def _rings(self, payload: float, rounds: int) -> float:
        if self.is_silent(payload):
            return 0.0
        if self.transfer:
            return self._transferred(payload)
        local = self.inside.ring(self.local, payload, rounds)
        if not self.leaves_its_domain:
            return local
        return local + self._between_domains.ring(
            self.domains, payload / self.local, rounds
        )

    # Section 6, all-reduce.
    @formula(
        "ring(2; n_l, S) + ring(2; n_h, S / n_l)",
        section="6",
        unit="s",
    )
    def all_reduce(self, payload: float) -> float:
        """Return the seconds of an all-reduce."""
        return self._rings(payload, 2)

    # Section 6, `all_reduce = "transfer"`.
    def _transferred(self, payload: float) -> float:
        lines = [self.inside] if self.local > 1 else []
        lines += [self.network] if self.leaves_its_domain else []
        return max(
            time for line in lines for time in (line.latency, payload / line.bandwidth)
        )

    # Section 6, all-to-all.
    @formula(
        "alpha_l + S/n (n_l - 1)/W_l + alpha_n + S/n (n - n_l)/W_n",
        section="6",
        unit="s",
    )
    def all_to_all(self, payload: float, across: float = 1.0) -> float:
        """Return the seconds in which every rank sends a part to every other.

        Of what leaves its domain only the share `across` is sent.
        """
        if self.is_silent(payload):
            return 0.0
        part = payload / self.ranks
        seconds = 0.0
        if self.local > 1:
            inside = self.inside
            seconds += inside.latency + part * (self.local - 1) / inside.bandwidth
        if self.leaves_its_domain:
            distant = (self.ranks - self.local) * across
            network = self._reached(self.exchanged)
            seconds += network.latency + part * distant / network.bandwidth
        return seconds

    # Section 6, message.
    @formula(
        "alpha + S / W",
        section="6",
        unit="s",
    )
    def message(self, payload: float) -> float:
        """Return the seconds of one message between two neighbours."""
        if self.is_silent(payload):
            return 0.0
        line = self.network if self.leaves_its_domain else self.inside
        return line.latency + payload / line.bandwidth


@dataclass(frozen=True)
class Groups:
    """The groups of one rank."""

    tensor: Group
    context: Group
    expert: Group
    pipeline: Group
    shards: Group
    shard_replicas: Group
    expert_shards: Group
    expert_shard_replicas: Group

    @property
    def all(self) -> tuple[Group, ...]:
        """Return every group."""
        return (
            self.tensor,
            self.context,
            self.expert,
            self.pipeline,
            self.shards,
            self.shard_replicas,
            self.expert_shards,
            self.expert_shard_replicas,
        )


# Section 6, the table of groups.
def groups_of(candidate: Candidate, fabric: Fabric, slots: int) -> Groups:
    """Place the ranks of a candidate and say who talks to whom over what."""
    t, c, e, p = candidate.tp, candidate.cp, candidate.ep, candidate.pp
    domain = fabric.accelerator.domain_in(slots)
    reach = max(slots, domain)
    near = max(reach // t, 1)
    beyond = e // gcd(e, candidate.folded)
    expert_ranks_of_data = min(beyond // gcd(beyond, c), candidate.dp)
    inner = t * c * expert_ranks_of_data
    together = inner * p <= reach
    dense_ranks, expert_ranks = candidate.dense_ranks, candidate.expert_ranks
    replicas = (
        min(reach // (t * p), dense_ranks)
        if inner * p <= slots
        else min(near, dense_ranks)
    )
    expert_replicas = max(replicas * candidate.folded // e, 1)
    # Without sharding every rank is a shard's replica of itself: one group of them all.
    shards = candidate.shard_ranks if candidate.is_sharded else dense_ranks
    expert_shards = (
        candidate.expert_shard_ranks if candidate.is_sharded else expert_ranks
    )

    everything = candidate.accelerators
    nics = ceil(everything / slots) * fabric.nics_per_host

    def group(ranks: int, local: int, span: int) -> Group:
        local = min(max(local, 1), ranks)
        passed, exchanged = _left(
            fabric.network, nics, ceil(span / slots), ceil(ranks / local)
        )
        return Group(
            ranks=ranks,
            local=local,
            inside=_local_line(fabric, local, min(span, reach)),
            across=_network_line(fabric, slots),
            transfer=fabric.assumptions.communication.all_reduce == "transfer",
            passed=passed,
            exchanged=exchanged,
        )

    return Groups(
        tensor=group(t, min(reach, t), t),
        context=group(c, min(near, c), t * c),
        expert=group(e, min(near * candidate.folded, e), inner),
        pipeline=group(p, p, inner * p) if together else group(p, 1, everything),
        shards=group(shards, min(replicas, shards), everything),
        shard_replicas=group(dense_ranks // shards, replicas // shards, everything),
        expert_shards=group(
            expert_shards, min(expert_replicas, expert_shards), everything
        ),
        expert_shard_replicas=group(
            expert_ranks // expert_shards, expert_replicas // expert_shards, everything
        ),
    )


# Section 14, "neighbouring stages are in hosts of their own".
def with_stages_apart(
    groups: Groups, candidate: Candidate, fabric: Fabric, slots: int
) -> Groups:
    """Return groups whose pipeline leaves its host with every stage."""
    hosts, stages = ceil(candidate.accelerators / slots), candidate.pp
    nics = hosts * fabric.nics_per_host
    pipeline = replace(
        groups.pipeline,
        ranks=stages,
        local=1,
        across=_network_line(fabric, slots),
        passed=_left(fabric.network, nics, hosts, stages)[0],
    )
    return replace(groups, pipeline=pipeline)


# Section 6, "Where the network is oversubscribed".
def _left(
    network: Network | None, nics: int, hosts: int, domains: int
) -> tuple[float, float]:
    """Return the shares of a NIC's rate that neighbours and exchanges have.

    Parameters
    ----------
    network : Network or None
        What joins the hosts.
    nics : int
        All that it joins.
    hosts, domains : int
        Hosts that a group stands in, and its domains among them.
    """
    if network is None or network.oversubscription == 1 or not network.switches:
        return 1.0, 1.0
    ports = min(switch.ports for switch in network.switches)
    leaf = ports // 2
    if nics <= ports or hosts <= leaf or domains == 1:
        return 1.0, 1.0
    apart = min(hosts / domains, leaf)
    far = (domains - leaf / apart) / (domains - 1)
    ratio = network.oversubscription
    return min(1.0, leaf / (ratio * apart)), min(1.0, 1 / (ratio * far))


# Serving, section 13: "the ranks that divide contexts stand around groups of t".
def context_group(fabric: Fabric) -> Group:
    """Return the ranks of a replica that serves which divide contexts."""
    t, c, slots = fabric.t, fabric.c, fabric.host.slots
    reach = max(slots, fabric.scale_up_domain)
    local = min(max(reach // t, 1), c)
    return Group(
        ranks=c,
        local=local,
        inside=_local_line(fabric, local, min(t * c, reach)),
        across=_network_line(fabric, slots),
        transfer=fabric.assumptions.communication.all_reduce == "transfer",
    )


# Section 6, "The local line".
def _local_line(fabric: Fabric, local: int, span: int) -> Line:
    if span <= fabric.scale_up_domain:
        reached = fabric.scale_up
        rate = fabric.accelerator.scale_up_bandwidth
        return Line(
            bandwidth=fabric.scale_up_bandwidth,
            latency=reached.latency,
            overhead=reached.overhead,
            bulk_latency=reached.bulk_latency,
            bulk_bandwidth=rate * reached.bulk_efficiency,
        )
    overhead = fabric.assumptions.communication.pcie_overhead
    return Line(fabric.pcie_all_reduce_bandwidth(local), fabric.pcie_latency, overhead)


# Section 6, "All ranks of a host send at once".
def _network_line(fabric: Fabric, slots: int) -> Line | None:
    if fabric.network is None:
        return None
    return Line(fabric.network_bandwidth / slots, fabric.message_latency)
