"""Two stages: what to buy now, where the rest can be bought or rented later.

Demand is known to be what was asked for, and seen later: what is bought now carries at
least the first, and what is missing then is bought dearer or rented. Tried are the
cheapest purchases for the demand and for shares more of it; the core draws the worlds
(docs/reference/model.md, section 9).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from planopt._native import recourse as staged
from planopt.documents.explanations import Recourse, Stage
from planopt.documents.parts import BomLine
from planopt.documents.plan import Plan
from planopt.money import price_of_an_hourly_dollar
from planopt.options import Edit
from planopt.planning.question import ServingQuestion
from planopt.planning.risk import SEED, parts_of
from planopt.serving.build import Build
from planopt.units import HOURS_PER_YEAR

MORE = (1.1, 1.25, 1.5, 2.0)
"""Times the demand that was asked for, which is bought for now."""


class _Bought(NamedTuple):
    """A first stage: for how much demand, with what is bought."""

    demand: float
    users: int
    summary: str
    bill: tuple[BomLine, ...]

    @property
    def parts(self) -> frozenset[tuple[str, str, int]]:
        """What it consists of."""
        return frozenset((line.kind, line.id, line.quantity) for line in self.bill)


def with_recourse(
    plan: Plan,
    question: ServingQuestion,
    held: Callable[[ServingQuestion], Build | None],
) -> Plan:
    """Let a plan say whether to buy for more than is asked for, if that is asked."""
    way = question.problem.recourse
    if way is None:
        return plan
    rent = _rent(plan, question) if way == "rent" else None
    if way == "rent" and rent is None:
        return plan
    bought = [*_bought(plan, question, held)]
    bills = [[one for one in each.bill if one.price_usd] for each in bought]
    parts, lines = parts_of(bills)
    users = plan.request.concurrency if not plan.request.requests_per_second else None
    # A plan is laid out for the demand that it is asked for: what carries more of it on
    # the same parts is found by asking for that.
    most: dict[object, float] = {}
    for each in bought:
        room = max(each.demand, each.users / users if users else 0.0)
        most[each.parts] = max(room, most.get(each.parts, 0.0))
    asked = {
        "of": {
            "scenarios": question.problem.scenarios,
            "seed": SEED,
            "demand_varies": True,
            "parts": parts,
            "kinds": [],
            "plans": [
                {"lines": own, "runs": [], "most": most[each.parts]}
                for each, own in zip(bought, lines, strict=True)
            ],
        },
        "rent_usd": rent,
    }
    found = msgspec.json.decode(staged(msgspec.json.encode(asked)))
    stages = tuple(
        Stage(
            demand=each.demand,
            summary=each.summary,
            price_usd=sum(line.price_usd or 0.0 for line in each.bill),
            **told,
        )
        for each, told in zip(bought, found, strict=True)
    )
    best = min(stages, key=lambda stage: stage.expected_usd)
    told = Recourse(way=way, rent_usd=rent, best=best.demand, stages=stages)
    return replace(plan, recourse=told)


def _bought(
    plan: Plan,
    question: ServingQuestion,
    held: Callable[[ServingQuestion], Build | None],
) -> Iterator[_Bought]:
    users = plan.totals.concurrency or 0
    bill = tuple(line for line in plan.bill_of_materials if not line.owned)
    yield _Bought(1.0, users, "the plan", bill)
    problem = question.problem
    for times in MORE:
        more: dict[str, object] = {}
        if problem.requests_per_second:
            more["request_rate"] = times * problem.requests_per_second
        elif problem.throughput:
            more["throughput"] = times * problem.throughput
        else:
            more["concurrency"] = math.ceil(times * problem.concurrency)
        if not question.may_ask_again:
            return
        found = held(question.edited(Edit(more)))
        if found is not None:
            bill = tuple(line for line in found.bill_of_materials if not line.owned)
            yield _Bought(times, found.users, found.summary, bill)


def _rent(plan: Plan, question: ServingQuestion) -> float | None:
    """Return what renting all that is asked for costs more than running it, in all."""
    rented = question.about(procurement="rent").best()
    if rented is None or plan.tco_usd_per_hour is None:
        return None
    cost = question.catalog.cost
    written_off = (plan.price_usd or 0.0) / (
        price_of_an_hourly_dollar(cost) or math.inf
    )
    running = plan.tco_usd_per_hour - written_off
    return max(0.0, rented.usd_per_hour - running) * HOURS_PER_YEAR * cost.years
