"""Units worth buying, found and kept by the compiled core."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from planopt.catalog.open import Catalog
from planopt.door import written
from planopt.procurement.problem import Found, Wanted
from planopt.serving.load import promised
from planopt.serving.question_types import Problem


class Aim(Struct, frozen=True, kw_only=True):
    """How far a search goes, and what it keeps."""

    price_cap_usd: float | None = None
    """Price of a unit that is bought, at most."""
    rent_cap_usd_per_hour: float | None = None
    """The same of one that is rented."""
    each_batch_up_to: int | None = None
    """Offer each batch up to this one; default: the largest alone, which has the most
    users and throughput, or each even share of the users where latency is sought."""
    aim: str | None = None
    """``cost-per-token``, ``latency``, ``price`` or ``hour``, if that alone is sought
    and nothing but a budget limits the purchase."""
    every: bool = False
    """Keep every unit, at the largest of all its batches, whatever replaces it."""


class UnitsSought(NamedTuple):
    """Units that are looked for."""

    problem: Problem
    aim: Aim
    seconds: float = math.inf
    """Until what was found must do."""
    wanted: Wanted | None = None
    """What is bought of them."""


def find_units(catalog: Catalog, problem: Problem, aim: Aim) -> Found:
    """Find the units that meet a question's speed, for each format that it allows."""
    (found,) = find_together(catalog, [UnitsSought(problem, aim)])
    return found


def find_together(catalog: Catalog, sought: Sequence[UnitsSought]) -> list[Found]:
    """Find the units for several questions at once, as far as there is time."""
    asked = [
        (
            [written(part) for part in parts_of(each.problem, each.aim)],
            each.wanted and each.wanted.written(),
            each.seconds,
        )
        for each in sought
    ]
    return [Found(*found) for found in catalog.native.search(asked)]


def parts_of(problem: Problem, aim: Aim) -> Iterator[dict[str, object]]:
    """Tell the core what to search for: each format, bought and rented."""
    for weights in (problem.weights, *problem.allow_quantization):
        asked = sought(problem, weights)
        asked["layout"] = problem.asked["layout"]
        shared = problem.concurrency if problem.objective == "latency" else None
        asked["search"] |= {
            "each_batch_up_to": aim.each_batch_up_to,
            "batches_that_share": shared,
            "aim": aim.aim,
            "builds": problem.top + 1,
            "hourly": problem.hourly,
        }
        if aim.every:
            asked["search"] |= {"every": True, "exhaustive": True}
        if problem.procurement != "rent":
            cap = {"price_cap_usd": aim.price_cap_usd}
            yield {**asked, "search": {**asked["search"], **cap}}
        if problem.rents:
            offers = [each for each in problem.hosts if _is_offer(each)]
            hardware = {**asked["hardware"], "hosts": offers}
            cap = {"price_cap_usd": aim.rent_cap_usd_per_hour}
            rented = {"hardware": hardware, "rent": problem.rent_request()}
            yield {**asked, "search": {**asked["search"], **cap}, **rented}


def sought(problem: Problem, weights: str | None) -> dict[str, Any]:
    """Put what is promised and what there is to choose from, as the core takes it."""
    return {
        **problem.judged,
        "model": {**problem.asked["model"], "weights": weights},
        **promised(problem),
        "hardware": {
            **problem.asked["hardware"],
            "accelerators": problem.accelerators,
            "exclude": (*problem.exclude, *problem.left_out),
            "hosts": [each for each in problem.hosts if not _is_offer(each)],
            "within_host": problem.within_host,
        },
        "search": dict(problem.asked["search"]),
    }


def _is_offer(host: str) -> bool:
    """Whether a host is an instance for rent: ``provider/instance/region``."""
    return "/" in host
