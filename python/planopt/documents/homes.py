"""Machines in homes: islands that train a model, neighbours that serve one."""

from typing import TypeAlias

from msgspec import Struct

from planopt.documents.base import Document, Drawn
from planopt.documents.evaluation import Memory
from planopt.documents.parts import Asking, Assumed, BomLine
from planopt.documents.training import TrainingCandidate


class Machines(Struct, frozen=True, kw_only=True):
    """Machines of a kind, each in a home."""

    id: str
    """Accelerator or offer."""
    host: str
    network: str
    """Network to the others."""
    machines: int
    """How many there are, or how many an island has."""
    spares: int
    """Machines that wait to take the place of one that left."""
    usd_per_hour: float
    """Of a machine that is there."""
    energy_usd_per_hour: float
    """Of it, electricity."""
    power_watts: float | None
    """What a machine draws; none of what is rented."""


class IslandKind(Machines, frozen=True, kw_only=True):
    """Islands of a kind."""

    islands: int
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


class IslandsPlan(Drawn, Document, frozen=True, kw_only=True):
    """The best set of islands for a run, and the same run otherwise."""

    _what = "islands"

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


class Uptime(Struct, frozen=True, kw_only=True):
    """Shares of the time."""

    availability: float
    """In which a chain is whole."""
    running: float
    """Chains that are whole, in the mean, as a share of all."""
    serving: float
    """Of the time of a whole chain, that in which it answers."""


class ChainStage(Struct, frozen=True, kw_only=True):
    """A stage of a chain."""

    kind: int
    """Which of the machines it is on."""
    first_layer: int
    layers: int
    memory: Memory
    """What its accelerator holds."""
    stage_seconds: float
    """What it takes of a step."""
    hop_seconds: float
    """The way to the next."""
    takeover_seconds: float
    """Until another machine has taken its place."""
    replay_seconds: float
    """Until that has computed again what users have cached."""


class NeighbourKind(Machines, frozen=True, kw_only=True):
    """Neighbours of a kind."""

    each: int
    """How many of them a chain has."""
    presence: float
    """Share of the time that each is there."""
    price_usd: float | None
    """What a machine is worth; one without a price costs its electricity alone."""
    paid_usd_per_hour: float | None
    """What a member is paid, by the layers that such machines hold."""
    earned_usd_per_hour: float | None
    """What of that is left."""
    pays_below_usd_per_kwh: float | None
    """Price of electricity below which it pays to be on."""


class Chains(Uptime, frozen=True, kw_only=True):
    """Chains alike, and what they do and cost."""

    stages: tuple[ChainStage, ...]
    machines: tuple[NeighbourKind, ...]
    chains: int
    """Where all machines are there."""
    users: float
    """At once, of all chains."""
    batch: int
    """Sequences of a micro-batch."""
    in_flight: int
    """Micro-batches in a chain."""
    turn_seconds: float
    """A token's way through a chain."""
    step_seconds: float
    """In which every user gains a token."""
    tokens_per_second_per_user: float
    """While nobody leaves."""
    decoding: float
    """Share of the time that a chain that answers decodes, and reads no prompts."""
    tokens_per_second_per_user_served: float
    """The same with what losses cost, and the prompts of others."""
    tokens_per_second_alone: float
    """Of a user who is alone."""
    prefill_seconds: float
    """A prompt read alone."""
    reading_seconds: float
    """What a prompt holds up."""
    recovery: str
    """After a loss: tokens are computed again, ``replay``, or copied, ``copies``."""
    simulated: Uptime | None
    """The same shares, simulated event by event."""
    at_least: tuple[float, ...]
    """Shares of the time in which at least 1, 2 ... chains are whole."""
    output_tokens_per_second: float
    """Of all of them, in the mean."""
    prompt_tokens_per_second: float
    usd_per_hour: float
    """Of all machines that are there."""
    energy_usd_per_hour: float
    """Of it, electricity."""
    usd_per_million_tokens: float
    """What the operator must charge for answers to pay for all that."""
    energy_usd_per_million_tokens: float
    """Of it, electricity."""
    revenue_usd_per_hour: float | None
    """What is paid for the tokens, where they are sold."""


class NeighboursPlan(Drawn, Document, frozen=True, kw_only=True):
    """Chains of neighbours that serve a model."""

    _what = "neighbours"

    schema: str = "planopt.neighbours/1"
    model: str
    weights: str
    """Format of the weights."""
    kv: str
    """Format of what users have cached."""
    target_tokens_per_second: float | None
    """Of each user."""
    prompt_tokens: int
    output_tokens: int
    context_tokens: int
    """Cached when speed is judged."""
    repeat: int
    """Times that each token is computed, against cheats."""
    best: Chains | None
    """None where no chain holds the model, or none is fast enough."""
    nearest: Chains | None
    """The fastest, where none is fast enough."""
    lengths: tuple[Chains, ...]
    """The best chains of each number of stages that was tried."""
    price_usd: float | None = None
    """Of all machines of one place with what joins them, there or not."""
    bill_of_materials: tuple[BomLine, ...] = ()
    power_watts: float | None = None
    """What they draw at work, with what joins them."""
    rack_units: float | None = None
    """Their height; none of desktops."""
    assumed: tuple[Assumed, ...] = ()
    question: Asking | None = None


HomesPlan: TypeAlias = IslandsPlan | NeighboursPlan
"""What machines in homes do."""
