"""One way of serving a model: its layout, its hardware, and what it does.

Every figure has its unit in its name. ``None`` says that a figure is not known or not
modelled; it is never 0.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from planopt.intervals import Interval  # noqa: TC001 - msgspec reads the types

__all__ = [
    "BomLine",
    "Candidate",
    "Cost",
    "Decode",
    "Deployment",
    "Hardware",
    "Memory",
    "Messages",
    "Mixed",
    "Percentiles",
    "Prefill",
    "Rejection",
    "ServingEvaluation",
    "TimeParts",
    "UnderLoad",
]


class Rejection(Struct, frozen=True, kw_only=True):
    """Why a configuration cannot be used."""

    code: str
    """Short name that rejections are counted by, such as ``memory``."""
    message: str
    """The sentence, with the numbers in it."""
    numbers: dict[str, float | int | str] = {}
    """The same numbers by name, such as ``needed_bytes``."""


class Memory(Struct, frozen=True, kw_only=True):
    """Memory of one accelerator of the fullest stage."""

    weights_bytes: float
    kv_cache_bytes: float
    activations_bytes: float
    overhead_bytes: float
    total_bytes: float
    capacity_bytes: float


class TimeParts(Struct, frozen=True, kw_only=True):
    """Parts of a time that sum to it: what nothing before it in the list hides."""

    compute_seconds: float | None = None
    """Arithmetic; where memory traffic takes longer, what does not hide behind it."""
    memory_seconds: float | None = None
    """Memory traffic, in the same way."""
    communication_seconds: float | None = None
    """All-reduces, exchanges and hops; with two-batch overlap what outlasts the two."""
    offload_seconds: float | None = None
    """Reading weights that rest in the host, as far as nothing hides it."""
    host_seconds: float | None = None
    """Launching operations, and what an engine does between steps."""


class Decode(TimeParts, frozen=True, kw_only=True):
    """One step at full batch and full context; its parts and ``waiting_seconds``."""

    step_seconds: float | None = None
    waiting_seconds: float | None = None
    """Of a step: micro-batches that wait for others at the slowest stage."""
    tpot_seconds: float | None = None
    tokens_per_second_per_user: float | None = None
    tokens_per_second: float | None = None


class Prefill(TimeParts, frozen=True, kw_only=True):
    """The prompt of one user, alone, with its parts."""

    seconds: float | None = None


class Mixed(Struct, frozen=True, kw_only=True):
    """The last chunk of a prompt, read beside the decoding batch."""

    chunk_tokens: float
    """Tokens of the chunk: the room that the batch leaves of the largest step."""
    cached_tokens: float
    """Tokens of the prompt before it."""
    step_seconds: float


class Percentiles(Struct, frozen=True, kw_only=True):
    """A figure that varies from request to request."""

    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


class UnderLoad(Struct, frozen=True, kw_only=True):
    """What comes out of all replicas under the load that latencies are of."""

    users: int | None = None
    """Who each wait for their answer; none where requests come of their own accord."""
    requests_per_second: float | None = None
    tokens_per_second: float | None = None
    """Output tokens of the requests that were measured."""


class Cost(Struct, frozen=True, kw_only=True):
    """Money: the purchase, and what an hour and a token come to with it."""

    price_usd: float | None = None
    usd_per_hour: float | None = None
    usd_per_million_tokens: float | None = None
    tokens_per_usd: float | None = None


class Messages(Struct, frozen=True, kw_only=True):
    """Messages of a step of one micro-batch."""

    payload_bytes: float | None = None
    """Activations of a micro-batch."""
    all_reduce_seconds: float | None = None
    """One all-reduce over the tensor-parallel group."""
    all_reduces: float | None = None
    """All-reduces on the path of a token."""
    hops_seconds: float | None = None
    """All hops of a micro-batch between stages."""


class ServingEvaluation(Struct, frozen=True, kw_only=True):
    """What a configuration does, whether or not it fits."""

    feasible: bool
    rejections: tuple[Rejection, ...] = ()
    memory: Memory | None = None
    decode: Decode = msgspec.field(default_factory=Decode)
    prefill: Prefill = msgspec.field(default_factory=Prefill)
    mixed: Mixed | None = None
    kv_capacity_tokens: float | None = None
    """Tokens of KV cache that a replica holds, in sequences of this context."""
    ttft_seconds: Percentiles = msgspec.field(default_factory=Percentiles)
    tpot_seconds: Percentiles = msgspec.field(default_factory=Percentiles)
    under_load: UnderLoad | None = None
    cost: Cost = msgspec.field(default_factory=Cost)
    power_watts: float | None = None
    messages: Messages | None = None
    hosts: int | None = None
    """Hosts of one replica."""
    accelerators: int | None = None
    """Accelerators of one replica."""
    intervals: dict[str, Interval] = msgspec.field(default_factory=dict)
    """What figures are expected to lie in, from errors of measured serving runs."""


class Candidate(Struct, frozen=True, kw_only=True):
    """One way to spread a model over accelerators."""

    accelerator: str
    tp: int = 1
    pp: int = 1
    cp: int = 1
    """Ranks that divide prompts and contexts, each with the same weights."""
    dp: int = 1
    """Groups of ``tp`` ranks in a stage, each with sequences of its own."""
    ep: int = 1
    """Parts that the experts are dealt to, of the ``tp * dp`` ranks of a stage."""
    batch: int = 1
    """Sequences per micro-batch."""
    in_flight: int = 1
    """Micro-batches that circulate in the pipeline."""
    overlap: str = "none"
    weights: str | None = None
    """Number format of the weights."""
    kv: str | None = None
    """Number format of the KV cache."""
    draft: str | None = None
    """What drafts tokens that the model checks: ``mtp``, or a smaller model."""
    draft_tokens: int | None = None
    """Tokens drafted ahead of a check."""
    acceptance: float | None = None
    """Chance that one of them is accepted."""
    offload: int | None = None
    """Layers of each stage whose weights rest in the host."""
    offload_to: str | None = None
    """``host`` for its memory, or ``disk``."""
    lora_adapters: int | None = None
    """Adapters of low rank that accelerators hold, of which each sequence has one."""
    lora_rank: int | None = None
    image_tokens: int | None = None
    """Tokens of a prompt that come from images."""
    image_patches: float | None = None
    """Patches that they are made of."""
    encoder_parameters: float | None = None
    """Parameters of what makes them."""

    @property
    def accelerators(self) -> int:
        """Accelerators of one replica."""
        return self.tp * self.cp * self.dp * self.pp

    @property
    def layout(self) -> str:
        """Its degrees, such as ``TP4 x PP2``; those that are 1 only if all are."""
        degrees = (
            ("TP", self.tp),
            ("PP", self.pp),
            ("EP", self.ep),
            ("DP", self.dp),
            ("CP", self.cp),
        )
        named = [f"{name}{degree}" for name, degree in degrees if degree > 1]
        return " x ".join(named) or "one accelerator"


class Hardware(Struct, frozen=True, kw_only=True):
    """Where one replica runs."""

    host: str | None = None
    hosts: int = 1
    link: str | None = None
    network: str | None = None
    nics_per_host: int = 0
    switch: str | None = None
    switch_count: int = 0
    switch_port_blocks: int = 0
    terms: str | None = None
    """Terms of an instance that is rented: ``on-demand``, ``spot``, ``reserved-12``."""
    goodput: float | None = None
    """Share of the time that an instance which is rented is at work."""


class BomLine(Struct, frozen=True, kw_only=True):
    """One line of a bill of materials."""

    kind: str
    id: str
    name: str
    quantity: int
    unit_price_usd: float | None = None
    price_usd: float | None = None
    unit_usd_per_hour: float | None = None
    """Rent of one, where it is rented: it has no price then."""
    usd_per_hour: float | None = None
    source: str | None = None
    """Where the unit price comes from."""
    price_date: str | None = None
    """When it was published or read; may lack its day or month."""
    price_status: str | None = None
    """How well it is known: ``stored``, ``derived``, ``from-memory``, ``assumed``, or
    ``given`` by whoever asks."""
    used: bool = False
    """Whether it is bought used."""
    unit_price_low_usd: float | None = None
    """What one is seen at."""
    unit_price_high_usd: float | None = None


class Deployment(Struct, frozen=True, kw_only=True):
    """One model on one kind of unit."""

    model: str
    candidate: Candidate
    hardware: Hardware
    evaluation: ServingEvaluation
    units: int = 1
    """How many units are bought."""
    replicas: int = 1
    """How many copies of the model they run together."""
    bill_of_materials: tuple[BomLine, ...] = ()

    @property
    def users(self) -> int:
        """Sequences that all of them serve at the same time."""
        candidate = self.candidate
        resident = 2 if candidate.overlap == "two-batch" else 1
        return candidate.batch * candidate.in_flight * resident * self.replicas
