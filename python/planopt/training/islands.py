"""Runs over islands: which machines, in groups of how many, meeting how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.documents.islands import IslandsPlan
from planopt.homes import planned
from planopt.options import Asked

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from planopt.option_types import TrainIslandsOptions


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
    >>> plan.best.islands[0].islands
    16
    """
    return planned(
        Asked.by_user("train --islands", options), "train_islands", IslandsPlan
    )
