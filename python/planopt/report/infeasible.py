"""No plan: the conflict, and the nearest questions that have an answer."""

from collections.abc import Sequence

from planopt.documents.explanations import Change, Infeasibility
from planopt.documents.plan import PlanDocument
from planopt.report.money import money, money_per_hour
from planopt.report.numbers import rate
from planopt.report.table import Block, Sentence, Table, listed

_MARGIN = " " * 12


def conflict(plan: PlanDocument) -> list[Block]:
    """Say which limits cannot be met together."""
    why = plan.infeasibility or Infeasibility()
    blocks: list[Block] = []
    for place, limit in enumerate(why.binding):
        joint = "       and  " if place else "  conflict  "
        text = f"{limit.name} {limit.value}"
        blocks.append(Sentence(text, joint, _MARGIN))
        if limit.detail:
            blocks.append(Sentence(limit.detail, _MARGIN + "  "))
    if why.note:
        blocks.append(Sentence(f"= note: {why.note}", hanging=" " * 10))
    return blocks


def nearest(plan: PlanDocument, *, wraps: bool = False) -> Table:
    """List the nearest changes, each solved and checked."""
    trains, hourly = plan.request.tokens is not None, plan.request.hourly
    rows = [
        (
            str(place),
            change.typed,
            _paid(change, hourly=hourly),
            rate(change.days if trains else change.tokens_per_second_per_user),
            change.summary + (f"; {change.note}" if wraps and change.note else ""),
        )
        for place, change in enumerate(_changes(plan), start=1)
    ]
    figures = ">COST" if hourly else ">PRICE", ">DAYS" if trains else ">TOK/S/USER"
    titles = (">", "=CHANGE ONE THING", *figures, "WITH")
    return Table(titles, rows, wraps=wraps)


def help_of(plan: PlanDocument) -> list[Block]:
    """Say what the changes keep and give up, and what to type."""
    changes = _changes(plan)
    noted: dict[str, list[str]] = {}
    for place, each in enumerate(changes, start=1):
        if each.note:
            noted.setdefault(each.note, []).append(str(place))
    verb = "solve" if plan.request.tokens is None else "train"
    said = [f"{', '.join(places)}: {note}" for note, places in noted.items()]
    said += [
        f"= help: each was solved and checked; try `planopt {verb} ... {each.typed}`"
        for each in changes[:1]
    ]
    return listed(said)


def _changes(plan: PlanDocument) -> Sequence[Change]:
    return () if plan.infeasibility is None else plan.infeasibility.nearest


def _paid(change: Change, *, hourly: bool) -> str:
    """Say what a change costs: an hour of what is rented, else the purchase."""
    if hourly or (change.price_usd == 0 and change.usd_per_hour):
        return money_per_hour(change.usd_per_hour)
    return money(change.price_usd, rough=change.price_is_rough)
