"""What a training run is bought on (training.md, section 10)."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    nic_lines,
    nics_bought,
    part_lines,
    priced,
    rack_lines,
)
from planopt_reference.units import MICRO_USD_PER_USD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt_reference.assumptions import Cost
    from planopt_reference.facts import Facts
    from planopt_reference.hardware import Network, Part


# Section 10, "More than two hosts are joined by".
def switches_and_uplinks(ports: int, nics: int) -> tuple[int, int] | None:
    """Return the switches of a fabric and the cables between them.

    Parameters
    ----------
    ports : int
        Ports of a switch, `k`.
    nics : int
        NICs to join, `n`.

    Returns
    -------
    tuple of (int, int), or None
        None beyond three tiers.
    """
    if nics <= ports:
        return 1, 0
    half = ports // 2
    if half == 0:
        return None
    leaves = ceil(nics / half)
    top = ceil(leaves * half / ports)
    if leaves <= ports:
        return leaves + top, leaves * half
    if nics <= half * half * ports:
        return 2 * leaves + top, 2 * leaves * half
    return None


def _cheapest_fabric(network: Network, nics: int) -> tuple[Part, int, int]:
    """Return the switch, how many of it, and the cables between them."""
    fabrics = [
        (switch, *fabric)
        for switch in network.switches
        if switch.price is not None
        and (fabric := switches_and_uplinks(switch.ports, nics)) is not None
    ]
    if not fabrics:
        message = f"no switch of {network.id} joins {nics} NICs"
        raise PurchaseError(message)
    return min(fabrics, key=lambda one: (one[0].price or 0) * one[1])


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
    at_work = ceil(accelerators / machine.slots)
    hosts = at_work + spares
    joined = None if network is None else facts.network(network)
    check_fit(card, machine, joined, nics_per_host if hosts > 1 else 0)
    if card.power is None:
        message = f"the vendor publishes no power of {accelerator}"
        raise PurchaseError(message)
    bought = accelerators_bought(
        machine, hosts=hosts, used=accelerators + spares * machine.slots
    )
    there = owned or {}
    lines = [
        *part_lines(machine, "host", hosts, there.get("hosts", 0)),
        *part_lines(card, "accelerator", bought, there.get("accelerators", 0)),
    ]
    drawn = accelerators * card.power * facts.assumptions.cost.load_fraction
    power = drawn + at_work * machine.power
    height, switch, count = hosts * machine.rack_units, None, 0
    if hosts > 1:
        if joined is None:
            message = f"{hosts} hosts need a network"
            raise PurchaseError(message)
        nics = hosts * nics_per_host
        new_nics, new_cables = nics_bought(machine, joined, nics_per_host)
        cables, uplinks = hosts * new_cables // 2, 0
        lines.extend(nic_lines(joined, hosts * new_nics))
        power += at_work * nics_per_host * joined.nic.power if at_work > 1 else 0.0
        if hosts > 2:
            chosen, count, uplinks = _cheapest_fabric(joined, nics)
            switch, cables = chosen.id, hosts * new_cables
            price = priced(chosen.price, chosen.id)
            lines.append(Line("switch", chosen.id, chosen.name, count, price))
            power += count * chosen.power
            height += count * chosen.rack_units if machine.rack_units else 0.0
        lines.extend(cable_lines(joined, cables, uplinks))
    present = bought or hosts * machine.slots
    new_hosts = hosts - min(hosts, there.get("hosts", 0))
    new = present * new_hosts // hosts
    around = rack_lines(
        facts,
        card,
        machine,
        lines,
        hosts=new_hosts,
        accelerators=new,
        stored=new,
    )
    lines.extend(around)
    return Cluster(
        lines=tuple(lines),
        hosts=hosts,
        accelerators=present,
        switch=switch,
        switches=count,
        power_watts=power,
        rack_units=height,
        accelerator=card.model_id,
    )
