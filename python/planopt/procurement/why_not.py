"""Which limits a build breaks, and by how much, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.units import MICRO_USD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from planopt.procurement.problem import Broken, Limits


def why_not(
    broken: Iterable[Broken], limits: Limits, *, hourly: bool = False
) -> Iterator[str]:
    """Say it of each limit, such as ``over budget by $800``."""
    for each in broken:
        yield _said(each, limits, hourly=hourly)


def _said(broken: Broken, limits: Limits, *, hourly: bool) -> str:
    group, by = broken.group, broken.amount
    if group == "budget":
        dollars = float(by / MICRO_USD)
        if hourly:
            return f"over budget by ${dollars:,.3g}/h"
        return f"over budget by ${dollars:,.{0 if dollars >= 1 else 2}f}"
    if group == "purchase":
        return f"over the purchase money by ${float(by / MICRO_USD):,.0f}"
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
