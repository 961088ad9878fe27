"""Clusters that train a model, found and kept by the compiled core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.door import written
from planopt.procurement.found import Found

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog
    from planopt.training.problem import TrainingProblem


def find_clusters(
    catalog: Catalog, problem: TrainingProblem, *, price_cap_usd: float | None = None
) -> Found:
    """Find the best cluster of each accelerator, host and network."""
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
    return Found(catalog.native.search_training(written(asked)))
