"""The question of what to buy for a training run, and the clusters it finds."""

from __future__ import annotations

import math
from typing import Any, Literal

from planopt.catalog.open import Catalog
from planopt.documents.training import Batches
from planopt.door import written
from planopt.market import Market
from planopt.procurement.problem import Found, Wanted

TrainingGoal = Literal["cheapest", "throughput"]


class TrainingProblem(Market, frozen=True, kw_only=True):
    """A question of what to buy for a training run."""

    model: str
    tokens: float
    seq_len: int
    global_batch: int
    objective: TrainingGoal
    max_accelerators: int
    batches: Batches | None
    """Batches of a range, the least first, where it is one."""
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


def find_clusters(
    catalog: Catalog,
    problem: TrainingProblem,
    seconds: float = math.inf,
    *,
    wanted: Wanted | None = None,
    price_cap_usd: float | None = None,
) -> Found:
    """Find the best cluster of each accelerator, host and network, in so much time."""
    asked = {
        **problem.asked,
        "search": {**problem.asked["search"], "slower": problem.slower},
        "hardware": {
            **problem.asked["hardware"],
            "exclude": (*problem.exclude, *problem.left_out),
        },
    }
    if price_cap_usd is not None:
        asked = {**asked, "limits": {**asked["limits"], "price_usd": price_cap_usd}}
    said = wanted and wanted.written()
    return Found(*catalog.native.search_training(written(asked), said, seconds))
