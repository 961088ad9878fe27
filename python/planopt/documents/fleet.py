"""The plan of a fleet: a document of ``planopt.plan/2``, of kind ``fleet``."""

from typing import Literal

import msgspec
from msgspec import Struct

from planopt.documents.evaluation import ServingEvaluation
from planopt.documents.fleet_request import FleetRequest
from planopt.documents.parts import BomLine, Candidate, Hardware
from planopt.documents.plan import PlanDocument
from planopt.documents.training import TrainingCandidate, TrainingEvaluation


class Rental(Struct, frozen=True, kw_only=True):
    """Instances rented in some hours of a period."""

    period: int
    """The first being 1."""
    hours: float
    units: int
    rent_usd: float


class _Part(Struct, frozen=True, kw_only=True):
    """A model on units of one kind."""

    stream: str
    """Workload, size and region, as ``chat/short/us``; or the run."""
    model: str
    region: str
    way: str
    """``buy``, ``own`` or ``rent``."""


class FleetDeployment(_Part, frozen=True, kw_only=True):
    """A model on units of one kind, for requests of a size in a region."""

    prompt_tokens: int
    output_tokens: int
    candidate: Candidate
    hardware: Hardware
    evaluation: ServingEvaluation
    """Of one unit."""
    replicas: int
    """Of one unit."""
    requests_per_second: float
    """That one unit is asked for at the peak."""
    units: tuple[int, ...] = ()
    """At work at the peak, by period."""
    rentals: tuple[Rental, ...] = ()


class FleetRun(_Part, frozen=True, kw_only=True):
    """A run of training on a cluster."""

    candidate: TrainingCandidate
    hardware: Hardware
    evaluation: TrainingEvaluation
    days: float
    units: tuple[int, ...] = ()
    """At work, by period."""


class Acquisition(Struct, frozen=True, kw_only=True):
    """Hosts of one kind that are bought, or put to use, and stay to the end."""

    region: str
    way: str
    accelerator: str
    accelerators: int
    """Of one unit."""
    host: str
    hosts: int
    """Of one unit."""
    network: str | None = None
    nics_per_host: int = 0
    switch: str | None = None
    tp: int | None = None
    """With the next four, the layout that draws most power, which is charged for; none
    for a cluster that trains."""
    cp: int | None = None
    dp: int | None = None
    pp: int | None = None
    replicas: int | None = None
    units: tuple[int, ...] = ()
    """Acquired at the beginning of each period."""
    unit_price_usd: float = 0.0
    price_usd: float = 0.0
    power_watts: float = 0.0
    """Of one unit, with all accelerators at work."""
    rack_units: float = 0.0
    """Of one unit."""
    charge_usd: float = 0.0
    """Price written off by the end, electricity and hosting, of all units."""
    bill_of_materials: tuple[BomLine, ...] = ()
    """Of one unit."""


class StreamSupply(Struct, frozen=True, kw_only=True):
    """A demand, and how it is met at the peak of each period."""

    stream: str
    demand: tuple[float, ...]
    """Requests per second, or runs."""
    supply: tuple[float, ...]
    after_failures: tuple[float, ...]
    """What is left when the worst has failed."""


class Period(Struct, frozen=True, kw_only=True):
    """What is done in a period, and what it costs."""

    period: int
    actions: tuple[str, ...] = ()
    purchase_usd: float = 0.0
    rent_usd: float = 0.0
    power_watts: float = 0.0
    """Of all hosts held, with all accelerators at work."""


class OneType(Struct, frozen=True, kw_only=True):
    """The best fleet of one kind of accelerator alone."""

    accelerator: str
    status: str
    total_usd: float | None = None
    total_bound_usd: float | None = None
    """No fleet of this kind costs less."""
    more_usd: float | None = None
    """By how much it costs more than the plan."""
    why: str | None = None
    """Why there is none."""


class StageNote(Struct, frozen=True, kw_only=True):
    """What a stage of the search came to."""

    name: str
    status: str
    total_usd: float | None = None
    bound_usd: float | None = None
    seconds: float = 0.0


class FleetPlan(PlanDocument, frozen=True, kw_only=True):
    """What to buy and rent, and when, for several models and workloads together."""

    kind: Literal["fleet"] = "fleet"
    request: FleetRequest  # type: ignore[assignment]  # a fleet asks otherwise
    total_usd: float | None = None
    """Cost over all periods: purchases written off, electricity, hosting, rent."""
    total_bound_usd: float | None = None
    """No mix of the units that were found costs less: the solver's own bound."""
    charge_usd: float | None = None
    """The part of it for what is bought and owned."""
    rent_usd: float | None = None
    kg_co2e: float | None = None
    """Of the electricity of all periods, of what is bought and owned."""
    deployments: tuple[FleetDeployment, ...] = ()
    runs: tuple[FleetRun, ...] = ()
    acquisitions: tuple[Acquisition, ...] = ()
    streams: tuple[StreamSupply, ...] = ()
    periods: tuple[Period, ...] = ()
    one_type: tuple[OneType, ...] = ()
    stages: tuple[StageNote, ...] = msgspec.field(default_factory=tuple)
