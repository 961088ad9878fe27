"""The question of a purchase: read from options, with what was assumed said aloud."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from planopt.acquisition import BUYING, Acquisition, read_acquisition
from planopt.catalog import DEFAULT_ASSUMPTIONS
from planopt.market import Market, MarketOptions, read_market
from planopt.money import read_cost
from planopt.options import OptionReader
from planopt.plan import Assumed, Request
from planopt.serving.load import PERCENTILES
from planopt.serving.pessimism import AS_PREDICTED, Pessimism
from planopt.serving.served import ServedModel, ServedOptions, read_served
from planopt.shared_options import architecture_of, check_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from planopt.catalog import Catalog
    from planopt.options import TextOrNumber

__all__ = ["Problem", "read_problem"]

DEFAULT_USERS = 8
DEFAULT_PERCENTILE = "p95"
DEFAULT_MAX_ACCELERATORS = 64
"""Accelerators of one replica that are searched for: beyond the largest replica of the
published serving runs."""
WIDEST_BAND = 0.9
"""A price that is off by more is another price."""
SEARCH_MEMORY_BYTES = 500e6
"""What the process and its solver stay within (docs/performance.md)."""
LARGEST_MEMORY_BYTES = 1e15
"""A petabyte of memory to search with, which no machine has."""

Goal = Literal["cheapest", "throughput", "cost-per-token", "latency"]
FORMATS = (
    *("fp32", "bf16", "fp16", "fp8", "int8", "int4", "mxfp4", "nvfp4"),
    *("w4a8", "q4_0", "q4_k_m", "fp8-2:4"),
)
"""Number formats of weights that the core knows."""
GOALS: tuple[Goal, ...] = ("cheapest", "throughput", "cost-per-token", "latency")


@dataclass(frozen=True, kw_only=True)
class Problem(Market):
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
    users: int = DEFAULT_USERS
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
        return catalog.priced(self.condition, self.prices).with_cost(self.cost)

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


class QuestionOptions(MarketOptions, ServedOptions, total=False):
    """Options of ``planopt solve`` that other questions have, too."""


def read_problem(
    catalog: Catalog,
    *,
    target: TextOrNumber | None = None,
    ttft: TextOrNumber | None = None,
    percentile: str | None = None,
    throughput: TextOrNumber | None = None,
    requests: TextOrNumber | None = None,
    users: TextOrNumber | None = None,
    batch: TextOrNumber | None = None,
    in_flight: TextOrNumber | None = None,
    cp: TextOrNumber | None = None,
    budget: TextOrNumber | None = None,
    years: TextOrNumber | None = None,
    duty: TextOrNumber | None = None,
    price_band: TextOrNumber | None = None,
    steps: bool = False,
    robust: bool = False,
    electricity: TextOrNumber | None = None,
    pue: TextOrNumber | None = None,
    carbon: TextOrNumber | None = None,
    objective: str | None = None,
    allow_quantization: str | Sequence[str] | None = None,
    acquire: str | None = None,
    terms: str | Sequence[str] | None = None,
    provider: str | Sequence[str] | None = None,
    region: str | Sequence[str] | None = None,
    max_accelerators: TextOrNumber | None = None,
    redundancy: TextOrNumber | None = None,
    pcie_all_reduce: str | None = None,
    memory_limit: TextOrNumber | None = None,
    exhaustive: bool = False,
    assumptions: str = DEFAULT_ASSUMPTIONS,
    typed: dict[str, str] | None = None,
    **options: Unpack[QuestionOptions],
) -> Problem:
    """Read a question.

    Parameters
    ----------
    catalog : Catalog
        Where names are looked up.
    typed : dict
        The options as they were given, for the record.
    **options, others
        The options of ``planopt solve``: text with units, or numbers in SI units.

    Raises
    ------
    InputError
        With a diagnostic for each option that cannot be used.
    """
    if unknown := options.keys() - QuestionOptions.__optional_keys__:
        message = f"unknown options: {', '.join(sorted(unknown))}"
        raise TypeError(message)
    reader = OptionReader()
    assumed: list[Assumed] = []
    served = read_served(reader, catalog, assumed, options)
    served = replace(served, context_ranks=reader.count("cp", cp))
    given_batch = reader.count("batch", batch)
    given_in_flight = reader.count("in_flight", in_flight)
    request_rate = reader.quantity("requests", requests, "requests_per_second")
    demand = reader.quantity("throughput", throughput, "tokens_per_second") or 0.0
    if request_rate is not None:
        if demand:
            reader.problem(
                "E004",
                "--requests and --throughput both say how much is served",
                option="requests",
                value=requests,
                accepted="one of the two",
            )
        demand = request_rate * served.lengths.output
    given_users = reader.count("users", users)
    acquisition, budget_usd, budget_usd_per_hour = read_acquisition(
        reader,
        catalog,
        acquire=acquire,
        budget=budget,
        terms=terms,
        provider=provider,
        region=region,
    )
    problem = Problem(
        **read_market(reader, catalog, options),
        served=served,
        objective=reader.choice("objective", objective, GOALS) or "cheapest",
        target=reader.quantity("target", target, "tokens_per_second") or 0.0,
        ttft_seconds=reader.quantity("ttft", ttft, "seconds"),
        percentile=_percentile(reader, percentile, ttft, assumed),
        users=_users(
            given_users, demand, given_batch, given_in_flight, served, assumed
        ),
        throughput=demand,
        requests_per_second=request_rate,
        batch=given_batch,
        in_flight=given_in_flight,
        budget_usd=budget_usd,
        budget_usd_per_hour=budget_usd_per_hour,
        acquisition=acquisition,
        price_band=reader.quantity("price_band", price_band, "share", most=WIDEST_BAND),
        steps=steps,
        robust=robust,
        cost=read_cost(
            reader,
            years=years,
            duty=duty,
            electricity=electricity,
            pue=pue,
            carbon=carbon,
        ),
        accelerators_in_all=reader.count("max_accelerators", max_accelerators),
        redundancy=reader.count("redundancy", redundancy, minimum=0) or 0,
        allow_quantization=reader.names("allow_quantization", allow_quantization),
        pcie_all_reduce=pcie_all_reduce,
        memory_limit_bytes=_memory_limit(reader, memory_limit),
        exhaustive=exhaustive,
        assumptions=assumptions,
        assumed=tuple(assumed),
        typed=typed or {},
    )
    check_model(reader, catalog, served.model)
    if served.drafting is not None and served.drafting.draft != "mtp":
        check_model(reader, catalog, served.drafting.draft)
    for name in problem.allow_quantization:
        reader.choice("allow_quantization", name, FORMATS)
    _check_consistency(reader, problem)
    reader.finish()
    return problem.with_model(architecture=architecture_of(catalog, served.model))


def _memory_limit(reader: OptionReader, limit: TextOrNumber | None) -> float | None:
    """Read a limit of memory, which the search stays within or cannot promise to."""
    given = reader.quantity("memory_limit", limit, "bytes", most=LARGEST_MEMORY_BYTES)
    if given is not None and given < SEARCH_MEMORY_BYTES:
        reader.problem(
            "E003",
            "the search may need more memory than that",
            option="memory_limit",
            value=limit,
            accepted=f"{SEARCH_MEMORY_BYTES / 10**6:.0f}MB or more",
        )
    return given


def _users(
    given: int | None,
    demand: float,
    batch: int | None,
    in_flight: int | None,
    served: ServedModel,
    assumed: list[Assumed],
) -> int:
    """Users at the same time: given, or what the batch or the demand says."""
    if given is not None:
        return given
    if batch is not None:
        resident = 2 if served.overlap == "two-batch" else 1
        return batch * (in_flight or 1) * resident
    if demand:
        return 1
    assumed.append(Assumed(name="users", value=f"{DEFAULT_USERS} at the same time"))
    return DEFAULT_USERS


def _percentile(
    reader: OptionReader,
    percentile: str | None,
    ttft: TextOrNumber | None,
    assumed: list[Assumed],
) -> str | None:
    """Read the percentile of latencies; where none is promised, there is none."""
    if percentile is None and ttft is not None:
        assumed.append(
            Assumed(
                name="percentile",
                value=DEFAULT_PERCENTILE,
                why="of time to the first token, and of speed where there is a target",
            )
        )
        return DEFAULT_PERCENTILE
    return reader.choice("percentile", percentile, tuple(PERCENTILES))


def _check_consistency(reader: OptionReader, problem: Problem) -> None:
    if problem.objective == "throughput" and not problem.limited:
        reader.problem(
            "E005",
            "most throughput of what? nothing limits the purchase",
            option="budget",
            accepted="--budget, --max-power, --max-racks or --max-accelerators",
        )
