"""No plan: the conflict, and the nearest questions that have an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.numbers import money, money_per_hour, rate
from planopt.report.table import table, wrapped

if TYPE_CHECKING:
    from planopt.documents.explanations import Change, Infeasibility
    from planopt.documents.plan import PlanDocument
    from planopt.report.style import Style

__all__ = ["infeasible_lines"]


def infeasible_lines(plan: PlanDocument, style: Style) -> list[str]:
    """Show why nothing fits, and what is nearest."""
    head = style.bad("error[E201]: no plan meets these limits") + " (proven)"
    why = plan.infeasibility
    if why is None:
        return [head]
    command = "solve" if plan.request.tokens is None else "train"
    nearest = _nearest(why, command, style, hourly=plan.request.hourly)
    return [head, *_conflict(why, style), *nearest]


def _conflict(why: Infeasibility, style: Style) -> list[str]:
    lines: list[str] = []
    for place, limit in enumerate(why.binding):
        joint = style.head("  conflict  ") if place == 0 else "       and  "
        lines.append(f"{joint}{limit.name} {limit.value}")
        if limit.detail:
            lines += wrapped(limit.detail, indent=" " * 14)
    if why.note:
        lines += wrapped(f"= note: {why.note}", hanging=" " * 10)
    return lines


def _paid(change: Change, *, hourly: bool) -> str:
    """Say what a change costs: an hour of what is rented, else the purchase."""
    if hourly or (change.price_usd == 0 and change.usd_per_hour):
        return money_per_hour(change.usd_per_hour)
    return money(change.price_usd, rough=change.price_is_rough)


def _nearest(
    why: Infeasibility, command: str, style: Style, *, hourly: bool
) -> list[str]:
    if not why.nearest:
        return []
    trains = command == "train"
    rows = [
        (
            str(place),
            flags(change),
            _paid(change, hourly=hourly),
            rate(change.days if trains else change.tokens_per_second_per_user),
            change.summary + (f"; {change.note}" if change.note else ""),
        )
        for place, change in enumerate(why.nearest, start=1)
    ]
    header = (
        "",
        "Nearest changes, each solved and checked",
        "cost" if hourly else "price",
        "days" if trains else "tok/s/user",
        "result",
    )
    best = flags(why.nearest[0])
    return [
        "",
        *table(header, rows, "><>><", style=style),
        f"  = help: try `planopt {command} ... {best}`",
    ]


def flags(change: Change) -> str:
    """Write a change as the options to type."""
    return " ".join(
        f"--{name.lstrip('-').replace('_', '-')} {value}".rstrip()
        for name, value in change.options.items()
    )
