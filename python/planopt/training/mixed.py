"""One run over several kinds of accelerator, dealt evenly or by their speed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from planopt.documents.training import Mixed, Share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.documents.training import TrainingEvaluation


def better_of(answer: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return the way that works, or the faster one, and which it is."""

    def rank(way: str) -> tuple[bool, float]:
        evaluation = answer[way]
        return not evaluation["feasible"], evaluation["step_seconds"] or float("inf")

    # Of equals the even one, which every framework runs.
    way = min(("slowest", "balanced"), key=rank)
    return answer[way], way


def mixed_of(answer: Mapping[str, Any], way: str, other: TrainingEvaluation) -> Mixed:
    """Say how the run is shared, and what the other way comes to."""
    return Mixed(
        stages="balanced" if way == "balanced" else "even",
        shares=msgspec.convert(tuple(answer["shares"]), tuple[Share, ...]),
        other=other,
    )
