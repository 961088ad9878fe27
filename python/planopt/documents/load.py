"""Reads any plan: its kind decides the type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from planopt.documents.plan import PlanDocument


def load_plan(path: str) -> PlanDocument:
    """Read a plan of serving or of training.

    Raises
    ------
    InputError
        There is no such file (E006), or it is no plan (E301).
    """
    from pathlib import Path

    from planopt.documents.fleet import FleetPlan
    from planopt.documents.plan import Plan, TrainingPlan

    kinds: dict[object, type[PlanDocument]] = {
        "training": TrainingPlan,
        "fleet": FleetPlan,
    }
    try:
        content = msgspec.json.decode(Path(path).read_bytes())
        kind = content.get("kind")
    except (OSError, RecursionError, ValueError, AttributeError):
        kind = None  # What is wrong with it is told by whoever reads it as a plan.
    return kinds.get(kind, Plan).load(path)
