"""One configuration of a training run: what it does, whether or not it fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from planopt.accuracy.residuals import errors
from planopt.bill import bom_line, hardware_of
from planopt.catalog.open import open_for
from planopt.documents.parts import Assumed, Interval
from planopt.documents.training import (
    TrainingCandidate,
    TrainingDocument,
    TrainingEvaluation,
)
from planopt.options import Asked, taken_by
from planopt.price_sources import sourced
from planopt.prices import read_prices
from planopt.serving.served import read_model
from planopt.training.mixed import better_of, mixed_of, read_shares

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from typing_extensions import Unpack

    from planopt.catalog.open import Catalog
    from planopt.option_types import TrainingOptions

__all__ = [
    "candidate_of",
    "evaluate_training",
    "evaluation_of",
    "with_intervals",
]

NOT_OF_THE_RUN = ("Money", "Search", "Output")
"""Panels of options that say nothing of the run itself."""


def evaluate_training(**options: Unpack[TrainingOptions]) -> TrainingDocument:
    """Evaluate one way of training a model.

    Parameters
    ----------
    **options
        As of ``planopt evaluate training``, with underscores: text with units, or
        numbers in SI units. docs/reference/options.md has them all.

    Returns
    -------
    TrainingDocument

    Raises
    ------
    InputError
        With a diagnostic for each option that cannot be used.

    Examples
    --------
    >>> import planopt
    >>> evaluation = planopt.evaluate_training(
    ...     accelerator="a100-sxm-80", network="infiniband-200g", tokens="2T",
    ...     tp=8, pp=4, dp=64, sequence_parallel=True, shard="zero1",
    ... )
    >>> evaluation.feasible
    True
    """
    asked = Asked("evaluate training", options)
    opened = open_for(asked)
    assumed: list[Assumed] = []
    model = read_model(asked, assumed)
    shares = read_shares(asked)
    if "accelerators" not in asked.given:
        asked.require(
            "accelerator", accepted="an id of `planopt catalog list accelerators`"
        )
    run = {
        name: asked.read(name)
        for name, option in taken_by(asked.command).items()
        if option.panel not in NOT_OF_THE_RUN and name != "accelerators"
    }
    explain = asked.switch("explain")
    if explain:
        asked.out_of_place(
            ("accelerators", "link"),
            "is not explained",
            accepted="--accelerator, in a host of the catalog with its own links",
        )
    paid = read_prices(asked, opened)
    asked.finish()
    opened = opened.priced(**paid)
    request = {
        **{name: value for name, value in run.items() if value is not None},
        "model": model,
    }
    mixed = None
    if shares:
        both = opened.ask("evaluate_mixed", {**request, "shares": shares})
        answer, way = better_of(both)
        other = both["balanced" if way == "slowest" else "slowest"]
        mixed = mixed_of(both, way, evaluation_of(other))
        kinds = " + ".join(dict.fromkeys(share["accelerator"] for share in shares))
        request["accelerator"] = kinds
    else:
        answer = opened.ask("evaluate_training", request)
    assumed += _filled_in(request, answer)
    evaluation = evaluation_of(answer)
    if not shares and "mfu" not in request:
        evaluation = with_intervals(opened, evaluation, request)
    document = TrainingDocument(
        **{name: getattr(evaluation, name) for name in evaluation.__struct_fields__},
        model=model,
        candidate=candidate_of(request, answer),
        hardware=hardware_of(answer),
        bill_of_materials=sourced(opened, map(bom_line, answer["bill_of_materials"])),
        mixed=mixed,
        assumed=tuple(assumed),
        assumptions=asked.text("assumptions"),
    )
    if not explain:
        return document
    from planopt.second_opinion import derivation_of_training

    derivation = derivation_of_training(request, document.hardware, opened)
    return msgspec.structs.replace(document, derivation=derivation)


def with_intervals(
    catalog: Catalog, evaluation: TrainingEvaluation, request: Mapping[str, Any]
) -> TrainingEvaluation:
    """Add what the figures are expected to lie in."""
    known_errors = errors(
        catalog, request["accelerator"], request["model"], ("memory", "step_time")
    )
    step, memory = evaluation.step_seconds, evaluation.memory
    found: dict[str, Interval | None] = {}
    if memory is not None and "memory" in known_errors:
        found["memory_bytes"] = known_errors["memory"].interval(memory.total_bytes)
    if step is not None and "step_time" in known_errors:
        seconds = known_errors["step_time"].interval(step)
        found["step_seconds"] = seconds
        for name, value in (
            ("tokens_per_second", evaluation.tokens_per_second),
            ("days", evaluation.days),
        ):
            found[name] = _as_the_step(name, value, step, seconds)
    known = {name: each for name, each in found.items() if each is not None}
    return msgspec.structs.replace(evaluation, intervals=known)


def _as_the_step(
    name: str, value: float | None, step: float, seconds: Interval
) -> Interval | None:
    """Give a figure that follows from the step the interval that follows, too."""
    if value is None:
        return None
    slow, fast = seconds.high / step, seconds.low / step
    low, high = (fast, slow) if name == "days" else (1 / slow, 1 / fast)
    return Interval(
        low=value * low, high=value * high, extrapolated=seconds.extrapolated
    )


def _filled_in(
    request: Mapping[str, Any], answer: Mapping[str, Any]
) -> Iterator[Assumed]:
    """Say what the core has filled in."""
    if "global_batch" not in request:
        yield Assumed(
            name="global batch",
            value=f"{answer['global_batch']} sequences",
            why="4M tokens, in whole micro-batches. Say --global-batch N",
        )
    if "seq_len" not in request:
        yield Assumed(name="sequence length", value=f"{answer['seq_len']} tokens")
    if "mtp_modules" not in request:
        yield from assumed_mtp(answer["mtp_modules"])


def assumed_mtp(modules: int) -> Iterator[Assumed]:
    """Say what is trained beside the model, where that was not asked for."""
    if modules:
        yield Assumed(
            name="multi-token prediction",
            value=f"{modules} module{'s' if modules > 1 else ''}",
            why="as published. Say --mtp-modules N, 0 for none",
        )


def evaluation_of(answer: Mapping[str, Any]) -> TrainingEvaluation:
    """Read the core's answer; what it leaves out is not known."""
    known = {
        name: value
        for name, value in answer.items()
        if name in TrainingEvaluation.__struct_fields__ and value is not None
    }
    return msgspec.convert(known, TrainingEvaluation)


def candidate_of(
    request: Mapping[str, Any], answer: Mapping[str, Any]
) -> TrainingCandidate:
    """Put together what was asked for and what the core filled in."""
    both = {
        **request,
        "batch": request.get("micro_batch", 1),
        "schedule": _schedule(request),
        **{
            name: answer[name]
            for name in (
                "expert_data_parallel",
                "micro_batches",
                "global_batch",
                "seq_len",
                "mtp_modules",
            )
        },
    }
    known = {
        name: value
        for name, value in both.items()
        if name in TrainingCandidate.__struct_fields__ and value is not None
    }
    return msgspec.convert(known, TrainingCandidate)


def _schedule(request: Mapping[str, Any]) -> str | None:
    """Schedule of a pipeline, as the core takes it where it is not given."""
    if request.get("pp", 1) == 1:
        return None
    usual = "interleaved" if request.get("vpp", 1) > 1 else "1f1b"
    return str(request.get("schedule", usual))
