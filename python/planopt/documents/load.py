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
    from planopt.documents.plan import content_of

    return plan_of(content_of(path), path)


def plan_of(content: bytes, path: str) -> PlanDocument:
    """Read a plan from the content of a file."""
    from planopt.documents.fleet import FleetPlan
    from planopt.documents.plan import Plan, TrainingPlan

    kinds: dict[object, type[PlanDocument]] = {
        "training": TrainingPlan,
        "fleet": FleetPlan,
    }
    try:
        kind = msgspec.json.decode(content).get("kind")
    except (RecursionError, ValueError, AttributeError):
        kind = None  # What is wrong with it is told by whoever reads it as a plan.
    return kinds.get(kind, Plan).from_json(content, file=path)
