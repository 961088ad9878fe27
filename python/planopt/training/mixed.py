"""One run over several kinds of accelerator, partitioned evenly or by their speed."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from planopt.documents.training import (
    Mixed,
    Share,
    TrainingDocument,
    TrainingEvaluation,
)


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
        better, other = sorted((self.slowest, self.balanced), key=_rank)
        mixed = Mixed(
            stages="even" if better is self.slowest else "balanced",
            shares=self.shares,
            other=msgspec.convert(other, TrainingEvaluation, from_attributes=True),
        )
        return msgspec.structs.replace(better, mixed=mixed)


def _rank(way: TrainingEvaluation) -> tuple[bool, float]:
    return not way.feasible, way.step_seconds or float("inf")
