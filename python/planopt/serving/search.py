"""Units worth buying, found and kept by the compiled core."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from planopt.acquisition import is_offer
from planopt.door import question, written
from planopt.procurement.found import Found
from planopt.serving.load import promised
from planopt.serving.pessimism import each_at_worst

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt.catalog.open import Catalog
    from planopt.serving.question_types import Problem, ServedModel


class Aim(Struct, frozen=True, kw_only=True):
    """How far a search goes, and what it keeps."""

    price_cap_usd: float | None = None
    """Price of a unit that is bought, at most."""
    each_batch_up_to: int | None = None
    """Offer each batch up to this one; default: the largest alone, which has the most
    users and throughput, or each even share of the users where latency is sought."""
    aim: str | None = None
    """``cost-per-token`` or ``latency``, if that alone is sought and nothing limits the
    purchase."""


def find_units(catalog: Catalog, problem: Problem, aim: Aim) -> Found:
    """Find the units that meet a question's speed, for each format that it allows."""
    (found,) = find_together(catalog, [(problem, aim)])
    return found


def find_together(
    catalog: Catalog, asked: Sequence[tuple[Problem, Aim]]
) -> list[Found]:
    """Find the units for several questions at once."""
    told = [
        [
            written(question("search_serving", part))
            for part in _parts(catalog, problem, aim)
        ]
        for problem, aim in asked
    ]
    return [Found(native) for native in catalog.native.search(told)]


def _parts(catalog: Catalog, problem: Problem, aim: Aim) -> Iterator[dict[str, Any]]:
    """Tell the core what to search for: each format, bought and rented."""
    hourly = problem.acquisition.hourly
    for weights in (problem.served.weights, *problem.allow_quantization):
        served = replace(problem.served, weights=weights)
        for one in each_at_worst(catalog, problem):
            request = {
                **_units_sought(one, served),
                "each_batch_up_to": aim.each_batch_up_to,
                "aim": aim.aim,
                "price_cap_usd": aim.price_cap_usd,
                "hourly": hourly,
            }
            if problem.acquisition.way != "rent":
                yield request
            if problem.acquisition.rents:
                yield {
                    **request,
                    "hosts": [each for each in problem.hosts if is_offer(each)],
                    "price_cap_usd": None,
                    "rent": problem.acquisition.rent_request(),
                }


def sought(problem: Problem, served: ServedModel) -> dict[str, Any]:
    """Put what is promised and what there is to choose from, by options of the core."""
    return {
        **problem.asked(served),
        **promised(problem),
        "prefill_seconds": problem.predicted_ttft_seconds,
        "redundancy": problem.redundancy,
        "context_ranks": served.context_ranks,
        "max_accelerators": problem.replica_accelerators,
        **problem.hardware(),
        "hosts": [each for each in problem.hosts if not is_offer(each)],
    }


def _units_sought(problem: Problem, served: ServedModel) -> dict[str, Any]:
    return {
        **sought(problem, served),
        "batch": problem.batch,
        "in_flight": problem.in_flight,
        "batches_that_share": problem.users if problem.objective == "latency" else None,
        "builds": problem.top + 1,
        "exhaustive": problem.exhaustive,
        "within_host": problem.within_host,
    }
