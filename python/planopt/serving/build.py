"""Builds: what a purchase becomes as hardware with models on it, as the core says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from planopt._native import lay_out as native_lay_out
from planopt.catalog.open import DEFAULT_ASSUMPTIONS
from planopt.documents.evaluation import Deployment, Disaggregated, Transfer
from planopt.documents.parts import BomLine, Cost, Outlasted
from planopt.procurement.problem import Broken, Counts, Found, Limits
from planopt.serving.question_types import Problem


class Facts(Struct, frozen=True, kw_only=True):
    """What there is to know of a purchase beside what it does."""

    max_context: int
    """Longest context that the model was made for."""
    published: str
    """Format that its weights are published in."""
    without_licence: tuple[str, ...] = ()
    """Accelerators that are bought and whose licence forbids data centers."""
    networks_beside: tuple[tuple[str, ...], ...] = ()
    """Networks one step slower and one step faster than its own."""


class Build(Struct, frozen=True, kw_only=True):
    """A whole purchase, laid out."""

    deployments: tuple[Deployment, ...]
    transfer: Transfer | None = None
    """Of two pools: how the cache of a prompt gets from one to the other."""
    requests_per_second: float | None = None
    """What two pools carry in time, by the closed form."""
    bill_of_materials: tuple[BomLine, ...]
    cost: Cost
    power_watts: float
    """Of what is bought: whoever rents out pays for the power of the rest."""
    kg_co2e_per_year: float | None = None
    """Carbon dioxide of a year's electricity of what is bought, where it is known."""
    users: int
    tokens_per_second: float
    tokens_per_second_per_user: float
    """Of the slowest user."""
    summary: str
    """The build in a line: accelerators, hosts, network, layout."""
    broken: tuple[Broken, ...] = ()
    """Limits that it breaks."""
    missed: dict[str, float] = {}
    """Promised latencies that its simulations do not keep, as multiples of them."""
    failures: tuple[Outlasted, ...] = ()
    tokens_per_second_left: float
    """Tokens of all after the worst of them."""
    facts: Facts

    @property
    def price_usd(self) -> float:
        """Price of everything."""
        return self.cost.price_usd or 0.0

    @property
    def usd_per_hour(self) -> float:
        """Rent, and what is bought written off, with electricity and hosting."""
        return self.cost.usd_per_hour or 0.0

    @property
    def rented(self) -> bool:
        """Whether nothing of it is bought."""
        return all(each.hardware.terms for each in self.deployments)


class TwoPools(NamedTuple):
    """The best two pools that were found for a question."""

    told: Disaggregated | None = None
    build: Build | None = None
    """The same as a plan has it, where it keeps the promises."""
    bound: float | None = None
    """Dollars that all cost at least, or tokens per second that none exceeds."""
    shown: float | None = None
    """Dollars that all cost at least that runs show to hold."""
    beaten: Build | None = None
    """One pool that they are better than, where they are the plan."""


NO_POOLS = TwoPools()

_BUILDS: Final = msgspec.json.Decoder(tuple[Build, ...])

Purchases = tuple["Found", "Problem", "Limits", "Sequence[Counts]"]
"""What was bought from, the question, its limits, and how many of each row."""


def lay_out_together(asked: Sequence[Purchases]) -> list[tuple[Build, ...]]:
    """Lay purchases of several questions out, those that break limits, too.

    A purchase of one kind of unit for a number of users runs the batch that they need,
    in the layout that is fastest for them; otherwise each unit runs what it was bought
    for. Another layout may put more accelerators of a board to work: a limit of power
    rules that out. Latencies under a load were judged for one layout and no other.
    """
    requests = [
        (found.native, msgspec.json.encode(_asked(problem, limits, purchases)))
        for found, problem, limits, purchases in asked
    ]
    return [_BUILDS.decode(each) for each in native_lay_out(requests)]


def _asked(
    problem: Problem, limits: Limits, purchases: Sequence[Counts]
) -> dict[str, object]:
    users = for_users(problem)
    return {
        "purchases": [
            {"counts": dict(counts), "for_users": users if len(counts) == 1 else None}
            for counts in purchases
        ],
        "limits": limits,
        "has_errors": has_errors(problem),
    }


def for_users(problem: Problem) -> dict[str, object] | None:
    """Say who a purchase of one kind of unit is for, where it runs what they need."""
    more = problem.throughput or problem.redundancy or problem.session_load
    if more or problem.objective not in ("cheapest", "latency"):
        return None
    judged = problem.percentile is not None
    return {
        "users": problem.concurrency,
        "batch": problem.batch,
        "in_flight": problem.in_flight,
        "any_layout": problem.max_power_watts is None and not judged,
    }


def has_errors(problem: Problem) -> bool:
    """Whether errors of predictions under its assumptions are known."""
    return problem.assumptions == DEFAULT_ASSUMPTIONS
