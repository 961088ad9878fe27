"""One way of serving a model: its layout, its hardware, and what it does."""

from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec import Struct

from planopt.documents.base import Document, Drawn
from planopt.documents.derivation import Derivation
from planopt.documents.parts import (
    Assumed,
    BomLine,
    Candidate,
    Cost,
    Hardware,
    Interval,
    Part,
    PlanWarning,
    Rejection,
)


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


class Memory(Struct, frozen=True, kw_only=True):
    """Memory of one accelerator of the fullest stage."""

    weights_bytes: float
    kv_cache_bytes: float
    activations_bytes: float
    overhead_bytes: float
    total_bytes: float
    capacity_bytes: float


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
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None


THRASH = 0.2
"""Share of prompts' tokens from which on what is read in vain says that sessions
displace each other: the hit rate falls off a cliff (docs/reference/serving.md, 18)."""


class CacheTier(Struct, frozen=True):
    """A memory behind that of the accelerators of a replica."""

    name: str
    kv_tokens: int
    """Tokens that it holds."""
    hit_rate: float
    """Tokens of prompts that were fetched from it, over all tokens of prompts."""


class PrefixCache(Struct, frozen=True, kw_only=True):
    """What prompts find of what was read before."""

    hit_rate: float
    """Tokens of prompts that were found in the cache, over all tokens of prompts."""
    all_hit_rate: float
    """The same where nothing is ever forgotten."""
    kv_tokens: int
    """Tokens that the KV cache of a replica holds."""
    needed_kv_tokens: int
    """Tokens that its sessions keep between their turns, on average; of a trace, those
    of which 99 % of what could be is found."""
    imbalance: float
    """Tokens of prompts that the busiest replica reads over those of the mean one."""
    tiers: tuple[CacheTier, ...] = ()
    """Where caches are kept beside the accelerators' memory."""

    @property
    def whose(self) -> str:
        """Who keeps what is needed."""
        return "sessions keep" if isinstance(self, Sessions) else "the trace wants"

    @property
    def thrashes(self) -> bool:
        """Whether what is read again takes the room of what would be found."""
        return self.all_hit_rate - self.hit_rate > THRASH


class Sessions(PrefixCache, frozen=True, kw_only=True):
    """Sessions under a load, and what they find of what was said before."""

    alive: int
    """Sessions at the same time, on all replicas."""
    ended: int
    """Sessions that ended in the simulation."""


class UnderLoad(Struct, frozen=True, kw_only=True):
    """What comes out of all replicas under the load that latencies are of."""

    users: int | None = None
    """Who each wait for their answer; none where requests come of their own accord."""
    sessions: Sessions | None = None
    """What sessions find, where these are the users."""
    prefix_cache: PrefixCache | None = None
    """What prompts of a trace find, where it says which begin alike."""
    requests_per_second: float | None = None
    tokens_per_second: float | None = None
    """Output tokens of the requests that are answered."""
    concurrency: float | None = None
    """Requests at the same time, on average (Little's law)."""
    goodput: float | None = None
    """Share of requests that kept all promises; none where nothing was promised."""
    ttft_slo_violation: float | None = None
    """Share of requests that waited too long for their first token, at most: with 1.645
    standard errors, which 95 of 100 runs stay below."""
    tpot_slo_violation: float | None = None
    """The same of the tokens behind it, of requests that have some."""
    overloaded: bool = False
    """Whether more is asked than can be served: the rates are what can be carried, and
    latencies those of a line that grows all the time."""
    by: Literal["simulation", "estimate"] = "simulation"


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
    time_parts: tuple[Part, ...] = ()
    """In a plan, of a token at full batch; under a load up to the percentile that is
    promised, where that is longer."""


class ChainPart(Struct, frozen=True, kw_only=True):
    """A stage of a pipeline over cards that are not alike."""

    accelerator: str
    host: str
    layers: int
    """That it holds, behind those of the stages before it."""


