"""What is bought: units, their bill of materials, price and power (model.md, 7)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from planopt_reference.communication import hosts_of_replica
from planopt_reference.rent import Rent, rent_of
from planopt_reference.units import MICRO_USD_PER_USD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from planopt_reference.facts import Facts
    from planopt_reference.hardware import Accelerator, Host, Network, Part


# Section 7, "What stands in racks is bought with": names of the lines.
RACK_LINES: Final = {
    "front_end": "Front-end network for an accelerator",
    "management": "Management ports of a host",
    "storage": "Storage for an accelerator",
    "racks": "Racks and power strips",
    "memory": "Memory of a host for KV caches",
    "disks": "Disks of a host for KV caches",
    "freight": "Freight and integration",
    "spares": "Spare parts",
}
UNITS_OF_A_RACK: Final = 42


class PurchaseError(ValueError):
    """A unit that cannot be bought: a part has no price, or does not fit."""


@dataclass(frozen=True)
class Line:
    """A line of a bill of materials; `unit_price` in micro-dollars.

    The price of an instance is that of an hour.
    """

    kind: str
    id: str
    name: str
    quantity: int
    unit_price: int
    owned: bool = False
    """Whether it is there already, and costs nothing."""

    @property
    def price(self) -> int:
        """Return the micro-dollars of the line."""
        return self.quantity * self.unit_price

    def table(self) -> dict[str, object]:
        """Return the line as in a plan document."""
        each, total = self.money_fields
        return {
            "kind": self.kind,
            "id": self.id,
            "name": self.name,
            "quantity": self.quantity,
            "owned": self.owned,
            each: self.unit_price / MICRO_USD_PER_USD,
            total: self.price / MICRO_USD_PER_USD,
        }

    @property
    def is_sum(self) -> bool:
        """Whether it is paid in one sum, however many units it is for."""
        return self.kind in ("racks", "freight", "spares")

    @property
    def money_fields(self) -> tuple[str, str]:
        """Return the fields of a plan that hold its price, of one and of all."""
        if self.kind == "instance":
            return "unit_usd_per_hour", "usd_per_hour"
        return "unit_price_usd", "price_usd"


@dataclass(frozen=True)
class SwitchShare:
    """What one unit buys of a switch: `blocks` of the `parts` it is sold in."""

    switch: Part
    blocks: int
    parts: int
    port_block: int | None

    @property
    def share(self) -> float:
        """Return the share of the switch's power and height."""
        return self.blocks / self.parts

    @property
    def part_price(self) -> int:
        """Return the micro-dollars of one part, rounded up."""
        return -(-priced(self.switch.price, self.switch.id) // self.parts)


@dataclass(frozen=True)
class Unit:
    """The smallest thing that is bought on its own."""

    lines: tuple[Line, ...]
    replicas: int
    hosts: int
    accelerators: int
    switch: SwitchShare | None
    power_watts: float
    rack_units: float
    accelerator: str | None = None
    """What is bought, in a machine or alone; none of what is rented."""
    rent: Rent | None = None

    @property
    def price(self) -> int:
        """Return the purchase money of the unit, in micro-dollars."""
        return 0 if self.rent else sum(line.price for line in self.lines)

    @property
    def rent_per_hour(self) -> int:
        """Return the rent of an hour of the unit, in micro-dollars."""
        return sum(line.price for line in self.lines) if self.rent else 0

    @property
    def goodput(self) -> float:
        """Return the share of the time that the unit works."""
        return self.rent.goodput if self.rent else 1.0


def priced(price: int | None, name: str) -> int:
    """Return a price in micro-dollars, which a part must have to be bought."""
    if price is None:
        message = f"{name} has no price"
        raise PurchaseError(message)
    return price


# Section 7, "What is owned".
def part_lines(
    part: Accelerator | Host, kind: str, quantity: int, owned: int
) -> Iterator[Line]:
    """Return the lines of a part: what is there already, and what is bought."""
    there = min(owned, quantity)
    if there:
        yield Line(kind, part.id, part.name, there, 0, owned=True)
    if quantity > there:
        price = priced(part.price, part.id)
        yield Line(kind, part.id, part.name, quantity - there, price)


# Section 7, "A unit is".
def hosts_of_unit(
    accelerator: Accelerator, host: Host, *, t: int, p: int, replicas: int
) -> int:
    """Return the hosts of a unit of some replicas.

    Raises
    ------
    PurchaseError
        If the replicas of a one-host unit do not fit its slots.
    """
    hosts = hosts_of_replica(accelerator, host, t=t, p=p)
    if hosts > 1:
        return hosts * replicas
    if replicas * t * p > host.slots:
        needed = f"{replicas} replicas of {t * p} accelerators"
        message = f"{needed} do not fit the {host.slots} slots of {host.id}"
        raise PurchaseError(message)
    return 1


# Section 7, "Hosts with `whole` come with all their slots filled".
def accelerators_bought(host: Host, *, hosts: int, used: int) -> int:
    """Return the accelerators that are bought besides those a machine comes with."""
    if host.included_accelerator is not None:
        return 0
    # Whole cards, also where these are divided.
    return -(-(hosts * host.slots if host.whole else used) // host.slices)


# Section 7, "Two hosts are connected directly".
def switch_share(
    network: Network,
    switch: str | None,
    *,
    hosts_of_replica: int,
    nics_per_host: int,
    replicas: int,
    port_block: int | None,
) -> SwitchShare | None:
    """Return the part of a switch that connects the hosts of a unit, if they need one.

    Raises
    ------
    PurchaseError
        If they need a switch and it is not named, does not exist or is too small, or
        if several replicas are to share what only one can have.
    """
    hosts = hosts_of_replica * replicas
    if hosts_of_replica == 2:
        if replicas > 1:
            message = "two hosts connected directly are a unit of one replica"
            raise PurchaseError(message)
        return None
    chosen = next((part for part in network.switches if part.id == switch), None)
    if chosen is None:
        message = f"{hosts} hosts need a switch of {network.id}, not `{switch}`"
        raise PurchaseError(message)
    ports = hosts * nics_per_host
    if ports > chosen.ports:
        message = f"{ports} ports are needed, {chosen.id} has {chosen.ports}"
        raise PurchaseError(message)
    if port_block is None:
        return SwitchShare(chosen, blocks=1, parts=1, port_block=None)
    if replicas > 1:
        message = "a unit holds one replica where switches are sold in blocks of ports"
        raise PurchaseError(message)
    blocks, parts = math.ceil(ports / port_block), chosen.ports // port_block
    if blocks > parts:
        message = f"{blocks} blocks of ports are needed, {chosen.id} has {parts}"
        raise PurchaseError(message)
    return SwitchShare(chosen, blocks, parts, port_block)


# Section 7, "What the price of a host includes".
def nics_bought(host: Host, network: Network, nics_per_host: int) -> tuple[int, int]:
    """Return the NICs to buy for a host, and those to buy a cable for."""
    if network.id not in host.included_networks:
        return nics_per_host, nics_per_host
    bought = max(0, nics_per_host - host.included_nics)
    return bought, bought if host.included_optics else nics_per_host


# Section 7, "Cables are bought where they have a price".
def cable_lines(network: Network, cabled: int, uplinks: int = 0) -> Iterator[Line]:
    """Return the lines of cables: of NICs, of pairs without a switch, of uplinks."""
    bought = (network.cable, cabled), (network.uplink or network.cable, uplinks)
    for cable, quantity in bought:
        if cable is not None and cable.price is not None and quantity > 0:
            yield Line("cable", cable.id, cable.name, quantity, cable.price)


def nic_lines(network: Network, bought: int) -> Iterator[Line]:
    """Return the line of NICs, where any are bought."""
    nic = network.nic
    if bought > 0:
        yield Line("nic", nic.id, nic.name, bought, priced(nic.price, nic.id))


def _network_lines(
    network: Network,
    host: Host,
    hosts: int,
    nics_per_host: int,
    share: SwitchShare | None,
) -> Iterator[Line]:
    bought, cabled = nics_bought(host, network, nics_per_host)
    yield from nic_lines(network, hosts * bought)
    if share is not None:
        switch = share.switch
        kind, name = "switch", switch.name
        if share.port_block is not None:
            kind, name = "switch_ports", f"ports of {switch.name}"
        yield Line(kind, switch.id, name, share.blocks, share.part_price)
    # A cable between two hosts ends at a NIC of each.
    yield from cable_lines(network, hosts * cabled if share else hosts * cabled // 2)


# Section 7, "Rack units are those of hosts, and of switches where a host has any".
def _rack_units(host: Host, hosts: int, share: SwitchShare | None) -> float:
    if host.rack_units == 0:
        return 0.0
    switches = 0.0 if share is None else share.switch.rack_units * share.share
    return hosts * host.rack_units + switches


# Section 7, power_watts.
def _power_watts(
    accelerator: Accelerator,
    host: Host,
    *,
    used: int,
    hosts: int,
    nic_watts: float,
    share: SwitchShare | None,
    load_fraction: float,
) -> float:
    switches = 0.0 if share is None else share.switch.power * share.share
    if accelerator.power is None:
        message = f"the vendor publishes no power of {accelerator.id}"
        raise PurchaseError(message)
    at_work = used * accelerator.power * load_fraction
    return at_work + hosts * host.power + nic_watts + switches


# Section 7, "a host must have room for the NICs".
def room_for(host: Host, network: Network | None) -> int:
    """Return the NICs of a network that a host takes."""
    if network is None or network.id in host.included_networks:
        return host.nics
    return max(0, host.nics - host.included_nics)


def check_fit(
    accelerator: Accelerator, host: Host, network: Network | None, nics_per_host: int
) -> None:
    """Refuse accelerators and NICs that a host does not take."""
    included = host.included_accelerator
    if included not in (None, accelerator.model_id):
        message = f"{host.id} comes with {included}, not {accelerator.id}"
        raise PurchaseError(message)
    if accelerator.form_factor not in host.form_factors:
        message = f"{accelerator.id} ({accelerator.form_factor}) does not fit {host.id}"
        raise PurchaseError(message)
    room = room_for(host, network)
    if nics_per_host > room:
        message = f"{nics_per_host} NICs do not fit {host.id}, which takes {room}"
        raise PurchaseError(message)
    needed = network.nic.pcie_generation if network and nics_per_host else 0
    if (accelerator.pcie_generation or 0) < needed:
        message = (
            f"{accelerator.id} has no PCIe {needed}.0 for {network and network.id}"
        )
        raise PurchaseError(message)


def unit(
    facts: Facts,
    *,
    accelerator: str,
    host: str,
    network: str | None,
    nics_per_host: int,
    switch: str | None,
    tp: int,
    cp: int = 1,
    dp: int = 1,
    pp: int,
    replicas: int,
    terms: str | None = None,
    owned: Mapping[str, int] | None = None,
) -> Unit:
    """Put together what one unit is made of.

    Parameters
    ----------
    facts : Facts
        Catalogs and assumptions.
    accelerator, host : str
        Ids of what a replica is made of.
    network, switch : str or None
        Ids of what connects several hosts; a unit of one host has neither.
    nics_per_host : int
        NICs in each of several hosts.
    tp, cp, dp, pp : int
        Tensor-parallel ranks, those that divide contexts around them, groups of both
        in a stage, and pipeline stages.
    replicas : int
        Replicas in the unit.
    terms : str, optional
        Terms of an instance that is rented.
    owned : mapping, optional
        Accelerators and hosts of it that are there already.

    Returns
    -------
    Unit
        Lines, power and height.

    Raises
    ------
    PurchaseError
        If it cannot be bought.
    """
    card = facts.accelerator(accelerator)
    machine = facts.host_for(host, accelerator)
    hosts = hosts_of_unit(card, machine, t=tp * cp * dp, p=pp, replicas=replicas)
    joined = None if network is None else facts.network(network)
    check_fit(card, machine, joined, nics_per_host if hosts > 1 else 0)
    if terms is not None:
        return _rented(facts, machine, terms, hosts=hosts, replicas=replicas)
    used = replicas * tp * cp * dp * pp
    bought = accelerators_bought(machine, hosts=hosts, used=used)
    there = owned or {}
    of_hosts = min(hosts, there.get("hosts", 0))
    lines = [
        *part_lines(card, "accelerator", bought, there.get("accelerators", 0)),
        *part_lines(machine, "host", hosts, of_hosts),
    ]
    share: SwitchShare | None = None
    nic_watts = 0.0
    if hosts > 1:
        if joined is None:
            message = f"{hosts} hosts need a network"
            raise PurchaseError(message)
        share = switch_share(
            joined,
            switch,
            hosts_of_replica=hosts // replicas,
            nics_per_host=nics_per_host,
            replicas=replicas,
            port_block=facts.assumptions.switch_port_block,
        )
        lines.extend(_network_lines(joined, machine, hosts, nics_per_host, share))
        nic_watts = hosts * nics_per_host * joined.nic.power
    present = bought or hosts * machine.slots // machine.slices
    around = rack_lines(
        facts,
        card,
        machine,
        lines,
        hosts=hosts - of_hosts,
        accelerators=present * (hosts - of_hosts) // hosts,
    )
    lines.extend(around)
    return Unit(
        lines=tuple(lines),
        replicas=replicas,
        hosts=hosts,
        accelerators=present,
        switch=share,
        power_watts=_power_watts(
            card,
            machine,
            used=used,
            hosts=hosts,
            nic_watts=nic_watts,
            share=share,
            load_fraction=facts.assumptions.cost.load_fraction,
        ),
        rack_units=_rack_units(machine, hosts, share),
        accelerator=card.model_id,
    )


# Section 8, "A unit of instances".
def _rented(
    facts: Facts, machine: Host, terms: str, *, hosts: int, replicas: int
) -> Unit:
    if hosts > 1 and replicas > 1:
        message = "several instances are a unit of one replica"
        raise PurchaseError(message)
    line, rent = instance_line(facts, machine, terms, hosts)
    return Unit(
        lines=(line,),
        replicas=replicas,
        hosts=hosts,
        accelerators=hosts * machine.slots // machine.slices,
        switch=None,
        power_watts=0.0,
        rack_units=0.0,
        rent=rent,
    )


def instance_line(
    facts: Facts, machine: Host, terms: str, hosts: int
) -> tuple[Line, Rent]:
    """Return the line of so many instances, whose price is that of an hour.

    Raises
    ------
    RentError
        If there is no such offer, or not on these terms.
    """
    offer = facts.offer(machine.id)
    rent = rent_of(offer, terms)
    card = facts.accelerator(offer.table["accelerator"])
    name = (
        f"{offer.provider['name']} {offer.table['instance']} "
        f"({machine.slots}x {card.name}), {offer.table['region']}, {terms}"
    )
    return Line("instance", machine.id, name, hosts, rent.price), rent


# Section 7, "What stands in racks is bought with".
def rack_lines(
    facts: Facts,
    card: Accelerator,
    machine: Host,
    parts: Iterable[Line],
    *,
    hosts: int,
    accelerators: int,
    stored: int = 0,
) -> Iterator[Line]:
    """Yield what hosts in racks are bought with beside their parts."""
    cost = facts.assumptions.cost
    in_rack = bool(machine.rack_units)
    whole = sum(line.price for line in parts)
    racks = machine.rack_units / UNITS_OF_A_RACK
    if cost.rack_kilowatts:
        watts = machine.power + machine.slots * (card.power or 0.0)
        racks = max(racks, watts / 1000 / cost.rack_kilowatts)
    for kind, quantity, dollars in (
        ("front_end", in_rack * accelerators, cost.front_end_usd_per_accelerator),
        ("management", in_rack * hosts, cost.management_usd_per_host),
        ("storage", in_rack * stored, cost.storage_usd_per_accelerator),
        ("racks", in_rack * hosts, racks * cost.racks_usd_per_rack),
        ("memory", hosts, cost.memory_bytes / 1e12 * cost.memory_usd_per_tb),
        ("disks", hosts, cost.disks * cost.cache_disk_usd),
    ):
        each = round(dollars * facts.gross * MICRO_USD_PER_USD)
        if quantity and each:
            line = Line(kind, kind, RACK_LINES[kind], quantity, each)
            one = replace(line, quantity=1, unit_price=line.price)
            yield one if line.is_sum else line
    for kind, share in (("freight", cost.freight), ("spares", cost.spares)):
        if in_rack and share and whole:
            yield Line(kind, kind, RACK_LINES[kind], 1, round(whole * share))


def merged(purchases: Iterable[tuple[int, Iterable[Line]]]) -> list[Line]:
    """Add up the lines of several purchases, each made so many times.

    Parameters
    ----------
    purchases : iterable of (int, iterable of Line)
        How often each list of lines is bought.

    Returns
    -------
    list of Line
        One line for each part, in the order they first appear.
    """
    total: dict[tuple[str, str, str, int, bool], Line] = {}
    for times, lines in purchases:
        for line in lines:
            each = 0 if line.is_sum else line.unit_price
            key = (line.kind, line.id, line.name, each, line.owned)
            known = total.get(key, replace(line, quantity=0))
            if line.is_sum:
                paid = (known.price if key in total else 0) + times * line.price
                total[key] = replace(line, unit_price=paid)
            else:
                quantity = known.quantity + times * line.quantity
                total[key] = replace(line, quantity=quantity)
    return list(total.values())
