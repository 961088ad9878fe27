"""What may be bought, within which limits, and how long is looked: of any question."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from planopt.acquisition import is_offer
from planopt.catalog.open import DEFAULT_ASSUMPTIONS
from planopt.prices import Condition, PriceOptions, read_prices
from planopt.shared_options import check_names, refuse_both

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planopt.catalog.open import Catalog
    from planopt.documents.parts import Assumed
    from planopt.options import OptionReader, TextOrNumber

__all__ = ["Market", "MarketOptions", "read_market"]

DEFAULT_TOP = 8
DEFAULT_TIME_LIMIT_SECONDS = 10.0
LEAST_RACKS = 0.01
"""Of a rack: less than half a unit of height, which nothing fits into."""


class MarketOptions(PriceOptions, total=False):
    """Options that questions of serving and of training share, as they were given."""

    accelerators: str | Sequence[str] | None
    exclude: str | Sequence[str] | None
    host: str | Sequence[str] | None
    network: str | Sequence[str] | None
    datacenter: bool
    stock: Mapping[str, int] | Sequence[str] | str | None
    max_power: TextOrNumber | None
    max_racks: TextOrNumber | None
    top: TextOrNumber | None
    time_limit: TextOrNumber | None


@dataclass(frozen=True, kw_only=True)
class Market:
    """What may be bought, within which limits, and how long is looked for it."""

    accelerators: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    datacenter: bool = False
    stock: dict[str, int] = field(default_factory=dict)
    condition: Condition = "new"
    prices: dict[str, float] = field(default_factory=dict)
    budget_usd: float | None = None
    max_power_watts: float | None = None
    max_racks: float | None = None
    top: int = DEFAULT_TOP
    time_limit_seconds: float = DEFAULT_TIME_LIMIT_SECONDS
    catalog: tuple[str, ...] = ()
    assumptions: str = DEFAULT_ASSUMPTIONS
    assumed: tuple[Assumed, ...] = ()
    typed: dict[str, str] = field(default_factory=dict)

    def rack_units(self, catalog: Catalog) -> float | None:
        """Return the height there is, in rack units, if it is limited."""
        if self.max_racks is None:
            return None
        return self.max_racks * float(catalog.native.cost_assumptions()["rack_units"])

    def counted(self, catalog: Catalog) -> Catalog:
        """Return the catalog with the prices that are asked for."""
        return catalog.priced(self.condition, self.prices)

    def hardware(self) -> dict[str, Any]:
        """Say what may be bought, as a search of the core takes it."""
        return {
            "accelerators": list(self.accelerators),
            "exclude": list(self.exclude),
            "hosts": list(self.hosts),
            "networks": list(self.networks),
            "datacenter": self.datacenter,
        }

    def recorded(self) -> dict[str, Any]:
        """Put it as the request of a plan records it."""
        return {
            "accelerators": self.accelerators,
            "exclude": self.exclude,
            "hosts": self.hosts,
            "networks": self.networks,
            "datacenter": self.datacenter,
            "stock": self.stock,
            "condition": self.condition,
            "prices": self.prices,
            "budget_usd": self.budget_usd,
            "max_power_watts": self.max_power_watts,
            "max_racks": self.max_racks,
            "top": self.top,
            "time_limit_seconds": self.time_limit_seconds,
            "catalog": self.catalog,
            "assumptions": self.assumptions,
            "typed": self.typed,
        }


def read_market(
    reader: OptionReader, catalog: Catalog, options: MarketOptions
) -> dict[str, Any]:
    """Read what is shared: fields of a `Market`, names looked up in the catalog."""
    limit = reader.quantity("time_limit", options.get("time_limit"), "seconds")
    fields: dict[str, Any] = {
        "accelerators": reader.names("accelerators", options.get("accelerators")),
        "exclude": reader.names("exclude", options.get("exclude")),
        "hosts": reader.names("host", options.get("host")),
        "networks": reader.names("network", options.get("network")),
        "datacenter": bool(options.get("datacenter")),
        "stock": reader.stock(options.get("stock")),
        **read_prices(
            reader,
            catalog,
            condition=options.get("condition"),
            prices=options.get("prices"),
        ),
        "max_power_watts": reader.quantity(
            "max_power", options.get("max_power"), "watts"
        ),
        "max_racks": reader.quantity(
            "max_racks", options.get("max_racks"), "count", least=LEAST_RACKS
        ),
        "top": reader.count("top", options.get("top")) or DEFAULT_TOP,
        "time_limit_seconds": limit or DEFAULT_TIME_LIMIT_SECONDS,
        "catalog": catalog.overlays,
    }
    _check_names(reader, catalog, fields)
    refuse_both(reader, fields["accelerators"], fields["exclude"])
    return fields


def _check_names(
    reader: OptionReader, catalog: Catalog, fields: dict[str, Any]
) -> None:
    hosts = fields["hosts"]
    for kind, option, names in (
        ("accelerators", "accelerators", fields["accelerators"]),
        ("accelerators", "exclude", fields["exclude"]),
        ("accelerators", "stock", fields["stock"]),
        ("hosts", "host", [each for each in hosts if not is_offer(each)]),
        ("offers", "host", [each for each in hosts if is_offer(each)]),
        ("networks", "network", fields["networks"]),
    ):
        check_names(reader, catalog, kind, option, names)
