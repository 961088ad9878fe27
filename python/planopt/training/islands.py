"""Runs over islands: which machines, in groups of how many, meeting how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from planopt.catalog.entries import Pricing
from planopt.catalog.open import open_for
from planopt.documents.islands import IslandsPlan
from planopt.documents.parts import Assumed  # noqa: TC001 - a field of a struct
from planopt.market import said_by_files
from planopt.options import Asked

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from planopt.option_types import TrainIslandsOptions


class IslandsQuestion(Pricing, frozen=True, kw_only=True):
    """A run over islands, as the core has read it."""

    asked: dict[str, object]
    """As the core takes it."""
    assumed: tuple[Assumed, ...]


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
    ...     islands="16xrtx-4090", model="gpt-2-xl", tokens="30B", seq_len=1024
    ... )
    >>> plan.best.islands[0].islands
    16
    """
    return planned(Asked.by_user("train --islands", options))


def planned(asked: Asked) -> IslandsPlan:
    """Find the islands that options of `train --islands` ask for."""
    opened = open_for(asked)
    read = asked.question(opened.native, IslandsQuestion)
    opened = opened.paid(Pricing.of(read))
    plan = opened.ask("train_islands", read.asked, IslandsPlan)
    return replace(plan, assumed=(*read.assumed, *said_by_files(asked)))
