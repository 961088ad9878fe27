"""What became of a measured row: a comparison, or nothing with its reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Standing = Literal["counted", "searched", "outside"]
"""Whether a comparison counts towards thresholds: its layout was published in full
(``counted``), had to be searched (``searched``), or the row is marked as one that
nothing should be judged by (``outside``)."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A measured figure beside the predicted one."""

    row: str
    """Id of the row."""
    source: str
    metric: str
    measured: float
    predicted: float
    unit: str
    accelerator: str
    model: str
    engine: str
    """Framework or serving engine, without its version."""
    standing: Standing = "counted"
    precision: str = ""
    """Format of the arithmetic, where it tells hardware classes apart."""
    layout: str = ""
    """How the model was spread: what choices are compared by."""
    why: Mapping[str, float | str] = field(default_factory=dict)
    """Where the prediction comes from: parts of a step, or of memory."""
    group_of_alike: str = ""
    """Alike for rows that differ in releases and repetition alone."""

    @property
    def error(self) -> float:
        """What is predicted too much, as a share of what was measured."""
        return self.predicted / self.measured - 1.0

    @property
    def group(self) -> tuple[str, str, str]:
        """What is left out as a whole when predictions are judged."""
        return (self.source, self.accelerator, self.model)


@dataclass(frozen=True, kw_only=True)
class Missing:
    """Figures of a row that are not predicted."""

    row: str
    reason: str
    metrics: tuple[str, ...] = ()
    """Figures that the row has and that would have counted."""


Outcome = Comparison | Missing