class Deployment(Struct, frozen=True, kw_only=True):
    """One model on one kind of unit."""

    model: str
    role: Literal["colocated", "prefill", "decode"] = "colocated"
    """What its replicas do: all of a request, or a part of it as one of two pools. The
    pool that answers has the figures of both under their load, and all that is bought:
    they may share hosts, and do share what joins them."""
    candidate: Candidate
    hardware: Hardware
    evaluation: ServingEvaluation
    units: int = 1
    """How many units are bought."""
    replicas: int = 1
    """How many copies of the model they run together."""
    bill_of_materials: tuple[BomLine, ...] = ()
    chain: tuple[ChainPart, ...] = ()
    """Stages of each replica, in their order, where its cards are not alike."""

    @property
    def cards(self) -> tuple[str, ...]:
        """Accelerators of a replica, by kind."""
        kinds = dict.fromkeys(each.accelerator for each in self.chain)
        return tuple(kinds) or (self.candidate.accelerator,)

    @property
    def users(self) -> int:
        """Sequences that all of them serve at the same time, or their sessions."""
        candidate, load = self.candidate, self.evaluation.under_load
        if self.role == "prefill":
            return 0
        if load is not None and load.sessions is not None:
            return load.sessions.alive
        if self.role == "decode" and load is not None and load.users:
            return load.users
        resident = 2 if candidate.overlap == "two-batch" else 1
        return candidate.batch * candidate.in_flight * resident * self.replicas


def answering(deployments: Iterable[Deployment]) -> list[Deployment]:
    """Return those that put tokens out."""
    return [each for each in deployments if each.role != "prefill"]


class Pool(Struct, frozen=True, kw_only=True):
    """Replicas that do one part of the work."""

    candidate: Candidate
    host: str
    hosts: int = 1
    """Hosts of one replica."""
    replicas: int = 1
    requests_per_second: float | None = None
    """What all of them carry in time, by the closed form."""
    evaluation: ServingEvaluation | None = None
    """Of one replica, alone with its part."""


class Transfer(Struct, frozen=True, kw_only=True):
    """How the KV cache of a prompt gets from one pool to the other."""

    network: str | None = None
    """Network between hosts; none inside of one."""
    bytes: float | None = None
    """KV cache of a prompt."""
    seconds: float | None = None
    """Until it has arrived, behind no other."""
    latency_seconds: float | None = None
    seconds_per_token: float | None = None


class EvaluationDocument(ServingEvaluation, Drawn, Document, frozen=True, kw_only=True):
    """One evaluation, with what was evaluated: the answer of ``evaluate serving``."""

    _what = "evaluation"

    schema: Literal["planopt.evaluation/2"] = "planopt.evaluation/2"
    kind: Literal["serving"] = "serving"
    model: str | None = None
    replicas: int = 1
    candidate: Candidate
    hardware: Hardware
    bill_of_materials: tuple[BomLine, ...] = ()
    prefill_pool: Pool | None = None
    """The prefill pool, where the configuration only decodes."""
    transfer: Transfer | None = None
    """How the cache of a prompt gets from there."""
    context_tokens: int | None = None
    engine: str | None = None
    """Engine whose measured factors and schedule count; none: kernels as measured."""
    assumed: tuple[Assumed, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()
    assumptions: str | None = None
    derivation: tuple[Derivation, ...] = ()


class Disaggregated(Struct, frozen=True, kw_only=True):
    """Two pools that do what was asked, with what is bought for them.

    The best of the pairs that were asked about, simulated; not proven to be the best of
    all.
    """

    prefill: Pool
    decode: Pool
    transfer: Transfer
    nics_per_host: int = 0
    hosts: int = 1
    accelerators: int = 0
    switch: str | None = None
    switch_count: int = 0
    users: int = 0
    """Users that it was simulated with, each waiting for his answer; 0 at a rate."""
    requests_per_second: float | None = None
    """Simulated, as what follows."""
    tokens_per_second: float | None = None
    ttft_seconds: Percentiles = msgspec.field(default_factory=Percentiles)
    tpot_seconds: Percentiles = msgspec.field(default_factory=Percentiles)
    in_time: bool = True
    """Whether the simulation keeps what was promised."""
    price_usd: float | None = None
    cost: Cost = msgspec.field(default_factory=Cost)
    power_watts: float | None = None
    bill_of_materials: tuple[BomLine, ...] = ()

    @property
    def layout(self) -> str:
        """Both pools in short, such as ``2P1D: prefill 2x TP2, decode 1x TP4``."""
        prefill, decode = self.prefill, self.decode
        return (
            f"{prefill.replicas}P{decode.replicas}D: "
            f"prefill {prefill.replicas}x {prefill.candidate.layout}, "
            f"decode {decode.replicas}x {decode.candidate.layout}"
        )
