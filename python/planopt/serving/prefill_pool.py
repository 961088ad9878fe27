"""A pool of its own that reads the prompts of one configuration that answers them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from planopt.documents.evaluation import Pool, Transfer
from planopt.documents.parts import Candidate
from planopt.errors import InputError
from planopt.serving.build import evaluation_of
from planopt.serving.load import Latencies, latencies_of, run_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.catalog.open import Catalog

DEGREES = ("tp", "pp", "cp", "dp", "ep", "replicas")


@dataclass(frozen=True)
class Simulated:
    """What came of a load on both pools."""

    pool: Pool
    transfer: Transfer
    latencies: Latencies | None


def alone(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Put a configuration with one replica."""
    return {**configuration, "layout": {**configuration["layout"], "replicas": 1}}


def simulated_with(
    catalog: Catalog,
    scheduler: Mapping[str, Any],
    reading: Mapping[str, Any],
    answering: Mapping[str, Any],
    load: Mapping[str, Any],
) -> Simulated:
    """Simulate a load on a pool that reads prompts and another one that answers."""
    answer = catalog.ask("evaluate_serving", alone(reading))
    evaluation = evaluation_of({**answer, "cost": None, "power_watts": None})
    if not evaluation.feasible:
        why = "; ".join(each.message for each in evaluation.rejections)
        raise InputError.of(
            "E004",
            f"the pool that reads prompts does not work: {why}",
            field="--prefill-tp",
            accepted="degrees and an accelerator that hold the model",
        )
    request = {
        **reading,
        "load": load,
        "run": run_of(load),
        "scheduler": scheduler,
        "decode": {**answering, "scheduler": scheduler},
    }
    found = catalog.ask("simulate_serving", request)
    layout = reading["layout"]
    pool = Pool(
        candidate=Candidate(
            accelerator=reading["hardware"]["accelerator"],
            **{name: layout[name] for name in DEGREES if name != "replicas"},
            batch=1,
            in_flight=answer["in_flight"],
            overlap=reading["model"]["overlap"],
            weights=answer["weights"],
            kv=answer["kv"],
        ),
        host=answer["hardware"]["host"],
        hosts=answer["hosts"] or 1,
        replicas=layout["replicas"],
        evaluation=evaluation,
    )
    users = load["arrivals"].get("users")
    return Simulated(
        pool=pool,
        transfer=msgspec.convert(found["transfer"], Transfer),
        latencies=latencies_of(found["report"], users),
    )
