"""The Pareto front of a space of candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planopt.catalog import DEFAULT_ASSUMPTIONS, open_catalog
from planopt.spaces import read_space

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Front", "front"]


@dataclass(frozen=True)
class Front:
    """Candidates that no other one beats, and what was looked at to find them.

    Parameters
    ----------
    rows : list of dict
        Candidates, the cheapest first: place, what it is, and all figures.
    covered, evaluated, rejected, pruned : int
        Candidates of the space; of them those whose every figure was computed, those
        that do not work, and those that a bound showed not to matter.
    seconds : float
        Wall time.
    """

    rows: list[dict[str, Any]]
    covered: int
    evaluated: int
    rejected: int
    pruned: int
    seconds: float


def front(
    space: str,
    *,
    exhaustive: bool = False,
    assumptions: str = DEFAULT_ASSUMPTIONS,
    catalog: Sequence[str] = (),
) -> Front:
    """Find the front of a space: price and days of a run, or cost and time of a token.

    Parameters
    ----------
    space : str
        Name of a space, or its file.
    exhaustive : bool
        Evaluate every candidate; the front is the same.
    assumptions, catalog
        Assumptions by name or file, and overlay folders.

    Raises
    ------
    InputError
        For what is unknown.
    """
    request = read_space(space).request
    native = open_catalog(catalog, assumptions).native
    found = native.front(request, {"exhaustive": exhaustive})
    return Front(**{name: found[name] for name in Front.__dataclass_fields__})
