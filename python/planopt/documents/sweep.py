"""What a study came to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SweepResult:
    """What a study came to."""

    folder: str
    """Where its parts are."""
    chunks: int
    """Parts of the study."""
    resumed: int
    """Of them, those that were there already."""
    candidates: int
    """Candidates of all cases: as many as were covered."""
    evaluated: int
    """Candidates that work, and that do not."""
    rejected: int
    checksum: str
    """Of all figures of all evaluated candidates, whatever was evaluated where."""
    front: int
    """Rows of ``front.parquet``."""
    seconds: float
    """Wall time of this run."""
