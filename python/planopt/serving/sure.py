"""How sure figures of serving are: 80 % intervals, and the sentence of a plan.

Few plans name an engine. The errors behind the intervals of the others are those of
the same figures without one: of measured runs under any engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from planopt.accuracy.residuals import interval, model_classes, residual, under_engine
from planopt.catalog.open import DEFAULT_ASSUMPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planopt.catalog.open import Catalog
    from planopt.documents.evaluation import ServingEvaluation
    from planopt.documents.parts import Interval

__all__ = ["statement", "with_intervals"]

_TOKEN: Final = ("tpot", "decode")
"""What is measured of a token: under a load, and of one user alone."""


def with_intervals(
    catalog: Catalog,
    evaluation: ServingEvaluation,
    *,
    model: str,
    accelerator: str,
    batch: int,
    engine: str | None = None,
) -> ServingEvaluation:
    """Add what the figures are expected to lie in, as far as anything is known."""
    if catalog.assumptions != DEFAULT_ASSUMPTIONS:
        # Errors of other assumptions are not known.
        return evaluation
    of = under_engine(engine)
    classes = [f"{name}{of}" for name in model_classes(catalog, accelerator, model)]
    decode = evaluation.decode
    token = _TOKEN[batch == 1]
    figures = {
        "tpot_seconds": (token, decode.tpot_seconds),
        "tokens_per_second": ("throughput", decode.tokens_per_second),
        "prefill_seconds": ("prefill", evaluation.prefill.seconds),
        "ttft_seconds": ("ttft", evaluation.ttft_seconds.mean),
    }
    known: dict[str, Interval] = {}
    for name, (metric, value) in figures.items():
        if value is None:
            continue
        found = interval(metric, value, classes, everything=f"all{of}")
        if found is not None:
            known[name] = _of_seconds(found, value) if metric in _RATES else found
    if "tpot_seconds" in known:
        seconds = known["tpot_seconds"]
        known["tokens_per_second_per_user"] = replace(
            seconds, low=1 / seconds.high, high=1 / seconds.low
        )
    return replace(evaluation, intervals=known)


# Metrics that were measured as rates while the figure is a time.
_RATES: Final = ("decode", "prefill")


def _of_seconds(found: Interval, value: float) -> Interval:
    """Turn factors of a rate into an interval of the time."""
    return replace(
        found, low=value * value / found.high, high=value * value / found.low
    )


def statement(evaluations: Iterable[ServingEvaluation], engine: str | None) -> str:
    """Say how sure the speeds of a plan are, under an engine if it names one."""
    shares = [
        (seconds.low / value, seconds.high / value, seconds.extrapolated)
        for each in evaluations
        if (seconds := each.intervals.get("tpot_seconds")) is not None
        and (value := each.decode.tpot_seconds)
    ]
    found = residual("tpot", (), everything=f"all{under_engine(engine)}")
    if not shares or found is None:
        return "no measured run is like this one: nothing is known of its errors"
    low, high = min(each[0] for each in shares), max(each[1] for each in shares)
    said = (
        f"80 % interval of the time per token: {low - 1:+.0%} to {high - 1:+.0%}, from "
        f"{found[0].rows} measured serving runs under "
        f"{'any engine' if engine is None else 'engines that were fitted to others'}"
    )
    if any(each[2] for each in shares):
        said += "; none of them is of this hardware and this kind of model"
    return said
