"""Reads any plan: what it says of itself decides the type."""

import msgspec

from planopt.documents.fleet import FleetPlan
from planopt.documents.homes import HomesPlan, IslandsPlan, NeighboursPlan
from planopt.documents.plan import Plan, PlanDocument, TrainingPlan, content_of

_KINDS: dict[str, type[PlanDocument]] = {"training": TrainingPlan, "fleet": FleetPlan}
_HOMES: dict[str, type[IslandsPlan | NeighboursPlan]] = {
    "planopt.islands/1": IslandsPlan,
    "planopt.neighbours/1": NeighboursPlan,
}


def load_plan(path: str) -> PlanDocument:
    """Read a plan; E006 where there is no such file, and E301 where it is none."""
    content = content_of(path)
    return _KINDS.get(_said(content, "kind"), Plan).from_json(content, file=path)


def any_of(content: bytes, path: str) -> PlanDocument | HomesPlan:
    """Read a plan, or what machines in homes do, from the content of a file."""
    kind: type[PlanDocument | IslandsPlan | NeighboursPlan]
    kind = _KINDS.get(_said(content, "kind"), Plan)
    return _HOMES.get(_said(content, "schema"), kind).from_json(content, file=path)


def _said(content: bytes, key: str) -> str:
    """Read what a document says of itself, if it says anything that can be read."""
    try:
        return str(msgspec.json.decode(content)[key])
    except (RecursionError, ValueError, LookupError, TypeError):
        return ""
