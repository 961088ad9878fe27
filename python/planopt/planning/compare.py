"""Accelerators and units side by side: one question of each, what a dollar brings.

Rankings are those of the GPU guide: what a model needs of memory first, then the output
of a dollar, of which the host has its share and years of electricity theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar, overload

import msgspec
from msgspec import Struct
from msgspec.structs import replace as with_changes

from planopt._native import parse_quantity
from planopt.catalog.entries import Pricing
from planopt.catalog.open import Catalog, open_for
from planopt.documents.base import Drawn
from planopt.documents.plan import Plan, TrainingPlan
from planopt.market import must_name_accelerators, read_market
from planopt.options import Asked, Edit, flag, taken_by
from planopt.planning.pipeline import Serving, Training, compared
from planopt.serving.question_types import Problem
from planopt.serving.search import Aim, find_units
from planopt.steps import Step, Steps
from planopt.units import MICRO_USD

if TYPE_CHECKING:
    import pyarrow
    from typing_extensions import Unpack

    from planopt.option_types import (
        CompareOptions,
        CompareTrainingOptions,
        FrontierOptions,
        PerDollarOptions,
    )


class Value(Struct, frozen=True, kw_only=True):
    """What a dollar brings in one way of coming by an accelerator."""

    usd_per_million_tokens: float
    tokens_per_usd: float
    relative: float = 0.0
    """Tokens per dollar, as a share of the best of all accelerators and ways."""
    unit_usd: float  # Price of the unit that they are put out by; rented, of an hour
    host: str  # Host id, or the offer
    accelerators: int  # Accelerators of one replica: what its memory takes first
    tokens_per_second: float  # Of the unit


class Standing(Struct, frozen=True, kw_only=True):
    """One accelerator: how much memory it has, and what it brings."""

    accelerator: str
    name: str
    memory_bytes: float
    new: Value | None = None
    used: Value | None = None
    rented: Value | None = None

    @property
    def best(self) -> float:
        """The best of its ways, by which it is ranked."""
        return max(
            (each.relative for each in (self.new, self.used, self.rented) if each),
            default=0.0,
        )


class Ranking(Struct, frozen=True, kw_only=True):
    """Accelerators by what they put out for a dollar, the best first."""

    model: str
    context_tokens: int
    years: float
    duty: float
    electricity_usd_per_kwh: float
    standings: tuple[Standing, ...] = ()
    without: tuple[str, ...] = ()
    """Accelerators that cannot serve it, or that have no price in any way."""


MILLION = 1e6


def per_dollar(**options: Unpack[PerDollarOptions]) -> Ranking:
    """Rank accelerators by what they put out for a dollar.

    Parameters
    ----------
    **options
        Those of `planopt.solve` that choose units, and ``all`` for every accelerator of
        the catalog. Years, duty and price of electricity are those of the GPU guide
        where they are not given.

    Returns
    -------
    Ranking

    Raises
    ------
    InputError
        With a diagnostic for each option that cannot be used.

    Examples
    --------
    >>> import planopt
    >>> ranking = planopt.per_dollar(all=True, model="llama-3.1-8b")
    >>> ranking.standings[0].best
    1.0
    """
    asked = Asked.by_user("compare --per-dollar", options)
    opened = open_for(asked)
    if not asked.given.get("all"):
        must_name_accelerators(asked)
    problem = _read(asked, opened)
    rented = _read(asked.edited(Edit({"procurement": "rent"})), opened)
    # The table has what the GPU guide counts with: five years, busy 15 % of the time.
    cost = problem.cost
    pricing = Pricing.of(problem)
    counted = opened.paid(pricing).with_cost(cost)
    used = opened.paid(with_changes(pricing, condition="used")).with_cost(cost)
    values = {
        "new": _values(counted, problem),
        "used": _values(used, problem),
        "rented": _values(counted, rented),
    }
    standings, without = _standings(counted, problem, values)
    return Ranking(
        model=problem.model,
        context_tokens=problem.context_tokens,
        years=cost["years"],
        duty=cost["duty"],
        electricity_usd_per_kwh=cost["electricity_usd_per_kwh"],
        standings=standings,
        without=without,
    )


def _read(asked: Asked, catalog: Catalog) -> Problem:
    problem = read_market(asked, catalog, Problem)
    return with_changes(problem, objective="cost-per-token")


def _memory_bytes(catalog: Catalog, accelerator: str) -> float:
    memory = catalog.figures("accelerators", accelerator)["memory"]
    return parse_quantity(memory.text, "bytes")


def _values(catalog: Catalog, problem: Problem) -> dict[str, Value]:
    """Find what a dollar brings by each accelerator that can serve it."""
    listed = find_units(catalog, problem, Aim(aim="cost-per-token")).listed()
    duty = problem.cost["duty"]
    best: dict[str, Value] = {}
    for row, accelerator in enumerate(listed.accelerator):
        hourly = listed.usd_per_hour[row]
        tokens = listed.tokens_per_second[row] * 3600 * duty
        price = listed.price_micro_usd[row] / MILLION
        value = Value(
            usd_per_million_tokens=hourly / tokens * MILLION,
            tokens_per_usd=tokens / hourly,
            unit_usd=hourly if listed.terms[row] else price,
            host=listed.host[row],
            accelerators=listed.tp[row] * listed.pp[row],
            tokens_per_second=listed.tokens_per_second[row],
        )
        known = best.get(accelerator)
        if known is None or value.tokens_per_usd > known.tokens_per_usd:
            best[accelerator] = value
    return best


def _standings(
    catalog: Catalog, problem: Problem, values: dict[str, dict[str, Value]]
) -> tuple[tuple[Standing, ...], tuple[str, ...]]:
    top = max(
        (value.tokens_per_usd for way in values.values() for value in way.values()),
        default=1.0,
    )
    standings, without = [], []
    for each in catalog.list("accelerators"):
        id_ = each.id
        if problem.accelerators and id_ not in problem.accelerators:
            continue
        ways = {
            name: with_changes(way[id_], relative=way[id_].tokens_per_usd / top)
            for name, way in values.items()
            if id_ in way
        }
        if not ways:
            without.append(id_)
            continue
        standing = Standing(
            accelerator=id_,
            name=each.name,
            memory_bytes=_memory_bytes(catalog, id_),
            **ways,
        )
        standings.append(standing)
    standings.sort(key=lambda each: (-each.best, each.accelerator))
    return tuple(standings), tuple(without)


PlanT = TypeVar("PlanT", "Plan", "TrainingPlan")


class Comparison(list[PlanT], Drawn, Generic[PlanT]):
    """Plans of the same question, one for each accelerator, in the order given."""

    __slots__ = ()


@overload
def compare(
    *,
    on_progress: Callable[[Step], object] | None = None,
    **options: Unpack[CompareTrainingOptions],
) -> Comparison[TrainingPlan]: ...


@overload
def compare(
    *,
    on_progress: Callable[[Step], object] | None = None,
    **options: Unpack[CompareOptions],
) -> Comparison[Plan]: ...


def compare(
    *, on_progress: Callable[[Step], object] | None = None, **options: object
) -> Comparison[Plan] | Comparison[TrainingPlan]:
    """Answer a question for each accelerator alone.

    Parameters
    ----------
    on_progress : callable, optional
        Told what is being done, and how far it is.
    **options
        As of `planopt.solve`; with ``tokens``, as of `planopt.train`.

    Returns
    -------
    Comparison
        A list of `Plan` or of `TrainingPlan`: one for each accelerator, in the order
        given; those that cannot do it are ``infeasible``.

    Raises
    ------
    InputError
        With a diagnostic for each option that cannot be used.

    Examples
    --------
    >>> import planopt
    >>> plans = planopt.compare(accelerators=["rtx-4090", "h100-sxm"], target="5tok/s")
    >>> [plan.status for plan in plans]
    ['optimal', 'optimal']
    """
    asked = Asked("compare", options)
    must_name_accelerators(asked)
    asked.typed.pop("accelerators", None)  # each plan is about one of them
    if _marks(options):
        return Comparison(compared(Training(), _of_training(asked), on_progress))
    asked.finish()
    serving = Asked.by_user("compare", asked.given)
    serving.typed = asked.typed
    return Comparison(compared(Serving(), serving, on_progress))


def _marks(options: Iterable[str]) -> set[str]:
    """Return the options that only a question of training has."""
    return set(options) & (taken_by("train").keys() - taken_by("solve").keys())


def _of_training(asked: Asked) -> Asked:
    """Return a question of training, refusing options of serving."""
    own = taken_by("train")
    asked.out_of_place(
        sorted(asked.given.keys() - own.keys()),
        f"asks about serving, {flag(min(_marks(asked.given)))} about training",
        accepted="the options of `planopt train`",
    )
    asked.finish()
    training = Asked.by_user("train", asked.given)
    training.typed = asked.typed
    return training


# --- The Pareto frontier of units: price against users, speed and throughput ----------


DEFAULT_BATCHES = 512
"""Batches offered one by one: beyond the usual largest number of sequences of a serving
engine (vLLM's max_num_seqs is 256 by default)."""


COLUMNS = (
    *("accelerator", "host", "terms", "goodput", "network", "nics_per_host", "switch"),
    *("switch_port_blocks", "hosts", "accelerators", "tp", "cp", "dp", "ep", "pp"),
    *("batch", "in_flight", "is_build", "weights", "kv", "replicas", "users"),
    *("tokens_per_second_per_user", "tokens_per_second", "price_usd", "usd_per_hour"),
    *("power_watts", "rack_units"),
)
"""Columns of a frontier, in their order."""


@dataclass(frozen=True)
class Frontier(Drawn):
    """Units that no other one of the same accelerator beats in everything."""

    # Columns of one length, named as in plans, with their units in the names.
    columns: dict[str, list[object]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def to_dicts(self) -> list[dict[str, object]]:
        """Rows, as dictionaries."""
        names = tuple(self.columns)
        rows = zip(*self.columns.values(), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def to_arrow(self) -> pyarrow.Table:
        """Table of pyarrow, which the extra ``planopt[arrow]`` brings."""
        import pyarrow

        return pyarrow.table(self.columns)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Let any reader of Arrow's PyCapsule protocol take the columns."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def frontier(
    *,
    on_progress: Callable[[Step], object] | None = None,
    **options: Unpack[FrontierOptions],
) -> Frontier:
    """List the units worth buying for a question, each batch that meets its target.

    Parameters
    ----------
    on_progress : callable, optional
        Told what is being done, and how far it is.
    **options
        Those of `planopt.solve` that choose units, and none that limit a purchase.

    Returns
    -------
    Frontier

    Raises
    ------
    InputError
        With a diagnostic for each option that cannot be used.

    Examples
    --------
    >>> import planopt
    >>> table = planopt.frontier(model="llama-3.1-8b", accelerators=["rtx-4090"])
    >>> len(table) > 0
    True
    """
    asked = Asked.by_user("frontier", options)
    opened = open_for(asked).watched(Steps(on_progress, "evaluating"))
    problem = read_market(asked, opened, Problem)
    counted = problem.counted(opened)
    found = find_units(counted, problem, Aim(each_batch_up_to=DEFAULT_BATCHES))
    rows = msgspec.structs.asdict(found.listed())
    capital, price = rows.pop("capital_micro_usd"), rows.pop("price_micro_usd")
    micro_usd = capital if problem.hourly else price
    rows["price_usd"] = [each / MICRO_USD for each in micro_usd]
    columns = {name: list(rows[name]) for name in COLUMNS} if len(found) else {}
    return Frontier(columns)
