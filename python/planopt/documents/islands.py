"""A run over islands: clusters that train alone and meet over the Internet."""

from __future__ import annotations

from msgspec import Struct

from planopt.documents.base import Document
from planopt.documents.parts import Asking, Assumed
from planopt.documents.training import TrainingCandidate


class IslandKind(Struct, frozen=True, kw_only=True):
    """Islands of a kind."""

    id: str
    """Accelerator or offer."""
    host: str
    network: str
    """Network to the other islands."""
    islands: int
    machines: int
    """Machines of each island."""
    spares: int
    """Machines that wait to take the place of one that left."""
    accelerators: int
    """Accelerators of each island."""
    candidate: TrainingCandidate
    """How the run is divided in an island."""
    step_seconds: float
    """A step of an island alone."""
    tokens_per_second: float
    """Of an island, between two exchanges."""
    memory_bytes: float
    """What its fullest accelerator holds."""
    usd_per_hour: float
    """Of a machine."""
    energy_usd_per_hour: float
    """Of it, electricity."""
    power_watts: float | None
    """What a machine draws; none of what is rented."""


class IslandsRun(Struct, frozen=True, kw_only=True):
    """A run over islands."""

    islands: tuple[IslandKind, ...]
    inner_steps: int
    """Steps between two exchanges."""
    topology: str
    """How islands exchange: ring, tree or hub, the fastest."""
    inner_seconds: float
    exchange_seconds: float
    round_seconds: float
    exchange_bytes: float
    """What each line carries of an exchange."""
    compute_utilisation: float
    """Share of a round that is not waited for the exchange."""
    loss_increase: float
    """Share by which the loss is higher than of one machine, for as many tokens."""
    tokens_factor: float
    """Times as many tokens that make up for it."""
    tokens_factor_range: tuple[float | None, float | None]
    """The same where meeting seldom costs nothing, and where it costs the most."""
    availability: float
    """Islands that run, in the mean, as a share of all."""
    goodput: float
    """Share of their time that counts."""
    tokens_per_second: float
    """In the mean of the whole run."""
    days: float
    usd: float
    energy_usd: float
    """Of it, electricity."""
    energy_kwh: float


class IslandsPlan(Document, frozen=True, kw_only=True):
    """The best set of islands for a run, and the same run otherwise."""

    schema: str = "planopt.islands/1"
    model: str
    tokens: float
    """Of the run, were all islands one machine."""
    deadline_seconds: float | None
    best: IslandsRun | None
    """None where no island holds the model, or none is in time."""
    nearest: IslandsRun | None
    """The fastest, where the best is late."""
    cadences: tuple[IslandsRun, ...]
    """The best with other numbers of steps between two exchanges."""
    assumed: tuple[Assumed, ...] = ()
    question: Asking | None = None
