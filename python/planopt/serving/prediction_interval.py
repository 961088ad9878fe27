"""80 % prediction intervals of serving's figures, and the sentence of a plan.

Few plans name an engine. The errors behind the intervals of the others are those of
the same figures without one: of measured runs under any engine. Those of steps are
the ones that promises are judged by.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from planopt.catalog.open import DEFAULT_ASSUMPTIONS, Catalog
from planopt.documents.evaluation import EvaluationDocument, ServingEvaluation
from planopt.documents.parts import Interval


def intervals(catalog: Catalog, evaluation: EvaluationDocument) -> dict[str, Interval]:
    """Tell what the figures are expected to lie in, as far as anything is known."""
    if catalog.assumptions != DEFAULT_ASSUMPTIONS:
        # Errors of other assumptions are not known.
        return {}
    request = {
        "model": evaluation.model,
        "accelerator": evaluation.candidate.accelerator,
        "any_engine": evaluation.engine is None,
        "predicted": {
            "tpot_seconds": evaluation.decode.tpot_seconds,
            "tokens_per_second": evaluation.decode.tokens_per_second,
            "prefill_seconds": evaluation.prefill.seconds,
            "ttft_seconds": evaluation.ttft_seconds.mean,
        },
    }
    response = catalog.native.errors(msgspec.json.encode(request))
    return msgspec.json.decode(response, type=dict[str, Interval])


def statement(evaluations: Iterable[ServingEvaluation]) -> str:
    """Say within what the speeds of a plan lie, and whether its kinds were measured."""
    shares = [
        (seconds.low / value, seconds.high / value, seconds.extrapolated)
        for each in evaluations
        if (seconds := each.intervals.get("tpot_seconds")) is not None
        and (value := each.decode.tpot_seconds)
    ]
    if not shares:
        return "no measured run is like this one: nothing is known of its errors"
    low, high = min(each[0] for each in shares), max(each[1] for each in shares)
    if any(each[2] for each in shares):
        of = "this kind of model was not measured on such hardware: as the slowest were"
    else:
        of = "as steps of this kind of model on such hardware were measured"
    return f"TPOT: {low - 1:+.0%} to {high - 1:+.0%}, {of}"
