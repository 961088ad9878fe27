"""What the catalogs say, read by the verifier itself (docs/reference/catalogs.md).

Nothing of the optimizer's reader is used here, so that a figure misread there shows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeVar

from planopt_reference import hardware, units
from planopt_reference.assumptions import (
    Assumptions,
    assumptions_from_table,
    of_lines,
)
from planopt_reference.hardware import Accelerator, Host, Link, Network, Part
from planopt_reference.rent import Offer, hourly, is_offer, offer_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Table = Mapping[str, Any]
_Entity = TypeVar("_Entity")

_HARDWARE_KINDS: Final = ("accelerators", "hosts", "links", "networks", "offers")
_RESIDUALS: Final = ("residuals.toml", "serving-residuals.toml")
_UNKNOWN_HOST_LINK: Final = "pcie4-x16"


class FactError(ValueError):
    """A catalog lacks an entity, or a file of it cannot be understood."""


def _takes(host: Host, card: Accelerator) -> bool:
    if host.included_accelerator is not None:
        return host.included_accelerator == card.model_id
    return card.form_factor in host.form_factors


# Section 7, "Where no host of the catalog takes them".
def _unknown_host(card: Accelerator, slots: int) -> Host:
    """Return a host of which nothing is known but what it holds."""
    return Host(
        id="unknown",
        name=f"unknown host of {slots} x {card.name}",
        form_factors=(card.form_factor,),
        slots=slots,
        whole=False,
        link=_UNKNOWN_HOST_LINK,
        nics=slots,
        power=0.0,
        rack_units=0.0,
        price=None,
        all_reduce={},
        included_accelerator=None,
        included_count=0,
    )


# Section 7, "A card that is divided".
def _divided(card: Accelerator, name: str, profile: str) -> Accelerator:
    """Return one of the instances of a card."""
    memory, compute, instances = card.profiles[profile]
    return replace(
        card,
        id=name,
        name=f"{card.name} as {instances} x {profile}",
        slices=instances,
        memory=card.memory * memory,
        memory_bandwidth=card.memory_bandwidth * memory,
        peak={kind: rate * compute for kind, rate in card.peak.items()},
        power=None if card.power is None else card.power / instances,
        scale_up_name=None,
        scale_up_bandwidth=0.0,
        scale_up_domain=0,
        scale_up_between_hosts=False,
        peer_to_peer=False,
    )


class Facts:
    """The catalogs that a set of assumptions sees.

    Parameters
    ----------
    catalog : Path
        Folder of the bundled catalog.
    overlays : sequence of Path
        Folders of the same shape; a later one wins over an earlier one.
    assumptions : str
        Id of the assumptions, or the path of a file of them.
    pcie_all_reduce : str, optional
        Class of PCIe all-reduce in place of that of the assumptions.
    cost : mapping, optional
        Figures of cost in place of those of the assumptions, by their names.
    engine : str, optional
        Serving engine that runs the kernels, one of the assumptions.
    step_tokens : int, optional
        Tokens of its step, where it reads prompts in chunks of so many.
    pricing : mapping, optional
        ``condition``: accelerators are bought ``new``, ``used``, or at the lower of
        both prices (``any``). ``prices``: dollars of parts (of an hour of offers on
        demand) in place of the catalogs', by their ids. ``discount``: shares of list
        prices that vendors of accelerators take off. ``vat``: the share that is added.
    carried : mapping, optional
        Tables by kind and id, which are read in place of every folder.

    Raises
    ------
    FactError
        If a folder or the assumptions are missing, or cannot be understood.
    """

    def __init__(
        self,
        catalog: Path,
        overlays: Sequence[Path] = (),
        *,
        assumptions: str,
        pcie_all_reduce: str | None = None,
        cost: Mapping[str, float] | None = None,
        engine: str | None = None,
        step_tokens: int | None = None,
        pricing: Mapping[str, Any] | None = None,
        carried: Mapping[str, Table] | None = None,
    ) -> None:
        self._carried = carried
        if carried is not None:
            overlays = ()
        for folder in overlays:
            if not folder.is_dir():
                message = f"no catalog folder `{folder}`"
                raise FactError(message)
        self.bundled = catalog
        paid = pricing or {}
        self._condition = paid.get("condition") or "new"
        self._prices = {
            id_: round(usd * units.MICRO_USD_PER_USD)
            for id_, usd in (paid.get("prices") or {}).items()
        }
        self._discount = {
            vendor.lower(): share
            for vendor, share in (paid.get("discount") or {}).items()
        }
        self._vat = paid.get("vat") or 0.0
        self._roots = (catalog, *overlays)
        self._hardware = ""
        self._read: dict[tuple[str, str], Any] = {}
        path = Path(assumptions)
        if carried is not None:
            stated = assumptions_from_table(self._of_plan("assumptions"))
        elif path.suffix == ".toml":
            stated = _built(path, assumptions_from_table)
        else:
            stated = self._entity("assumptions", assumptions, assumptions_from_table)
        if engine is not None and engine not in stated.engines:
            message = f"the assumptions say nothing of an engine `{engine}`"
            raise FactError(message)
        self.assumptions: Assumptions = replace(
            stated.under(engine, step_tokens),
            pcie_all_reduce=pcie_all_reduce or stated.pcie_all_reduce,
            cost=replace(stated.cost, **of_lines(cost or {})),
        )
        self._hardware = self.assumptions.hardware

    @property
    def gross(self) -> float:
        """Return what a dollar comes to with tax."""
        return 1.0 + self._vat

    # Section 7, "A power limit".
    def accelerator(self, name: str) -> Accelerator:
        """Return the accelerator of that id, below its power if that says so."""
        id_, at, limit = name.partition("@")
        stated: Accelerator = self._entity("accelerators", id_, hardware.accelerator)
        full = replace(stated, price=self._price(stated))
        if not at:
            return full
        if limit in full.profiles:
            return _divided(full, name, limit)
        exponent = self.assumptions.power_limit_exponent
        if full.power is None or exponent is None:
            message = f"it is not known what a power limit makes of {id_}"
            raise FactError(message)
        watts = units.quantity(limit, "watts")
        speed = (watts / full.power) ** exponent
        return replace(
            full,
            id=name,
            name=f"{full.name} at {watts:.0f} W",
            peak={kind: rate * speed for kind, rate in full.peak.items()},
            power=watts,
        )

    # Section 7, "In which condition".
    def _price(self, card: Accelerator) -> int | None:
        new = self._discounted(card.price, card.vendor)
        asked = {
            "new": (new,),
            "used": (card.price_used,),
            "any": (new, card.price_used),
        }[self._condition]
        lowest = min((price for price in asked if price is not None), default=None)
        return self._paid(card.id, lowest)

    # Section 7, "A discount".
    def _discounted(self, price: int | None, vendor: str) -> int | None:
        share = self._discount.get(vendor.lower(), 0.0)
        return None if price is None else round(price * (1.0 - share))

    def _paid(self, id_: str, price: int | None) -> int | None:
        net = self._prices.get(id_, price)
        return None if net is None else round(net * (1.0 + self._vat))

    def _said(self, part: Part) -> Part:
        return replace(part, price=self._paid(part.id, part.price))

    def offer(self, name: str) -> Offer:
        """Return the offer of that id."""
        provider = self._entity("offers", name.partition("/")[0], dict)
        offer = offer_of(provider, name)
        said = {
            key: self._rent(hourly(offer.table[key]))
            for key in ("price", "spot")
            if key in offer.table and self._vat
        }
        if name in self._prices:
            said["price"] = self._rent(self._prices[name])
        return replace(offer, table={**offer.table, **said}) if said else offer

    def _rent(self, net: int) -> str:
        gross = round(net * (1.0 + self._vat))
        return f"${gross / units.MICRO_USD_PER_USD:.6f}/h"

    def host(self, name: str) -> Host:
        """Return the host of that id; an instance for rent is one too."""
        if is_offer(name):
            return self._instance(name)
        host: Host = self._entity("hosts", name, hardware.host)
        comes_new = self._condition == "used" and host.included_accelerator is not None
        price = None if comes_new else host.price
        if host.included_accelerator is not None:
            card = self._entity(
                "accelerators", host.included_accelerator, hardware.accelerator
            )
            price = self._discounted(price, card.vendor)
        return replace(host, price=self._paid(name, price))

    # Section 7, "A host takes".
    def host_for(
        self, name: str | None, accelerator: str, slots: int | None = None
    ) -> Host:
        """Return the host with as many slots as it takes of an accelerator.

        Parameters
        ----------
        name : str or None
            Id of the host; none where no host of the catalog takes them.
        accelerator : str
            Id of the accelerator.
        slots : int, optional
            Accelerators put into each host that is not sold whole.
        """
        card = self.accelerator(accelerator)
        if name is None:
            return _unknown_host(card, slots or 1)
        host = self.host(name)
        if slots is not None and not host.whole:
            host = replace(host, slots=slots)
        return self._filled(host, card)

    def _filled(self, host: Host, card: Accelerator) -> Host:
        """Return a host with the slots that its case and power supply leave."""
        divided = replace(host, slots=host.slots * card.slices, slices=card.slices)
        boarded = host.whole or host.included_accelerator is not None
        if boarded or not self.assumptions.host_limits:
            return divided
        slots = host.slots
        if host.card_slots is not None and card.card_slots is not None:
            slots = min(slots, host.card_slots // max(card.card_slots, 1))
        if host.power_supply is not None and card.power is not None:
            each = card.power * card.slices
            while slots and host.power + slots * each > host.power_supply:
                slots -= 1
        if not slots:
            message = f"`{host.id}` has no room or no power for one {card.id}"
            raise FactError(message)
        return replace(divided, slots=slots * card.slices)

    # Section 8, "inside like".
    def _instance(self, name: str) -> Host:
        offer = self.offer(name)
        card = self.accelerator(offer.table["accelerator"])
        count = units.count(offer.table["count"])
        known = (self.host(each) for each in self._ids("hosts"))
        fitting = [
            host
            for host in known
            if not host.on_request and host.slots >= count and _takes(host, card)
        ]
        inside = min(
            fitting,
            key=lambda host: (
                host.included_accelerator is not None,
                host.slots,
                host.id,
            ),
            default=None,
        )
        return Host(
            id=name,
            name=name,
            form_factors=(card.form_factor,),
            slots=count,
            whole=True,
            link=_UNKNOWN_HOST_LINK if inside is None else inside.link,
            nics=1,
            power=0.0,
            rack_units=0.0,
            price=None,
            all_reduce={} if inside is None else inside.all_reduce,
            included_accelerator=card.id,
            included_count=count,
        )

    def link(self, name: str) -> Link:
        """Return the link of that id; instances of an offer have one between them."""
        if is_offer(name):
            rate = units.quantity(self.offer(name).table["network"], "bytes/s")
            return Link(id=name, bandwidth=rate, latency=0.0)
        return self._entity("links", name, hardware.link)

    def has_link(self, name: str) -> bool:
        """Return whether there is a link of that id."""
        if self._carried is not None:
            return f"links/{name}" in self._carried
        return self._path("links", name) is not None

    def network(self, name: str) -> Network:
        """Return the network of that id; instances of an offer have their own."""
        if is_offer(name):
            rdma = self.offer(name).table.get("transport") == "rdma"
            nic = Part(id=name, name=name, price=0)
            return Network(name, name, rdma, nic, switches=())
        network: Network = self._entity("networks", name, hardware.network)
        return replace(
            network,
            nic=self._said(network.nic),
            switches=tuple(map(self._said, network.switches)),
            cable=network.cable and self._said(network.cable),
            uplink=network.uplink and self._said(network.uplink),
        )

    def model_table(self, name: str) -> Table:
        """Return the model file of that id as a table (see `architecture`)."""
        return self._entity("models", name, dict)

    def _folders(self, kind: str) -> list[Path]:
        """Return the folders to look for a kind of entity in, the winning one last.

        What stands for all hardware hides that of the first catalog, not of overlays.
        """
        folders: list[Path] = []
        for root in self._roots:
            if not (self._hardware and kind in _HARDWARE_KINDS and not folders):
                folders.append(root / kind)
            if self._hardware:
                folders.append(root / self._hardware / kind)
        return folders

    def residuals(self) -> Table:
        """Return errors of predictions, of classes that speak for themselves."""
        if self._carried is not None:
            return self._of_plan("residuals")
        told = []
        for name in _RESIDUALS:
            path = self.bundled / "measurements" / name
            read = _table(path.read_text(encoding="utf-8"))
            rows, groups = read["least_rows"], read.get("least_groups", 0)
            told += [
                row
                for row in read["residual"]
                if row["rows"] >= rows and row.get("groups", groups) >= groups
            ]
        return {"residual": told}

    def _of_plan(self, name: str) -> Table:
        """Return a table that the plan carries."""
        if self._carried is None or name not in self._carried:
            message = f"the plan does not carry `{name}`"
            raise FactError(message)
        return self._carried[name]

    def _ids(self, kind: str) -> set[str]:
        if self._carried is not None:
            named = (name.partition("/") for name in self._carried)
            return {id_ for known, _, id_ in named if known == kind}
        folders = self._folders(kind)
        return {path.stem for folder in folders for path in folder.glob("*.toml")}

    def _path(self, kind: str, name: str) -> Path | None:
        folders = reversed(self._folders(kind))
        candidates = (folder / f"{name}.toml" for folder in folders)
        return next((path for path in candidates if path.is_file()), None)

    def _entity(
        self, kind: str, name: str, build: Callable[[Table], _Entity]
    ) -> _Entity:
        if (kind, name) not in self._read and self._carried is not None:
            self._read[kind, name] = build(self._of_plan(f"{kind}/{name}"))
        if (kind, name) not in self._read:
            path = self._path(kind, name)
            if path is None:
                message = f"no `{name}` in {kind}/ of the catalogs given"
                raise FactError(message)
            self._read[kind, name] = _built(path, build)
        entity: _Entity = self._read[kind, name]
        return entity


@lru_cache(maxsize=512)
def _table(text: str) -> Table:
    """Read a file once, however many plans are checked against it."""
    table: Table = tomllib.loads(text)
    return table


def _built(path: Path, build: Callable[[Table], _Entity]) -> _Entity:
    try:
        return build(_table(path.read_text(encoding="utf-8")))
    except KeyError as error:
        message = f"{path}: key {error} is missing"
        raise FactError(message) from error
    except (OSError, TypeError, ValueError, AttributeError) as error:
        message = f"{path}: {error}"
        raise FactError(message) from error
