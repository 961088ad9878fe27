"""The question of what to buy for a training run, as the core has read it."""

from __future__ import annotations

from typing import Any, Literal

from planopt.market import Market

TrainingGoal = Literal["cheapest", "throughput"]


class TrainingProblem(Market, frozen=True, kw_only=True):
    """A question of what to buy for a training run."""

    model: str
    tokens: float
    seq_len: int
    global_batch: int
    objective: TrainingGoal
    max_accelerators: int
    kinds: dict[str, int]
    """Accelerators by id, where each is given with its number: all that there are."""

    @property
    def run(self) -> dict[str, Any]:
        """What is trained, and how: without hardware."""
        return {name: self.asked[name] for name in ("model", "recipe", "run")}

    @property
    def rented(self) -> bool:
        """Whether the run is on rented instances: its price is then that of the run."""
        return self.procurement == "rent"
