"""What jobs are bought on: hosts of one kind or several (training.md, section 10)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING

from planopt_reference.cost import cost_table
from planopt_reference.purchase import (
    Line,
    PurchaseError,
    accelerators_bought,
    cable_lines,
    check_fit,
    instance_line,
    merged,
    nic_lines,
    nics_bought,
    part_lines,
    priced,
    rack_lines,
)
from planopt_reference.units import MICRO_USD_PER_USD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planopt_reference.assumptions import Cost
    from planopt_reference.facts import Facts
    from planopt_reference.hardware import Accelerator, Host, Network, Part


# Section 10, "More than two hosts are joined by".
def _switches_and_uplinks(
    ports: int, nics: int, down: int, up: int
) -> tuple[int, int] | None:
    """Return the switches of a tree and its uplinks; None beyond three tiers.

    Parameters
    ----------
    ports : int
        Ports of a switch, `k`.
    nics : int
        NICs to join, `n`.
    down, up : int
        Ports of a leaf to NICs and to spines.
    """
    if nics <= ports:
        return 1, 0
    if down == 0:
        return None
    half = ports // 2
    leaves = ceil(nics / down)
    upward = leaves * up
    if leaves <= ports:
        even = (n for n in range(1, up + 1) if up % n == 0)
        return leaves + min(n for n in even if n >= ceil(upward / ports)), upward
    if nics <= down * half * ports:
        second = ceil(upward / half)
        return leaves + second + ceil(second * half / ports), upward + second * half
    return None


def _trees(network: Network, nics: int) -> Iterator[tuple[Part, int, int]]:
    """Yield each switch, how many of it, and the cables between them."""
    ratio = network.oversubscription
    for switch in network.switches:
        fewest = ceil(switch.ports * ratio // (1 + ratio) / ratio)
        for up in range(fewest, switch.ports // 2 + 1):
            down = min(up * ratio, switch.ports - up)
            tree = _switches_and_uplinks(switch.ports, nics, down, up)
            if switch.price is not None and tree is not None:
                yield switch, *tree


def _cheapest_fabric(network: Network, nics: int) -> tuple[Part, int, int]:
    """Return the switch, how many of it, and the cables between them."""
    cable = network.uplink or network.cable
    uplink = (cable and cable.price) or 0
    trees = list(_trees(network, nics))
    if not trees:
        message = f"no switch of {network.id} joins {nics} NICs"
        raise PurchaseError(message)
    return min(trees, key=lambda one: (one[0].price or 0) * one[1] + uplink * one[2])


@dataclass(frozen=True)
class Cluster:
    """Everything that is bought, with its power in watts and its rack units.

    Of what is rented lines are prices of an hour, and power is somebody else's: none.
    """

    lines: tuple[Line, ...]
    hosts: int
    accelerators: int
    switch: str | None
    switches: int
    power_watts: float
    rack_units: float
    accelerator: str | None = None
    """What is bought, in a machine or alone; none of what is rented."""
    rented: bool = False

    @property
    def price(self) -> int:
        """Return the micro-dollars of all lines."""
        return sum(line.price for line in self.lines)

    @property
    def owned(self) -> tuple[int, float, float]:
        """Return its micro-dollars, watts and rack units."""
        return self.price, self.power_watts, self.rack_units

    # Sections 10 and 13.
    def paid(self, hours: float) -> int:
        """Return the micro-dollars that a run of so many hours costs."""
        return round(self.price * hours) if self.rented else self.price

    # Sections 10 and 13; model.md, section 8.
    def cost(self, tokens_per_second: float, cost: Cost) -> dict[str, float]:
        """Return the `cost` of a run: what is rented is busy as long as it is paid."""
        if self.rented:
            busy, rent = replace(cost, duty=1.0), self.price / MICRO_USD_PER_USD
            return cost_table([], tokens_per_second, busy, rent)
        return cost_table([self.owned], tokens_per_second, cost)


def rented_cluster(
    facts: Facts, *, offer: str, terms: str, accelerators: int
) -> Cluster:
    """Return the instances of an offer that hold so many accelerators.

    Raises
    ------
    RentError
        If it is not offered on these terms.
    """
    machine = facts.host(offer)
    hosts = ceil(accelerators / machine.slots)
    line, _ = instance_line(facts, machine, terms, hosts)
    return Cluster(
        lines=(line,),
        hosts=hosts,
        accelerators=hosts * machine.slots,
        switch=None,
        switches=0,
        power_watts=0.0,
        rack_units=0.0,
        rented=True,
    )


def cluster(
    facts: Facts,
    *,
    accelerator: str,
    host: str,
    network: str | None,
    nics_per_host: int,
    accelerators: int,
    spares: int,
    owned: Mapping[str, int] | None = None,
) -> Cluster:
    """Put together what a run is bought on.

    Parameters
    ----------
    facts : Facts
        Catalogs and assumptions.
    accelerator, host, network : str
        Ids; one host has no network.
    nics_per_host : int
        NICs in each of several hosts.
    accelerators : int
        Accelerators at work.
    spares : int
        Full hosts beside those at work, switched off.
    owned : mapping, optional
        Accelerators and hosts of it that are there already.

    Returns
    -------
    Cluster
        Lines, power and height.

    Raises
    ------
    PurchaseError
        If it cannot be bought.
    """
    card = facts.accelerator(accelerator)
    machine = facts.host_for(host, accelerator)
    of_one = HostSet(
        card=card,
        machine=machine,
        accelerators=accelerators,
        hosts=ceil(accelerators / machine.slots),
        spares=spares,
        owned=owned or {},
    )
    return joined(facts, [of_one], network, nics_per_host, stores=True)


@dataclass(frozen=True)
class HostSet:
    """Hosts of one kind: so many at work, with so many accelerators, and spares."""

    card: Accelerator
    machine: Host
    accelerators: int
    hosts: int
    spares: int = 0
    owned: Mapping[str, int] = field(default_factory=dict)

    @property
    def all_hosts(self) -> int:
        """Return the hosts that are bought or there."""
        return self.hosts + self.spares

    @property
    def bought(self) -> int:
        """Return the accelerators that do not come with their hosts."""
        used = self.accelerators + self.spares * self.machine.slots
        return accelerators_bought(self.machine, hosts=self.all_hosts, used=used)

    @property
    def present(self) -> int:
        """Return the accelerators that come with the hosts or in them."""
        of_hosts = self.all_hosts * self.machine.slots // self.machine.slices
        return self.bought or of_hosts

    def lines(self) -> Iterator[Line]:
        """Yield hosts and accelerators."""
        hosts = self.owned.get("hosts", 0)
        yield from part_lines(self.machine, "host", self.all_hosts, hosts)
        cards = self.owned.get("accelerators", 0)
        yield from part_lines(self.card, "accelerator", self.bought, cards)

    def power_watts(self, load_fraction: float) -> float:
        """Return the draw of what is at work."""
        if self.card.power is None:
            message = f"the vendor publishes no power of {self.card.id}"
            raise PurchaseError(message)
        drawn = self.accelerators * self.card.power * load_fraction
        return drawn + self.hosts * self.machine.power

    def in_racks(
        self, facts: Facts, parts: Sequence[Line], *, stores: bool
    ) -> Iterator[Line]:
        """Yield what stands around the hosts, and what all `parts` are carried for."""
        hosts = self.all_hosts - min(self.all_hosts, self.owned.get("hosts", 0))
        # Cards in the host of another set are told here, and it there.
        all_hosts, present = self.all_hosts, self.present
        accelerators = present * hosts // all_hosts if all_hosts else present
        yield from rack_lines(
            facts,
            self.card,
            self.machine,
            parts,
            hosts=hosts,
            accelerators=accelerators,
            stored=accelerators if stores else 0,
        )


def joined(
    facts: Facts,
    sets: Sequence[HostSet],
    network: str | None,
    nics_per_host: int,
    *,
    stores: bool,
) -> Cluster:
    """Put together hosts of one kind or of several, and what joins them.

    Parameters
    ----------
    facts : Facts
        Catalogs and assumptions.
    sets : sequence of HostSet
        Hosts of each kind.
    network : str or None
        What joins them; one host has none.
    nics_per_host : int
        NICs in each of several hosts.
    stores : bool
        Whether there is storage of its own: a run keeps its data and checkpoints there.

    Returns
    -------
    Cluster
        Lines, power and height.

    Raises
    ------
    PurchaseError
        If it cannot be bought.
    """
    hosts = sum(each.all_hosts for each in sets)
    at_work = sum(each.hosts for each in sets)
    net = None if network is None else facts.network(network)
    for each in sets:
        check_fit(each.card, each.machine, net, nics_per_host if hosts > 1 else 0)
    lines = [line for each in sets for line in each.lines()]
    load_fraction = facts.assumptions.cost.load_fraction
    power = sum(each.power_watts(load_fraction) for each in sets)
    height = sum(each.all_hosts * each.machine.rack_units for each in sets)
    switch, count = None, 0
    if hosts > 1:
        if net is None:
            message = f"{hosts} hosts need a network"
            raise PurchaseError(message)
        new = [
            (each.all_hosts, *nics_bought(each.machine, net, nics_per_host))
            for each in sets
        ]
        cables = sum(many * cabled for many, _, cabled in new)
        uplinks = 0
        lines.extend(nic_lines(net, sum(many * nics for many, nics, _ in new)))
        power += at_work * nics_per_host * net.nic.power if at_work > 1 else 0.0
        if hosts > 2:
            chosen, count, uplinks = _cheapest_fabric(net, hosts * nics_per_host)
            switch = chosen.id
            price = priced(chosen.price, chosen.id)
            name = chosen.name
            if count > 1 and net.oversubscription > 1:
                name = f"{name}, leaves {net.oversubscription}:1"
            lines.append(Line("switch", chosen.id, name, count, price))
            power += count * chosen.power
            height += count * chosen.rack_units if height else 0.0
        else:
            cables //= 2
        lines.extend(cable_lines(net, cables, uplinks))
    first, *others = sets
    around = [*first.in_racks(facts, lines, stores=stores)]
    for each in others:
        around.extend(each.in_racks(facts, (), stores=stores))
    return Cluster(
        lines=tuple(merged([(1, [*lines, *around])])),
        hosts=hosts,
        accelerators=sum(each.present for each in sets),
        switch=switch,
        switches=count,
        power_watts=power,
        rack_units=height,
        accelerator=first.card.model_id,
    )
