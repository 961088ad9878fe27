"""Why nothing can be bought: a smallest set of limits that cannot hold together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["minimal_conflict"]


def minimal_conflict(
    groups: Sequence[str], feasible: Callable[[tuple[str, ...]], bool]
) -> tuple[str, ...]:
    """Reduce an infeasible set of limits to a minimal one (deletion filter).

    Each group in turn is left out; if the rest is still infeasible it is not needed.
    What remains is infeasible, since each deletion was made only where it left an
    infeasible set, and minimal: a group was kept because the rest of a larger set was
    feasible without it, and a smaller set of limits is feasible all the more.

    Parameters
    ----------
    groups : sequence of str
        Names of limits, proven infeasible together: that is not asked again. Those
        that come first are tried first, so put last what is most useful to hear of.
    feasible : callable
        Whether the limits named can hold together, all others left out. Where that is
        not known it has to say yes; the result is then sound, if not minimal.

    Returns
    -------
    tuple of str
        A conflict, in the order of `groups`: dropping any one of them resolves it.
        Empty if nothing is possible even without limits.
    """
    needed = tuple(groups)
    for group in groups:
        rest = tuple(other for other in needed if other != group)
        if not feasible(rest):
            needed = rest
    return needed
