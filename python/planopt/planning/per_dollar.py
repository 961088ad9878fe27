"""Every accelerator by what it puts out for a dollar: new, used and rented.

As the GPU guide ranks them: what a model needs of memory first, then the output of a
dollar, of which the host has its share and years of electricity theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace as with_changes

from planopt.catalog.entries import Pricing
from planopt.catalog.open import open_for
from planopt.documents.ranking import Ranking, Standing, Value
from planopt.market import must_name_accelerators, read_market
from planopt.options import Asked, Edit
from planopt.serving.question_types import Problem
from planopt.serving.search import Aim, find_units

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from planopt.catalog.open import Catalog
    from planopt.option_types import PerDollarOptions

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
    from planopt._native import parse_quantity

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
