"""What an offload that no search tries would save, by enumeration.

Every accelerator in every host that takes it, one host: layouts of powers of two, and
what can rest in the host's memory. Nothing else is searched, so that a price here is to
be had, and may be beaten.
"""

from __future__ import annotations

from itertools import product
from math import inf
from typing import TYPE_CHECKING, Final

from planopt.catalog.open import open_catalog
from planopt.documents.evaluation import EvaluationDocument
from planopt.documents.training import TrainingDocument
from planopt.errors import InputError
from planopt.options import Asked
from planopt.planning.pipeline import Serving, Training
from planopt.procurement.solver import Solver
from planopt.training.evaluate import Run
from planopt.units import SECONDS_PER_DAY
from planopt_studies.sixty import spoken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt.catalog.open import Catalog

DEGREES: Final = (1, 2, 4, 8)
SMALL: Final = "llama-3.2-1b"
"""A model that anything runs, to see what has a price."""
OF_RUNS: Final = (["optimizer"], ["optimizer", "activations"])


def serving_price(question: str) -> float | None:
    """Find the cheapest host that serves with layers in its memory."""
    with Solver() as solver:
        problem = Serving().read(spoken(question), open_catalog(), solver).problem
    catalog = problem.counted(open_catalog())
    prices = []
    for (card, host), tp, pp in product(_sold(catalog), DEGREES, DEGREES):
        if tp * pp > DEGREES[-1]:
            continue
        batch = -(-problem.concurrency // pp)
        asked = {
            **problem.judged,
            "model": {**problem.asked["model"], "weights": problem.weights},
            "hardware": {"accelerator": card, "host": host},
            "layout": {"tp": tp, "pp": pp, "in_flight": pp, "batch": batch},
            "offload": {"to": "host"},
        }
        found = _evaluated(catalog, asked)
        if found is None or not found.feasible or found.cost.price_usd is None:
            continue
        if (found.decode.tokens_per_second_per_user or 0.0) >= problem.target:
            prices.append(found.cost.price_usd)
    return min(prices, default=None)


def run_price(question: str) -> float | None:
    """Find the cheapest host that trains in time with states in its memory."""
    with Solver() as solver:
        read = Training().read(spoken(question), open_catalog(), solver)
    catalog = read.catalog
    given = {"accelerator": "rtx-4090", **read.asked.given}
    for name in ("deadline", "time_limit"):
        given.pop(name, None)
    run = Asked.by_user("evaluate training", given)
    base = run.question(catalog.native, Run).asked
    within = (read.problem.deadline_seconds or 0.0) / SECONDS_PER_DAY
    prices = []
    for (card, host), many in product(_sold(catalog), DEGREES):
        for layout in _layouts(many):
            asked = {
                **base,
                "hardware": {**base["hardware"], "accelerator": card, "host": host},
                "layout": {**base["layout"], **layout},
            }
            try:
                found = catalog.ask("evaluate_training", asked, TrainingDocument)
            except InputError:
                continue
            price, days = found.cost.price_usd, found.days
            if found.feasible and price is not None and (days or inf) <= within:
                prices.append(price)
    return min(prices, default=None)


def _layouts(many: int) -> Iterator[dict[str, object]]:
    for tp in sorted({1, many}):
        dp = many // tp
        shards = ("none",) if dp == 1 else ("zero1", "zero2", "zero3")
        for shard, batch, parts in product(shards, (1, 4), OF_RUNS):
            yield {
                "tp": tp,
                "pp": 1,
                "dp": dp,
                "shard": shard,
                "recompute": "full",
                "micro_batch": batch,
                "offload": parts,
            }


def _sold(catalog: Catalog) -> list[tuple[str, str]]:
    """List accelerators with each host that takes them, where both have a price."""
    found = []
    cards = [each.id for each in catalog.list("accelerators")]
    hosts = [
        each.id
        for each in catalog.list("hosts")
        if catalog.text("hosts", each.id, "on_request") is None
    ]
    for card, host in product(cards, hosts):
        asked = {
            "model": {"name": SMALL},
            "workload": {"prompt": 1, "context": 2},
            "hardware": {"accelerator": card, "host": host},
            "layout": {"tp": 1, "pp": 1},
        }
        one = _evaluated(catalog, asked)
        if one is not None and one.cost.price_usd is not None:
            found.append((card, host))
    return found


def _evaluated(catalog: Catalog, asked: dict[str, object]) -> EvaluationDocument | None:
    try:
        return catalog.ask("evaluate_serving", asked, EvaluationDocument)
    except InputError:
        return None
