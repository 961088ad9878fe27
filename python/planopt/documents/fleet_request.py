"""A fleet file as it was understood: the part of a plan that says what was asked."""

from msgspec import Struct, field

from planopt.catalog.entries import Pricing

WEEKDAYS = 5
WEEKEND_DAYS = 2


class Region(Struct, frozen=True, kw_only=True):
    """A place with its limits, of what is bought and owned there."""

    name: str
    power_watts: float | None = None
    racks: int | None = None
    rack_watts: float | None = None
    """Power of one rack."""
    switch_ports: int | None = None
    """Of the switches that hosts are reached through, one for each host."""
    ports_of_a_switch: int | None = None
    electricity_usd_per_kwh: float | None = None
    """In place of that of the assumptions; of a tariff, its mean."""
    electricity_by_hour: tuple[float, ...] = ()
    """The tariff: dollars per kWh in the hours of a day."""
    carbon_kg_per_kwh: float | None = None
    """In place of that of the assumptions."""


class Curve(Struct, frozen=True, kw_only=True):
    """Shares of the peak demand by the hour of a day."""

    name: str
    weekday: tuple[float, ...]
    weekend: tuple[float, ...]

    @property
    def week(self) -> tuple[float, ...]:
        """Shares in all hours of a week."""
        return (*self.weekday * WEEKDAYS, *self.weekend * WEEKEND_DAYS)


class Class(Struct, frozen=True, kw_only=True):
    """A promise to users."""

    name: str
    target: float | None = None
    """Tokens per second of each."""
    ttft_seconds: float | None = None


class Demand(Struct, frozen=True, kw_only=True):
    """Requests of a region at the peak of the first period."""

    region: str
    requests_per_second: float


class Size(Struct, frozen=True, kw_only=True):
    """Requests of one size."""

    name: str
    share: float
    prompt: int
    output: int


class Workload(Struct, frozen=True, kw_only=True):
    """A model with those who use it."""

    name: str
    model: str
    promise: str
    weights: str | None = None
    growth: float = 0.0
    """Share by which demand grows from period to period."""
    curve: str | None = None
    failures: int = 0
    """With which all of the peak is still served."""
    failure: str = "host"
    utilisation: float | None = None
    demand: tuple[Demand, ...] = ()
    sizes: tuple[Size, ...] = ()


class Training(Struct, frozen=True, kw_only=True):
    """A run of training."""

    name: str
    model: str
    region: str
    tokens: float
    deadline_seconds: float
    start: int = 1
    """Period that it begins with, the first being 1."""
    seq_len: int | None = None
    global_batch: int | None = None


class Bought(Struct, frozen=True, kw_only=True):
    """Hosts that can be bought."""

    accelerator: str
    host: str
    accelerators: int | None = None
    network: str | None = None
    region: str | None = None
    stock: int | None = None
    """Accelerators, in all regions together."""


class Owned(Struct, frozen=True, kw_only=True):
    """Hosts that are there already."""

    accelerator: str
    host: str
    region: str
    hosts: int
    accelerators: int | None = None


class Rented(Struct, frozen=True, kw_only=True):
    """Instances that can be rented."""

    offer: str
    accelerator: str
    accelerators: int
    region: str
    terms: str
    micro_usd_per_hour: int
    goodput: float
    quota: int | None = None


class FleetRequest(Pricing, frozen=True, kw_only=True):
    """A question of a whole fleet."""

    periods: int
    period_hours: float
    budget_usd: float | None = None
    regions: tuple[Region, ...] = ()
    curves: tuple[Curve, ...] = ()
    classes: tuple[Class, ...] = ()
    workloads: tuple[Workload, ...] = ()
    training: tuple[Training, ...] = ()
    buy: tuple[Bought, ...] = ()
    own: tuple[Owned, ...] = ()
    rent: tuple[Rented, ...] = ()
    sell: dict[str, float] = field(default_factory=dict)
    assumptions: str = ""
    confidence: str | None = None
    """Chance with which each kind of hardware is as fast as it is judged; none judges
    by the prediction."""
    catalog: tuple[str, ...] = ()
    time_limit_seconds: float

    def region(self, name: str) -> Region:
        """Region of that name."""
        return next(each for each in self.regions if each.name == name)

    def promise(self, name: str) -> Class:
        """Class of that name."""
        return next(each for each in self.classes if each.name == name)

    def curve(self, name: str) -> Curve:
        """Curve of that name."""
        return next(each for each in self.curves if each.name == name)
