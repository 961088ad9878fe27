"""What a catalog tells: entries, figures with sources, prices, assumptions."""

from __future__ import annotations

import msgspec
from msgspec import Struct


class Entry(Struct, frozen=True):
    """An entity in a list."""

    id: str
    name: str


class Figure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value as the file of an entity has it, and where it comes from."""

    field: str
    text: str
    low_usd: float | None = None
    high_usd: float | None = None
    per: int | None = None
    """How many a price is for, where it is divided."""
    cite: str | None
    date: str | None
    status: str | None


class Entity(Struct, frozen=True):
    """One entity with all that its file says."""

    kind: str
    id: str
    name: str
    file: str
    figures: tuple[Figure, ...]


class Source(Struct, frozen=True):
    """Where a figure comes from, and how well it is known."""

    cite: str
    date: str
    status: str


class Price(Struct, frozen=True, kw_only=True):
    """A price of a part, or of an hour of an offer."""

    kind: str
    id: str
    name: str
    condition: str
    """``new``, ``used``, ``on-demand`` or ``spot``."""
    usd: float
    low_usd: float | None = None
    high_usd: float | None = None
    per: int = 1
    on_sale: bool | None = None


class PriceTag(Price, frozen=True, kw_only=True):
    """A price as a file of the catalogs says it."""

    decides: bool
    """Whether it is paid in the condition that is asked for."""
    source: Source | None


class CostAssumptions(Struct, frozen=True):
    """Money over time."""

    years: float
    residual: float
    """Share of a price that is left after the years."""
    electricity_usd_per_kwh: float
    duty: float
    regained: float
    """Share of the idle hours in which what is rented on demand goes back."""
    pue: float
    rack_usd_per_month: float
    rack_units: float
    colocation_usd_per_kw_month: float
    support_per_year: float
    staff_usd_per_rack_year: float
    wacc: float
    front_end_usd_per_accelerator: float
    management_usd_per_host: float
    storage_usd_per_accelerator: float
    racks_usd_per_rack: float
    rack_kilowatts: float
    freight: float
    spares: float
    memory_usd_per_tb: float
    cache_disk_usd: float
    hosted_usd_per_million_tokens: float | None
    carbon_kg_per_kwh: float | None

    @property
    def paid_on_demand(self) -> float:
        """Share of all hours that are paid of what is rented on demand."""
        return 1.0 - self.regained * (1.0 - self.duty)


class Operation(Struct, frozen=True):
    """One operation of a model, and how often it is there."""

    name: str
    count: int
    parameters: int
    flop_per_token: float
    key_value_weights: int
    key_value_flop_per_token: float


class Model(Struct, frozen=True):
    """A model in short."""

    id: str
    name: str
    parameters: int
    active_parameters: int
    mtp_modules: int
    mtp_parameters: int
    weights: str
    max_context: int
    hidden: int
    heads: int
    layers: int
    outside: tuple[tuple[str, int], ...]
    operations: tuple[Operation, ...]


class Pricing(Struct, frozen=True, kw_only=True):
    """How parts are paid for; a question of anything has these fields."""

    condition: str = "new"
    """What accelerators are bought as: ``new``, ``used`` or ``any``."""
    prices: dict[str, float] = {}
    """Dollars in place of prices of the catalog, by part; of an hour, by offer."""
    discount: dict[str, float] = {}
    """Share of list prices that vendors of accelerators take off: of new ones, and of
    machines that they come in."""
    vat: float | None = None
    """Value-added tax on every price and rent, as a share of it."""

    @classmethod
    def of(cls, question: object) -> Pricing:
        """Take from a question how it pays."""
        return msgspec.convert(question, cls, from_attributes=True)
