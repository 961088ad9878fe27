"""What a question about serving is made of."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from planopt.acquisition import BUYING, Acquisition
from planopt.documents.plan import Request
from planopt.market import ServingMarket

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog


PERCENTILES: dict[str, float] = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
"""Percentiles that latencies can be judged at, as shares."""


@dataclass(frozen=True)
class Pessimism:
    """How much longer than predicted things may take."""

    # Measured over predicted at the upper end of the interval; never below 1.
    time_per_token: float = 1.0
    time_to_first_token: float = 1.0


AS_PREDICTED: Final = Pessimism()


DEFAULT_MAX_ACCELERATORS = 64
"""Accelerators of one replica that are searched for: beyond the largest replica of the
published serving runs."""


Goal = Literal["cheapest", "throughput", "cost-per-token", "latency"]


@dataclass(frozen=True, kw_only=True)
class Drafting:
    """Speculative decoding: what drafts tokens, and how many of them are accepted."""

    draft: str
    """``mtp``, or a smaller model."""
    tokens: int
    """Drafted ahead of a check."""
    acceptance: float
    """Chance that one of them is accepted."""


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """Tokens of a prompt, of an output, and cached when speed is judged."""

    workload: str
    prompt: int
    output: int
    context: int
    prompt_cv: float | None = None
    """Standard deviation of prompts over their mean; none where all are as long."""
    output_cv: float | None = None


Overlap = Literal["none", "two-batch"]


@dataclass(frozen=True, kw_only=True)
class ServedModel:
    """What is served: the part of a question that the evaluation needs."""

    model: str
    kv_heads: int | None
    weights: str | None
    kv: str | None
    lengths: Lengths
    overlap: Overlap = "none"
    drafting: Drafting | None = None
    context_ranks: int | None = None
    """Ranks that a search may divide contexts among; none where assumptions say."""
    engine_name: str | None = None
    """Engine that serves, such as ``vllm``; none leaves kernels as measured."""
    engine: dict[str, Any] = field(default_factory=dict)
    """Limits and policy of the engine under a load, in place of the assumptions'."""
    architecture: dict[str, Any] | None = None
    """The model itself, where it is a file that a plan must stand without."""

    def native(self) -> dict[str, Any]:
        """Name what is served, and what serves it, by options of the core."""
        return {
            "model": self.model,
            "kv_heads": self.kv_heads,
            "weights": self.weights,
            "kv": self.kv,
            "context": self.lengths.context,
            "prompt": self.lengths.prompt,
            "overlap": self.overlap,
            "engine": self.engine_name,
            "step_tokens": self.step_tokens,
            **self.drafted,
        }

    @property
    def step_tokens(self) -> int | None:
        """Tokens of a step, where that is said."""
        tokens = self.engine.get("token_budget")
        return tokens if isinstance(tokens, int) else None

    @property
    def drafted(self) -> dict[str, Any]:
        """What drafts, by the names of the options; empty if nothing does."""
        if self.drafting is None:
            return {}
        return {
            "draft": self.drafting.draft,
            "draft_tokens": self.drafting.tokens,
            "acceptance": self.drafting.acceptance,
        }


