"""No plan: the conflict, and the nearest questions that have an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.numbers import money, money_per_hour, rate
from planopt.report.style import bad, head
from planopt.report.table import Section, Sentence, Table

if TYPE_CHECKING:
    from planopt.documents.explanations import Change, Infeasibility
    from planopt.documents.plan import PlanDocument
    from planopt.report.table import Block


def infeasible(plan: PlanDocument) -> list[Block]:
    """Show why nothing fits, and what is nearest."""
    why = plan.infeasibility
    looked = plan.search.candidates_covered > 0
    proven = " (proven)" if looked and (why is None or why.binding) else ""
    blocks: list[Block] = [bad("error[E201]: no plan meets these limits") + proven]
    if why is None:
        return blocks
    trains = plan.request.tokens is not None
    return [
        *blocks,
        *_conflict(why),
        *_nearest(why, trains=trains, hourly=plan.request.hourly),
    ]


def _conflict(why: Infeasibility) -> list[Block]:
    blocks: list[Block] = []
    for place, limit in enumerate(why.binding):
        joint = head("  conflict  ") if place == 0 else "       and  "
        blocks.append(f"{joint}{limit.name} {limit.value}")
        if limit.detail:
            blocks.append(Sentence(limit.detail, " " * 14))
    if why.note:
        blocks.append(Sentence(f"= note: {why.note}", hanging=" " * 10))
    return blocks


def _nearest(why: Infeasibility, *, trains: bool, hourly: bool) -> list[Block]:
    if not why.nearest:
        return []
    rows = [
        (
            str(place),
            _typed(change),
            _paid(change, hourly=hourly),
            rate(change.days if trains else change.tokens_per_second_per_user),
            change.summary + (f"; {change.note}" if change.note else ""),
        )
        for place, change in enumerate(why.nearest, start=1)
    ]
    titles = (
        ">",
        "Nearest changes, each solved and checked",
        ">cost" if hourly else ">price",
        ">days" if trains else ">tok/s/user",
        "result",
    )
    command = f"planopt {'train' if trains else 'solve'} ... {_typed(why.nearest[0])}"
    return [Section("", Table(titles, rows), f"  = help: try `{command}`")]


def _paid(change: Change, *, hourly: bool) -> str:
    """Say what a change costs: an hour of what is rented, else the purchase."""
    if hourly or (change.price_usd == 0 and change.usd_per_hour):
        return money_per_hour(change.usd_per_hour)
    return money(change.price_usd, rough=change.price_is_rough)


def _typed(change: Change) -> str:
    """Write a change as the options to type."""
    return " ".join(
        f"--{name.lstrip('-').replace('_', '-')} {value}".rstrip()
        for name, value in change.options.items()
    )
