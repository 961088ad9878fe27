"""Which fields of a plan are verified, and how much of the others is checked.

The one source of the marks in the published schema: `verified` fields are recomputed
and no change to one passes, `checked` ones must be consistent with the rest, and
`informative` ones are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal

Mark = Literal["verified", "checked", "informative"]

_BILL: Final[dict[str, Mark]] = {
    "kind": "verified",
    "id": "verified",
    "name": "verified",
    "quantity": "verified",
    "unit_price_usd": "verified",
    "price_usd": "verified",
    "unit_usd_per_hour": "verified",
    "usd_per_hour": "verified",
    "source": "informative",
    "price_date": "informative",
    "price_status": "informative",
    "used": "informative",
    "owned": "verified",
    "unit_price_low_usd": "informative",
    "unit_price_high_usd": "informative",
}
_COST: Final = (
    "price_usd",
    "usd_per_hour",
    "usd_per_million_tokens",
    "tokens_per_usd",
)
_TOTALS: Final = (
    "accelerators",
    "hosts",
    "replicas",
    "tokens_per_second",
    "requests_per_second",
    "concurrency",
    "power_watts",
    "rack_units",
    "co2_kg_per_year",
)
_MESSAGES: Final = (
    "payload_bytes",
    "all_reduce_seconds",
    "all_reduces",
    "hops_seconds",
)
_OF_A_PROMPT: Final = ("compute", "memory", "communication", "offload", "host")
_EVALUATION: Final = (
    "feasible",
    "rejections",
    "memory.weights_bytes",
    "memory.kv_cache_bytes",
    "memory.activations_bytes",
    "memory.overhead_bytes",
    "memory.total_bytes",
    "memory.capacity_bytes",
    "decode.step_seconds",
    "decode.compute_seconds",
    "decode.memory_seconds",
    "decode.communication_seconds",
    "decode.offload_seconds",
    "decode.host_seconds",
    "decode.waiting_seconds",
    "decode.tpot_seconds",
    "decode.tokens_per_second_per_user",
    "decode.tokens_per_second",
    "prefill.seconds",
    *(f"prefill.{part}_seconds" for part in _OF_A_PROMPT),
    "mixed.chunk_tokens",
    "mixed.cached_tokens",
    "mixed.step_seconds",
    "kv_capacity_tokens",
    *(f"messages.{part}" for part in _MESSAGES),
    "hosts",
    "accelerators",
    "power_watts",
    *(f"cost.{part}" for part in _COST),
)

# Of plans of fleets.
_FLEET_DEPLOYMENT: Final = (
    "region",
    "prompt_tokens",
    "output_tokens",
    "requests_per_second",
)
_ACQUISITION: Final = (
    "accelerators",
    "hosts",
    "units",
    "unit_price_usd",
    "price_usd",
    "power_watts",
    "rack_units",
    "charge_usd",
)
_STREAM: Final = ("stream", "demand", "supply", "after_failures")
_PERIOD: Final = ("period", "purchase_usd", "rent_usd", "power_watts")
_OF_A_STEP: Final = (
    "forward",
    "backward",
    "recompute",
    "tensor",
    "context",
    "expert",
    "pipeline",
    "data",
    "offload",
    "contention",
    "host",
    "bubble",
    "optimizer",
    "straggler",
)
_OF_FAILURES: Final = (
    "interval_seconds",
    "expected",
    "checkpoint_bytes",
    "checkpoint_seconds",
    "checkpoint_interval_seconds",
    "restart_seconds",
    "hosts_away",
    "spare_hosts",
    "availability",
)
_OF_A_RUN: Final = (
    "tokens",
    "steps",
    "accelerator_hours",
    "productive_accelerator_hours",
    "energy_kwh",
    "kg_co2e",
    "usd",
)
# Beside those that serving has under the same names.
_TRAINING: Final = (
    "memory.gradients_bytes",
    "memory.optimizer_bytes",
    "memory.activations_per_layer_bytes",
    "memory.micro_batches_in_flight",
    "memory.host_bytes",
    "step_seconds",
    "compute_seconds",
    "bubble_seconds",
    "exposed_communication_seconds",
    "host_seconds",
    *(f"step.{part}_seconds" for part in _OF_A_STEP),
    "tokens_per_second",
    "tokens_per_second_per_accelerator",
    "model_tflops_per_accelerator",
    "mfu",
    "hfu",
    "model_flops",
    "goodput",
    *(f"failures.{part}" for part in _OF_FAILURES),
    "days",
    *(f"run.{part}" for part in _OF_A_RUN),
)

_OF_AN_ALTERNATIVE: Final = (
    "price_usd",
    "power_watts",
    "accelerators",
    "days",
    "mfu",
    "goodput",
    "run_usd",
)

# A path names lists with `[]`, and covers everything below it.
FIELDS: Final[dict[str, Mark]] = {
    "schema": "verified",
    "kind": "verified",
    "status": "checked",
    "why": "checked",
    "objective": "checked",
    "price_usd": "verified",
    "bound_usd": "checked",
    "bound_usd_per_hour": "checked",
    "gap": "checked",
    "request": "checked",
    **{f"bill_of_materials[].{key}": mark for key, mark in _BILL.items()},
    "deployments[].model": "checked",
    "deployments[].role": "checked",
    "deployments[].units": "verified",
    "deployments[].replicas": "verified",
    "deployments[].candidate": "checked",
    "deployments[].chain": "checked",
    "deployments[].hardware": "checked",
    "deployments[].hardware.hosts": "verified",
    "deployments[].hardware.goodput": "verified",
    "deployments[].hardware.rack_units": "verified",
    **{f"deployments[].bill_of_materials[].{key}": m for key, m in _BILL.items()},
    **{f"deployments[].evaluation.{key}": "verified" for key in _EVALUATION},
    **{f"deployments[].evaluation.{key}": "verified" for key in _TRAINING},
    "deployments[].candidate.micro_batches": "verified",
    "deployments[].candidate.expert_data_parallel": "verified",
    # Simulated: percentiles are in order.
    "deployments[].evaluation.ttft_seconds": "checked",
    "deployments[].evaluation.tpot_seconds": "checked",
    "deployments[].evaluation.under_load": "informative",
    "deployments[].evaluation.intervals": "verified",
    # Of what was simulated.
    "deployments[].evaluation.intervals.ttft_seconds": "informative",
    "disaggregated": "informative",
    "pools_bound_usd": "informative",
    "failures": "verified",
    "certificate": "checked",
    "certificate.digest": "verified",
    "transfer": "checked",
    "heterogeneous": "informative",
    "batches": "verified",
    "batches.critical_batch_source": "informative",
    # What the others come to is searched, not computed: none is better than the plan.
    "batches.tried[].price_usd": "checked",
    "batches.tried[].days": "checked",
    "not_considered": "informative",
    "oldest_price_date": "verified",
    "deployments[].evaluation.time_parts": "verified",
    "deployments[].evaluation.peak_parts": "verified",
    **{f"cost.{key}": "verified" for key in _COST},
    "cost.parts": "verified",
    # What is moved is chosen; what it comes to then is computed.
    "cost.moves": "checked",
    "cost.at_duty": "checked",
    "cost.left_out": "informative",
    "power_watts": "verified",
    **{f"deployments[].{key}": "verified" for key in _FLEET_DEPLOYMENT},
    "deployments[].rentals[].rent_usd": "verified",
    "deployments[].rentals[].units": "verified",
    "deployments[].rentals[].hours": "verified",
    **{f"acquisitions[].{key}": "verified" for key in _ACQUISITION},
    "acquisitions": "checked",
    "deployments[].rentals": "checked",
    "deployments[].stream": "checked",
    "deployments[].way": "checked",
    **{f"acquisitions[].bill_of_materials[].{key}": m for key, m in _BILL.items()},
    **{f"streams[].{key}": "verified" for key in _STREAM},
    **{f"periods[].{key}": "verified" for key in _PERIOD},
    "periods[].actions": "informative",
    "total_usd": "verified",
    "charge_usd": "verified",
    "rent_usd": "verified",
    "kg_co2e": "verified",
    "kg_co2e_per_year": "verified",
    "total_bound_usd": "checked",
    "runs": "checked",
    **{f"runs[].evaluation.{key}": "verified" for key in _TRAINING},
    "runs[].evaluation.intervals": "verified",
    "runs[].evaluation.power_watts": "verified",
    **{f"runs[].evaluation.cost.{key}": "verified" for key in _COST},
    "one_type": "informative",
    "stages": "informative",
    "renting": "informative",
    "answers": "checked",
    "alternatives": "checked",
    "alternatives[].summary": "informative",
    "alternatives[].why_not": "informative",
    **{f"alternatives[].{key}": "verified" for key in _OF_AN_ALTERNATIVE},
    **{f"alternatives[].bill_of_materials[].{key}": m for key, m in _BILL.items()},
    "rent_or_buy": "informative",
    "recourse": "informative",
    "steps": "informative",
    "uncertainty": "informative",
    "infeasibility": "informative",
    "sensitivity": "informative",
    "warnings": "checked",
    "search": "informative",
    "assumed": "informative",
    "assumptions": "informative",
    "scenarios": "verified",
    "worth_measuring": "verified",
    "worth_measuring[].configuration": "informative",
    "worth_measuring[].offer": "informative",
    "worth_measuring[].rent_usd": "informative",
    "confidence": "verified",
    "probability": "verified",
    "price_usd_at_confidence_50": "checked",
    "price_usd_at_confidence_95": "checked",
    "evidence": "verified",
    "evidence.kinds[].held_to": "checked",
    "accuracy": "checked",
    # Tables are held to their digests.
    "facts": "checked",
    "facts.prices": "verified",
    "facts.rates": "verified",
    "promises": "verified",
    **{f"totals.{key}": "verified" for key in _TOTALS},
    "capex_usd": "verified",
    "sell": "verified",
    "opex_usd_per_hour": "verified",
    "tco_usd_per_hour": "verified",
    "usd_per_million_tokens": "verified",
    "provenance": "informative",
    "provenance.catalog_digest": "verified",
    "provenance.assumptions_digest": "verified",
}

_INDEX: Final = re.compile(r"\[\d+\]")


def mark_of(field: str) -> Mark | None:
    """Return the mark of a field, or none if the table does not know it.

    Parameters
    ----------
    field : str
        Path in a document, as in `deployments[0].evaluation.memory.total_bytes`.

    Returns
    -------
    str or None
        The mark of the longest path of the table that covers the field.
    """
    pattern = _INDEX.sub("[]", field)
    while pattern:
        if pattern in FIELDS:
            return FIELDS[pattern]
        pattern = re.sub(r"(\[\]|\.?[^.\[\]]+)$", "", pattern)
    return None


def leaves(document: object, field: str = "") -> Iterator[tuple[str, object]]:
    """Return the path and value of every leaf of a document.

    Parameters
    ----------
    document : object
        A JSON document, or a part of one.
    field : str
        Path of that part.

    Yields
    ------
    tuple of (str, object)
        Paths as `mark_of` takes them; empty lists and tables are leaves.
    """
    if isinstance(document, Mapping) and document:
        for key, value in document.items():
            yield from leaves(value, f"{field}.{key}" if field else str(key))
    elif isinstance(document, list) and document:
        for index, value in enumerate(document):
            yield from leaves(value, f"{field}[{index}]")
    else:
        yield field, document


def figures(document: object) -> list[tuple[str, object]]:
    """Return the path and value of every leaf that is verified and says something.

    Parameters
    ----------
    document : object
        A plan document.
    """
    return [
        (field, value)
        for field, value in leaves(document)
        if mark_of(field) == "verified" and value is not None
    ]
