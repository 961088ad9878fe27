"""Hardware as the catalogs state it: accelerators, links, hosts and networks.

Sections and keys are those of docs/reference/catalogs.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from planopt_reference import units

__all__ = [
    "Accelerator",
    "Host",
    "Link",
    "Network",
    "Part",
    "accelerator",
    "host",
    "link",
    "network",
]

Table = Mapping[str, Any]
_Read = TypeVar("_Read")

_PEAKS: Final = (
    "fp32",
    "tf32",
    "fp16",
    "fp16_fp16_accumulate",
    "bf16",
    "fp8",
    "fp8_fp16_accumulate",
    "int8",
    "fp4",
)


@dataclass(frozen=True)
class Accelerator:
    """An accelerator: bytes, bytes/s, FLOP/s, watts and micro-dollars."""

    id: str
    name: str
    vendor: str
    family: str
    form_factor: str
    datacenter_licence: bool
    peer_to_peer: bool
    unified_memory: bool
    memory: float
    memory_bandwidth: float
    peak: Mapping[str, float]
    lanes: int
    """Operations in fp32 of a multiprocessor in a clock."""
    power: float | None
    profiles: Mapping[str, tuple[float, float, int]]
    """Shares of memory and multiprocessors, and instances of a card, by MIG profile."""
    pcie_link: str | None
    pcie_generation: int | None
    scale_up_name: str | None
    scale_up_bandwidth: float
    scale_up_domain: int
    scale_up_between_hosts: bool
    price: int | None
    """Of a new one, where nobody says that they are no longer sold."""
    price_used: int | None
    card_slots: int | None
    """Slots of a case that a card covers."""

    slices: int = 1
    """Instances of the card that it is one of."""

    @property
    def model_id(self) -> str:
        """Return its id without a power limit, of whole cards."""
        return self.id.partition("@")[0]

    # Section 4, domain.
    def domain_in(self, slots: int) -> int:
        """Return how many of it the scale-up link joins in hosts of `slots`."""
        if self.scale_up_between_hosts:
            return self.scale_up_domain
        return min(self.scale_up_domain, slots)


@dataclass(frozen=True)
class Link:
    """A link: bytes/s in one direction, and seconds of one message."""

    id: str
    bandwidth: float | None
    latency: float
    downlink: float | None = None
    """Bytes/s of the other direction, where that is not as fast."""
    loss: float = 0.0
    """Share of the packets that are lost."""


@dataclass(frozen=True)
class Host:
    """A host, without accelerators unless it `includes` them."""

    id: str
    name: str
    form_factors: tuple[str, ...]
    slots: int
    whole: bool
    link: str
    nics: int
    power: float
    rack_units: float
    price: int | None
    all_reduce: Mapping[str, Mapping[str, float]]
    included_accelerator: str | None
    included_count: int
    included_nics: int = 0
    included_networks: tuple[str, ...] = ()
    included_optics: bool = False
    on_request: bool = False
    slices: int = 1
    """Accelerators of a card, where cards are divided."""
    card_slots: int | None = None
    """Slots of the case for cards."""
    power_supply: float | None = None
    memory: float | None = None
    """Bytes beside those of its accelerators."""
    memory_bandwidth: float | None = None
    disk_bandwidth: float | None = None


@dataclass(frozen=True)
class Part:
    """A NIC, a switch or a cable; only a switch has ports and rack units."""

    id: str
    name: str
    price: int | None
    power: float = 0.0
    rack_units: float = 0.0
    ports: int = 0
    pcie_generation: int = 0
    """What accelerators need to use a NIC at its rate."""


@dataclass(frozen=True)
class Network:
    """A link across hosts with the parts that make it."""

    id: str
    link: str
    rdma: bool
    nic: Part
    switches: tuple[Part, ...]
    cable: Part | None = None
    uplink: Part | None = None
    """What joins switches, where it is another cable."""
    oversubscription: int = 1
    """Ports of a leaf to hosts for one to spines, at most."""


def _optional(table: Table, key: str, read: Callable[[object], _Read]) -> _Read | None:
    return read(table[key]) if key in table else None


def _price_new(table: Table) -> int | None:
    sold = units.unwrapped(table.get("on_sale", True))
    return _optional(table, "price", units.price) if sold else None


def _bytes(figure: object) -> float:
    return units.quantity(figure, "bytes")


def _text(figure: object) -> str:
    return str(units.unwrapped(figure))


def _texts(figure: object) -> tuple[str, ...]:
    value = units.unwrapped(figure)
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _watts(figure: object) -> float:
    return units.quantity(figure, "watts")


def accelerator(table: Table) -> Accelerator:
    """Read a file of `accelerators`."""
    pcie = table.get("pcie")
    scale_up = table.get("scale_up")
    return Accelerator(
        id=table["id"],
        name=table["name"],
        vendor=str(table.get("vendor", "")),
        family=str(table.get("family", "")),
        form_factor=table["form_factor"],
        datacenter_licence=table["datacenter_licence"],
        peer_to_peer=table["peer_to_peer"] == "yes",
        unified_memory=table["unified_memory"],
        memory=units.quantity(table["memory"], "bytes"),
        memory_bandwidth=units.bytes_per_second(table["memory_bandwidth"]),
        peak={
            name: units.quantity(table["peak"][name], "flop/s")
            for name in _PEAKS
            if name in table.get("peak", {})
        },
        lanes=units.count(table.get("lanes", 128)),
        power=_optional(table, "power", _watts),
        profiles={
            one["profile"]: (
                units.count(one["memory"]) / units.count(one["memory_of"]),
                units.count(one["compute"]) / units.count(one["compute_of"]),
                units.count(one["instances"]),
            )
            for one in table.get("mig", ())
        },
        pcie_link=None if pcie is None else _pcie_link(pcie),
        pcie_generation=None if pcie is None else units.count(pcie["generation"]),
        scale_up_name=None if scale_up is None else scale_up["name"],
        scale_up_bandwidth=(
            0.0 if scale_up is None else units.bytes_per_second(scale_up["bandwidth"])
        ),
        scale_up_domain=0 if scale_up is None else units.count(scale_up["domain"]),
        scale_up_between_hosts=(
            scale_up is not None and bool(scale_up.get("between_hosts"))
        ),
        price=_price_new(table),
        price_used=_optional(table, "price_used", units.price),
        card_slots=_optional(table, "slots", units.count),
    )


def _pcie_link(table: Table) -> str:
    generation, lanes = units.count(table["generation"]), units.count(table["lanes"])
    return f"pcie{generation}-x{lanes}"


def link(table: Table) -> Link:
    """Read a file of `links`."""
    return Link(
        id=table["id"],
        bandwidth=_optional(table, "bandwidth", units.bytes_per_second),
        latency=units.seconds(table.get("latency", "0 s")),
        downlink=_optional(table, "downlink", units.bytes_per_second),
        loss=units.share(table.get("loss", 0)),
    )


def host(table: Table) -> Host:
    """Read a file of `hosts`."""
    includes = table.get("includes", {})
    return Host(
        id=table["id"],
        name=table["name"],
        form_factors=tuple(table["form_factors"]),
        slots=units.count(table["slots"]),
        whole=table["whole"],
        link=table["link"],
        nics=units.count(table.get("nics", 0)),
        power=_watts(table["power"]),
        rack_units=units.share(table["rack_units"]),
        price=_price_new(table),
        all_reduce={
            name: {
                group: units.bytes_per_second(figure)
                for group, figure in groups.items()
            }
            for name, groups in table.get("all_reduce", {}).items()
        },
        included_accelerator=_optional(includes, "accelerator", _text),
        included_count=units.count(includes.get("count", 0)),
        included_nics=units.count(includes.get("nics", 0)),
        included_networks=_texts(includes.get("networks", [])),
        included_optics=bool(units.unwrapped(includes.get("optics", False))),
        on_request=table.get("on_request", False),
        card_slots=_optional(table, "card_slots", units.count),
        power_supply=_optional(table, "power_supply", _watts),
        memory=_optional(table, "memory", _bytes),
        memory_bandwidth=_optional(table, "memory_bandwidth", units.bytes_per_second),
        disk_bandwidth=_optional(table, "disk_bandwidth", units.bytes_per_second),
    )


def _part(table: Table) -> Part:
    return Part(
        id=table["id"],
        name=table["name"],
        price=_optional(table, "price", units.price),
        power=_watts(table.get("power", "0 W")),
        rack_units=units.share(table.get("rack_units", 0)),
        ports=units.count(table.get("ports", 0)),
        pcie_generation=units.count(table.get("pcie_generation", 0)),
    )


def network(table: Table) -> Network:
    """Read a file of `networks`."""
    return Network(
        id=table["id"],
        link=table["link"],
        rdma=table["transport"] == "rdma",
        nic=_part(table["nic"]),
        switches=tuple(_part(switch) for switch in table.get("switch", [])),
        cable=_part(table["cable"]) if "cable" in table else None,
        uplink=_part(table["uplink"]) if "uplink" in table else None,
        oversubscription=units.count(table.get("oversubscription", 1)),
    )
