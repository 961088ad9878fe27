"""Reads any plan: its kind decides the type."""

from __future__ import annotations

import msgspec

from planopt.documents.homes import IslandsPlan, NeighboursPlan
from planopt.documents.plan import PlanDocument
from planopt.errors import InputError


def load_plan(path: str) -> PlanDocument:
    """Read a plan of serving or of training.

    Raises
    ------
    InputError
        There is no such file (E006), or it is no plan (E301).
    """
    from planopt.documents.plan import content_of

    return plan_of(content_of(path), path)


def homes_of(content: bytes, path: str) -> IslandsPlan | NeighboursPlan | None:
    """Read what machines in homes do, where that is what a file holds."""
    from planopt.documents.homes import IslandsPlan, NeighboursPlan

    kinds: dict[str, type[IslandsPlan | NeighboursPlan]] = {
        "planopt.islands/1": IslandsPlan,
        "planopt.neighbours/1": NeighboursPlan,
    }
    kind = kinds.get(_said(content, "schema"))
    if kind is None:
        return None  # It is read as a plan, and refused as such.
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.DecodeError as error:
        raise InputError.of(
            "E301",
            f"this is no answer about machines in homes: {error}",
            file=path,
            accepted="a file that `planopt solve --neighbours` or `planopt train "
            "--islands` has written with --out",
        ) from error


def plan_of(content: bytes, path: str) -> PlanDocument:
    """Read a plan from the content of a file."""
    from planopt.documents.fleet import FleetPlan
    from planopt.documents.plan import Plan, TrainingPlan

    kinds: dict[str, type[PlanDocument]] = {
        "training": TrainingPlan,
        "fleet": FleetPlan,
    }
    return kinds.get(_said(content, "kind"), Plan).from_json(content, file=path)


def _said(content: bytes, key: str) -> str:
    """Read what a document says of itself, if it says anything that can be read."""
    try:
        return str(msgspec.json.decode(content)[key])
    except (RecursionError, ValueError, LookupError, TypeError):
        return ""
