"""A model that neighbours serve together: chains of machines in homes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.catalog.open import open_for
from planopt.documents.neighbours import NeighboursPlan
from planopt.homes import planned
from planopt.options import Asked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Unpack

    from planopt.option_types import NeighboursOptions

COMMAND = "solve --neighbours"


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
    asked = Asked.by_user(COMMAND, options)
    return planned(asked, "serve_neighbours", NeighboursPlan)


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
