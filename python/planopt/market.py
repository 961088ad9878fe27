"""What may be bought, within which limits, and how long is looked: of any question."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from planopt.acquisition import is_offer
from planopt.catalog.open import DEFAULT_ASSUMPTIONS
from planopt.prices import Condition, read_prices
from planopt.shared_options import check_names, refuse_both

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog
    from planopt.documents.parts import Assumed
    from planopt.options import Asked

__all__ = ["Market", "read_market"]

DEFAULT_TOP = 8
DEFAULT_TIME_LIMIT_SECONDS = 10.0


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


def read_market(asked: Asked, catalog: Catalog) -> dict[str, Any]:
    """Read what is shared: fields of a `Market`, names looked up in the catalog."""
    fields: dict[str, Any] = {
        "accelerators": asked.names("accelerators"),
        "exclude": asked.names("exclude"),
        "hosts": asked.names("host"),
        "networks": asked.names("network"),
        "datacenter": asked.switch("datacenter"),
        "stock": asked.counts("stock"),
        **read_prices(asked, catalog),
        "max_power_watts": asked.quantity("max_power"),
        "max_racks": asked.quantity("max_racks"),
        "top": asked.count("top"),
        "time_limit_seconds": asked.quantity("time_limit"),
        "catalog": catalog.overlays,
        "assumptions": asked.text("assumptions"),
        "typed": asked.typed,
    }
    _check_names(asked, catalog, fields)
    refuse_both(asked, fields["accelerators"], fields["exclude"])
    return fields


def _check_names(asked: Asked, catalog: Catalog, fields: dict[str, Any]) -> None:
    hosts = fields["hosts"]
    for kind, option, names in (
        ("accelerators", "accelerators", fields["accelerators"]),
        ("accelerators", "exclude", fields["exclude"]),
        ("accelerators", "stock", fields["stock"]),
        ("hosts", "host", [each for each in hosts if not is_offer(each)]),
        ("offers", "host", [each for each in hosts if is_offer(each)]),
        ("networks", "network", fields["networks"]),
    ):
        check_names(asked, catalog, kind, option, names)
