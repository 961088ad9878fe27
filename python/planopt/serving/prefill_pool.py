"""A pool of its own that reads the prompts of one configuration that answers them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from planopt.documents.evaluation import (
    EvaluationDocument,
    Pool,
    ServingEvaluation,
    Transfer,
)
from planopt.documents.parts import Cost
from planopt.errors import InputError
from planopt.loads import Latencies, Load, outcome
from planopt.serving.load import run_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.catalog.open import Catalog


@dataclass(frozen=True)
class Simulated:
    """What came of a load on both pools."""

    pool: Pool
    transfer: Transfer | None
    latencies: Latencies | None


def simulated_with(
    catalog: Catalog,
    scheduler: Mapping[str, object],
    prefill: Mapping[str, object],
    decode: Mapping[str, object],
    load: Load,
) -> Simulated:
    """Simulate a load on a pool that reads prompts and another one that answers."""
    alone = catalog.ask("evaluate_serving", prefill, EvaluationDocument)
    if not alone.feasible:
        why = "; ".join(each.message for each in alone.rejections)
        raise InputError.of(
            "E004",
            f"the pool that reads prompts does not work: {why}",
            field="--prefill-tp",
            accepted="degrees and an accelerator that hold the model",
        )
    both = {**prefill, "decode": {**decode, "scheduler": scheduler}}
    run = run_of(load)
    found = outcome(catalog, "simulate_serving", both, load, run, scheduler)
    evaluation = msgspec.convert(alone, ServingEvaluation, from_attributes=True)
    pool = Pool(
        candidate=alone.candidate,
        host=alone.hardware.host or "",
        hosts=alone.hosts or 1,
        replicas=alone.replicas,
        evaluation=msgspec.structs.replace(evaluation, cost=Cost(), power_watts=None),
    )
    return Simulated(pool, found.transfer, found.report)
