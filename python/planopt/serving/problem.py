"""The question of a purchase: read from options, with what was assumed said aloud."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planopt.acquisition import read_acquisition
from planopt.catalog.open import DEFAULT_ASSUMPTIONS
from planopt.documents.parts import Assumed
from planopt.market import MarketOptions, read_market
from planopt.money import read_cost
from planopt.options import OptionReader
from planopt.serving.question_types import (
    DEFAULT_USERS,
    GOALS,
    PERCENTILES,
    Problem,
    ServedModel,
)
from planopt.serving.served import ServedOptions, read_served
from planopt.shared_options import architecture_of, check_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from planopt.catalog.open import Catalog
    from planopt.options import TextOrNumber

__all__ = ["read_problem"]

DEFAULT_PERCENTILE = "p95"
WIDEST_BAND = 0.9
"""A price that is off by more is another price."""
SEARCH_MEMORY_BYTES = 500e6
"""What the process and its solver stay within (docs/performance.md)."""
LARGEST_MEMORY_BYTES = 1e15
"""A petabyte of memory to search with, which no machine has."""

FORMATS = (
    *("fp32", "bf16", "fp16", "fp8", "int8", "int4", "mxfp4", "nvfp4"),
    *("w4a8", "q4_0", "q4_k_m", "fp8-2:4"),
)
"""Number formats of weights that the core knows."""


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
    """Read a question."""
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
