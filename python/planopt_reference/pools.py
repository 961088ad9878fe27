"""Two pools that are bought together (serving.md, section 8)."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

from planopt_reference.cluster import HostSet, joined
from planopt_reference.mismatch import Mismatch, compared
from planopt_reference.purchase import Unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt_reference.cluster import Cluster
    from planopt_reference.facts import Facts
    from planopt_reference.layout import Table

_ROLES: Final = ("decode", "prefill")
_CATALOG: Final = "recomputed from the catalogs"


def answering(deployments: Sequence[Table]) -> list[Table]:
    """Return the deployments that put tokens out."""
    return [one for one in deployments if one.get("role") != "prefill"]


def is_of_pools(deployments: Sequence[Table]) -> bool:
    """Whether any deployment does a part of the work.

    Raises
    ------
    ValueError
        If they are not one pool that answers and one that reads for it.
    """
    roles = [one.get("role", "colocated") for one in deployments]
    if set(roles) == {"colocated"}:
        return False
    if tuple(roles) != _ROLES:
        message = (
            f"deployments are {', '.join(roles)}: not one of decode, one of prefill"
        )
        raise ValueError(message)
    return True


# Section 8: replicas that read stand first, those that answer in what they leave.
def bought_together(deployments: Sequence[Table], facts: Facts) -> Cluster:
    """Put together the hosts of both pools, and what joins them."""
    decode, prefill = deployments
    hardware = decode["hardware"]
    sets = [_Pool(prefill, facts), _Pool(decode, facts)]
    kinds = {(pool.card, pool.host) for pool in sets}
    if len(kinds) == 1:
        first, second = sets
        inside = 0
        if second.hosts_each == 1:
            inside = min(first.left // second.each, second.replicas)
        hosts = first.hosts + second.filled(second.replicas - inside)
        used = first.accelerators + second.accelerators
        together = [first.set_of(hosts, used)]
    else:
        together = [pool.set_of(pool.hosts, pool.accelerators) for pool in sets]
    nics = hardware.get("nics_per_host") or 0
    return joined(facts, together, hardware.get("network"), nics, stores=False)


class _Pool:
    """Replicas of one pool in as few hosts as hold them."""

    def __init__(self, table: Table, facts: Facts) -> None:
        of, self.host = table["candidate"], table["hardware"]["host"]
        self._facts, self.card = facts, of["accelerator"]
        self.replicas: int = table["replicas"]
        ranks: int = of["tp"] * (of.get("cp") or 1) * (of.get("dp") or 1) * of["pp"]
        self.each, self.slots = ranks, facts.host_for(self.host, self.card).slots
        self.hosts_each: int = table["evaluation"]["hosts"]
        self.accelerators = ranks * self.replicas
        self.hosts = self.filled(self.replicas)

    @property
    def in_each(self) -> int:
        """Return the replicas that a host holds."""
        return max(1, self.slots // self.each)

    def filled(self, replicas: int) -> int:
        """Return the hosts that so many replicas take."""
        if self.hosts_each > 1:
            return self.hosts_each * replicas
        return ceil(replicas / self.in_each)

    @property
    def left(self) -> int:
        """Return the places that are left in the last host."""
        if self.hosts_each > 1:
            return 0
        in_last = self.replicas - self.in_each * (self.hosts - 1)
        return self.slots - in_last * self.each

    def set_of(self, hosts: int, accelerators: int) -> HostSet:
        """Return so many hosts of it."""
        return HostSet(
            card=self._facts.accelerator(self.card),
            machine=self._facts.host_for(self.host, self.card),
            accelerators=accelerators,
            hosts=hosts,
        )


def unit_of(role: str, replicas: int, cluster: Cluster, card: str) -> Unit:
    """Return what a pool brings: the one that answers brings all."""
    if role == "prefill":
        return Unit((), replicas, 0, 0, None, 0.0, 0.0)
    return Unit(
        lines=cluster.lines,
        replicas=replicas,
        hosts=cluster.hosts,
        accelerators=cluster.accelerators,
        switch=None,
        power_watts=cluster.power_watts,
        rack_units=cluster.rack_units,
        accelerator=card,
    )


def pool_mismatches(field: str, table: Table, cluster: Cluster) -> Iterator[Mismatch]:
    """Compare the hosts of a pool, and what joins them, with what was put together."""
    hardware, brings = table["hardware"], table["role"] == "decode"
    yield from compared(f"{field}.units", table["units"], 1, "both are one purchase")
    expected = {
        "hosts": cluster.hosts if brings else 0,
        "rack_units": cluster.rack_units if brings else 0.0,
        "switch": cluster.switch if brings else None,
        "switch_count": cluster.switches if brings else 0,
        "switch_port_blocks": 0,
    }
    for name, value in expected.items():
        place = f"{field}.hardware.{name}"
        yield from compared(place, hardware.get(name), value, _CATALOG)


def way_mismatches(plan: Table) -> Iterator[Mismatch]:
    """Check that there is a way for caches where there are two pools."""
    way, two = plan.get("transfer"), is_of_pools(plan["deployments"])
    if (way is not None) != two:
        yield Mismatch("transfer", way, "a way" if two else None, "between two pools")
        return
    if way is None:
        return
    prompt = plan["request"]["prompt_tokens"]
    seconds = way["latency_seconds"] + way["seconds_per_token"] * prompt
    yield from compared("transfer.seconds", way["seconds"], seconds, "for a prompt")
    joins = plan["deployments"][0]["hardware"].get("network")
    yield from compared("transfer.network", way["network"], joins, "what joins hosts")
