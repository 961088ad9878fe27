"""Why nothing can be bought: a smallest set of limits that cannot hold together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def minimal_conflict(
    groups: Sequence[str], feasible: Callable[[tuple[str, ...]], bool]
) -> tuple[str, ...]:
    """Reduce an infeasible set of limits to a minimal one (deletion filter).

    Each group in turn is left out; if the rest is still infeasible it is not needed.
    What remains is infeasible, since each deletion was made only where it left an
    infeasible set, and minimal: a group was kept because the rest of a larger set was
    feasible without it, and a smaller set of limits is feasible all the more.
    """
    needed = tuple(groups)
    for group in groups:
        rest = tuple(other for other in needed if other != group)
        if not feasible(rest):
            needed = rest
    return needed