@dataclass(frozen=True, kw_only=True)
class Problem(ServingMarket):
    """A question of what to buy."""

    served: ServedModel
    objective: Goal = "cheapest"
    target: float = 0.0
    """Tokens per second of each user."""
    ttft_seconds: float | None = None
    percentile: str | None = None
    """Percentile that latencies are judged at under a load; none judges the steady step
    at full context."""
    ttft_margin: float = 1.0
    """What the search may use of the time to the first token: less than all of it once
    a simulation has shown that it falls short."""
    tpot_margin: float = 1.0
    bound: float | None = None
    """Share of what none like it can exceed under the load that each unit supplies, in
    place of what the closed form says; what is best at 1 bounds every plan."""
    users: int
    throughput: float = 0.0
    """Tokens per second of all users."""
    requests_per_second: float | None = None
    batch: int | None = None
    in_flight: int | None = None
    budget_usd_per_hour: float | None = None
    acquisition: Acquisition = BUYING
    price_band: float | None = None
    steps: bool = False
    """Whether to say what one step of each limit is worth."""
    robust: bool = False
    pessimism: Pessimism = AS_PREDICTED
    """How much longer things may take than predicted; set for groups of hardware where
    the question is `robust`."""
    cost: dict[str, float] = field(default_factory=dict)
    """What is counted otherwise than the assumptions do."""
    accelerators_in_all: int | None = None
    redundancy: int = 0
    within_host: bool = False
    """Whether no replica may span hosts."""
    allow_quantization: tuple[str, ...] = ()
    pcie_all_reduce: str | None = None
    memory_limit_bytes: float | None = None
    exhaustive: bool = False

    @property
    def replica_accelerators(self) -> int:
        """Accelerators of one replica, at most."""
        return min(
            DEFAULT_MAX_ACCELERATORS,
            self.accelerators_in_all or DEFAULT_MAX_ACCELERATORS,
        )

    @property
    def money(self) -> float | None:
        """The budget of everything, in the money that is asked about."""
        if self.acquisition.hourly:
            return self.budget_usd_per_hour
        return self.budget_usd

    @property
    def limited(self) -> bool:
        """Whether anything limits the purchase from above."""
        scarce = (
            self.budget_usd,
            self.budget_usd_per_hour,
            self.max_power_watts,
            self.max_racks,
            self.accelerators_in_all,
        )
        return bool(self.stock) or any(limit is not None for limit in scarce)

    @property
    def predicted_target(self) -> float:
        """Speed of each user that must be predicted for the target to be met."""
        return self.target * self.pessimism.time_per_token

    @property
    def predicted_ttft_seconds(self) -> float | None:
        """Time to the first token that must be predicted."""
        if self.ttft_seconds is None:
            return None
        return self.ttft_seconds / self.pessimism.time_to_first_token

    def counted(self, catalog: Catalog) -> Catalog:
        """Return the catalog with the prices and the costs that are asked for."""
        return super().counted(catalog).with_cost(self.cost)

    def counts_as(self, other: Problem) -> bool:
        """Whether parts and hours cost the same as in another question."""
        return super().counts_as(other) and self.cost == other.cost

    def judged_as(self, other: Problem) -> Problem:
        """Take over what another question has learned, and nobody typed."""
        return replace(
            self,
            pessimism=other.pessimism,
            ttft_margin=other.ttft_margin,
            tpot_margin=other.tpot_margin,
        )

    def asked(self, served: ServedModel | None = None) -> dict[str, Any]:
        """Name what every question to the core is about, by its options."""
        served = served or self.served
        return {**served.native(), "pcie_all_reduce": self.pcie_all_reduce}

    def with_model(self, **changes: Any) -> Problem:
        """Return the same question about another model or format."""
        return replace(self, served=replace(self.served, **changes))

    def request(self) -> Request:
        """Put the question as a plan records it."""
        served, lengths = self.served, self.served.lengths
        return Request(
            **self.recorded(),
            model=served.model,
            architecture=served.architecture,
            kv_heads=served.kv_heads,
            objective=self.objective,
            target_tokens_per_second=self.target or None,
            throughput_tokens_per_second=self.throughput or None,
            requests_per_second=self.requests_per_second,
            ttft_seconds=self.ttft_seconds,
            percentile=self.percentile,
            users=self.users,
            workload=lengths.workload,
            prompt_tokens=lengths.prompt,
            output_tokens=lengths.output,
            context_tokens=lengths.context,
            batch=self.batch,
            in_flight=self.in_flight,
            cp=served.context_ranks,
            overlap=served.overlap,
            **served.drafted,
            engine_name=served.engine_name,
            engine=served.engine,
            budget_usd_per_hour=self.budget_usd_per_hour,
            acquire=self.acquisition.way,
            terms=self.acquisition.terms if self.acquisition.hourly else (),
            providers=self.acquisition.providers,
            regions=self.acquisition.regions,
            cost=self.cost,
            price_band=self.price_band,
            robust=self.robust,
            weights=served.weights,
            kv=served.kv,
            allow_quantization=self.allow_quantization,
            redundancy=self.redundancy,
            max_accelerators=self.accelerators_in_all,
            memory_limit_bytes=self.memory_limit_bytes,
            exhaustive=self.exhaustive,
            pcie_all_reduce=self.pcie_all_reduce,
        )
