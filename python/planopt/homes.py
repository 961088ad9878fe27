"""Machines that stand in homes: chains that serve a model, islands that train one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from msgspec import field
from msgspec.structs import asdict, replace

from planopt.catalog.entries import Pricing
from planopt.catalog.open import open_for
from planopt.documents.homes import HomesPlan, IslandsPlan, NeighboursPlan
from planopt.documents.parts import Asking, Assumed
from planopt.market import said_by_files
from planopt.options import Asked

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from planopt.option_types import NeighboursOptions, TrainIslandsOptions

PlanT = TypeVar("PlanT", bound=HomesPlan)


class HomesQuestion(Pricing, frozen=True, kw_only=True):
    """A question of machines in homes, as the core has read it."""

    asked: dict[str, object]  # As the core takes it
    architecture: dict[str, object] | None = None
    """The model itself, where it is a file."""
    cost: dict[str, float] = field(default_factory=dict)
    """Figures of cost in place of those of the assumptions."""
    assumed: tuple[Assumed, ...]


def serve_neighbours(**options: Unpack[NeighboursOptions]) -> NeighboursPlan:
    """Find chains of other people's machines that serve a model over the Internet.

    Parameters
    ----------
    **options
        As of ``planopt solve --neighbours``, with underscores: text with units, or
        numbers in SI units. docs/reference/options.md has them all.

    Returns
    -------
    NeighboursPlan
        Of the chains that serve the most tokens at the target; without a target, of
        the chain that is fastest.

    Raises
    ------
    InputError
        With a diagnostic for each option that cannot be used.

    Examples
    --------
    >>> import planopt
    >>> plan = planopt.serve_neighbours(
    ...     neighbours="8xrtx-3090", model="llama-3.1-8b", target="10tok/s"
    ... )
    >>> plan.best.availability > 0.99
    True
    """
    asked = Asked.by_user("solve --neighbours", options)
    return _planned(asked, "serve_neighbours", NeighboursPlan)


def train_islands(**options: Unpack[TrainIslandsOptions]) -> IslandsPlan:
    """Find the islands that train a model over the Internet: cheapest by a deadline.

    Parameters
    ----------
    **options
        As of ``planopt train --islands``, with underscores: text with units, or numbers
        in SI units. docs/reference/options.md has them all.

    Returns
    -------
    IslandsPlan
        Without a deadline, of the islands that are done first.

    Raises
    ------
    InputError
        With a diagnostic for each option that cannot be used.

    Examples
    --------
    >>> import planopt
    >>> plan = planopt.train_islands(
    ...     islands="16xrtx-4090", model="llama-3.2-1b", tokens="20B"
    ... )
    >>> plan.best.islands[0].islands <= 16
    True
    """
    asked = Asked.by_user("train --islands", options)
    return _planned(asked, "train_islands", IslandsPlan)


def meant_by(options: Mapping[str, object]) -> dict[str, object] | None:
    """Return the options of neighbours that those of `solve` mean, if they do.

    They are named as such, or what is owned stands behind a network.
    """
    if "neighbours" in options:
        return dict(options)
    own = options.get("own")
    if not isinstance(own, (str, tuple, list)):
        return None
    named = ",".join([own] if isinstance(own, str) else map(str, own))
    opened = open_for(Asked("solve", {"catalog": options.get("catalog")}))
    networks = {network.id for network in opened.list("networks")}
    if not any(each.strip() in networks for each in named.split(",")):
        return None
    others = {name: value for name, value in options.items() if name != "own"}
    return {**others, "neighbours": named}


def _planned(asked: Asked, door: str, of: type[PlanT]) -> PlanT:
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
