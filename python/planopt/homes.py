"""Questions of machines that stand in homes: asked, and told with what was assumed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec import field
from msgspec.structs import asdict, replace

from planopt.catalog.entries import Pricing
from planopt.catalog.open import open_for
from planopt.documents.parts import Asking, Assumed
from planopt.market import said_by_files

if TYPE_CHECKING:
    from planopt.documents.neighbours import HomesPlan
    from planopt.options import Asked

    PlanT = TypeVar("PlanT", bound=HomesPlan)


class HomesQuestion(Pricing, frozen=True, kw_only=True):
    """A question of machines in homes, as the core has read it."""

    asked: dict[str, object]
    """As the core takes it."""
    architecture: dict[str, object] | None = None
    """The model itself, where it is a file."""
    cost: dict[str, float] = field(default_factory=dict)
    """Figures of cost in place of those of the assumptions."""
    assumed: tuple[Assumed, ...]


def planned(asked: Asked, door: str, of: type[PlanT]) -> PlanT:
    """Ask a door of the core what options ask for."""
    opened = open_for(asked)
    read = asked.question(opened.native, HomesQuestion)
    pricing = Pricing.of(read)
    counted = opened.paid(pricing).with_cost(read.cost)
    plan = counted.ask(door, read.asked, of)
    asking = Asking(
        asked=read.asked,
        architecture=read.architecture,
        pricing=asdict(pricing),
        cost=read.cost,
        assumptions=opened.assumptions,
        catalog=opened.overlays,
    )
    assumed = (*read.assumed, *said_by_files(asked))
    return replace(plan, assumed=assumed, question=asking)
