"""Why something is not bought: limits that it breaks, or that cannot hold together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.price_sources import dollars
from planopt.units import MICRO_USD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from planopt.procurement.problem import Broken, Limits


def why_not(
    broken: Iterable[Broken], limits: Limits, *, rough: bool, hourly: bool = False
) -> Iterator[str]:
    """Say it of each limit, such as ``over budget by $800``; rough sums with ``~``."""
    for each in broken:
        yield _said(each, limits, rough=rough, hourly=hourly)


def _said(broken: Broken, limits: Limits, *, rough: bool, hourly: bool) -> str:
    group, by = broken.group, broken.amount
    if group == "budget":
        usd = float(by / MICRO_USD)
        if hourly:
            return f"over budget by ${usd:,.3g}/h"
        return f"over budget by {dollars(usd, rough=rough, whole=usd >= 1)}"
    if group == "purchase":
        usd = float(by / MICRO_USD)
        return f"over the purchase money by {dollars(usd, rough=rough, whole=True)}"
    if group == "power":
        return f"over the power limit by {float(by):,.6g} W"
    if group == "racks":
        return f"over the rack limit by {float(by):,.6g} U"
    if group == "accelerators":
        most = limits.accelerators or 0
        return f"needs {int(by) + most} accelerators where the limit is {most}"
    name = group.removeprefix("stock:")
    stock = limits.stock[name]
    return f"needs {int(by) + stock} {name} where the stock is {stock}"


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
