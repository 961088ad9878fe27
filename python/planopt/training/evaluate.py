"""One configuration of a training run: what it does, whether or not it fits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from planopt.catalog.entries import Pricing
from planopt.catalog.open import open_for
from planopt.documents.parts import Assumed
from planopt.documents.training import (
    Mixed,
    Share,
    TrainingCandidate,
    TrainingDocument,
    TrainingEvaluation,
)
from planopt.market import said_by_files
from planopt.options import Asked
from planopt.price_sources import sourced

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from planopt.option_types import TrainingOptions


class Both(Struct, frozen=True, kw_only=True):
    """Both ways of sharing a run, as the core evaluates them."""

    slowest: TrainingDocument
    """Partitioned evenly: every step waits for the slowest kind."""
    balanced: TrainingDocument
    """Layers by the speed of what is under them."""
    shares: tuple[Share, ...]

    def better(self) -> TrainingDocument:
        """Return the way that works, or the faster one, with the other beside it."""
        # Of equals the even one, which every framework runs.
        better, other = sorted(
            (self.slowest, self.balanced),
            key=lambda way: (not way.feasible, way.step_seconds or math.inf),
        )
        mixed = Mixed(
            stages="even" if better is self.slowest else "balanced",
            shares=self.shares,
            other=msgspec.convert(other, TrainingEvaluation, from_attributes=True),
        )
        return msgspec.structs.replace(better, mixed=mixed)


class Run(Pricing, frozen=True, kw_only=True):
    """One way of training a model, as the core has read it."""

    asked: dict[str, Any]
    """As the core evaluates it."""
    assumptions: str
    assumed: tuple[Assumed, ...]


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
    return evaluated(Asked.by_user("evaluate training", options))


def evaluated(asked: Asked) -> TrainingDocument:
    """Evaluate what options of `evaluate training` say."""
    opened = open_for(asked)
    read = asked.question(opened.native, Run)
    opened = opened.paid(Pricing.of(read))
    request = read.asked
    if request["shares"]:
        document = opened.ask("evaluate_mixed", request, Both).better()
    else:
        document = opened.ask("evaluate_training", request, TrainingDocument)
    document = msgspec.structs.replace(
        document,
        bill_of_materials=sourced(opened, document.bill_of_materials),
        assumed=(
            *read.assumed,
            *said_by_files(asked),
            *_filled_in(request["recipe"], document.candidate),
        ),
        assumptions=read.assumptions,
    )
    if not asked.given.get("explain"):
        return document
    from planopt.second_opinion import derivation_of_training

    derivation = derivation_of_training(request, document.hardware, opened)
    return msgspec.structs.replace(document, derivation=derivation)


def _filled_in(
    recipe: Mapping[str, object], candidate: TrainingCandidate
) -> Iterator[Assumed]:
    """Say what the core has filled in."""
    if recipe["global_batch"] is None:
        yield Assumed(
            name="global batch",
            value=f"{candidate.global_batch} sequences",
            why="4M tokens, in whole micro-batches. Say --global-batch N",
        )
    if recipe["seq_len"] is None:
        yield Assumed(name="sequence length", value=f"{candidate.seq_len} tokens")
    if recipe["mtp_modules"] is None:
        yield from assumed_mtp(candidate.mtp_modules)


def assumed_mtp(modules: int) -> Iterator[Assumed]:
    """Say what is trained beside the model, where that was not asked for."""
    if modules:
        yield Assumed(
            name="multi-token prediction",
            value=f"{modules} module{'s' if modules > 1 else ''}",
            why="as published. Say --mtp-modules N, 0 for none",
        )
