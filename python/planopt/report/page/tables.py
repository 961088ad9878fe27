"""What Markdown and rows say of a plan: the answer, its promises, bill and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from planopt.documents.fleet import FleetPlan
from planopt.documents.plan import Plan, TrainingPlan
from planopt.report.numbers import (
    UNKNOWN,
    count,
    duration,
    money,
    money_per_hour,
    money_per_million,
    percent,
    rate,
    watts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from planopt.documents.explanations import (
        Alternative,
        RiskOfPlan,
        TrainingAlternative,
    )
    from planopt.documents.plan import PlanDocument


def _text(value: object) -> str:
    return UNKNOWN if value is None else str(value)


def _whole(usd: float | None) -> str:
    return money(usd, whole=True)


def _per_million(usd: float | None) -> str:
    return f"{money_per_million(usd)}/Mtok"


class Column(NamedTuple):
    """A figure of each row: how people read it, and in what unit it is."""

    title: str
    unit: str = ""
    told: Callable[..., str] = _text

    @property
    def is_number(self) -> bool:
        """Whether its cells stand at the right."""
        return self.told is not _text


class Figure(NamedTuple):
    """A cell that is told otherwise than the others of its column."""

    value: object
    unit: str = ""
    told: Callable[..., str] = _text


class Section(NamedTuple):
    """A table: rows begin with what they are of."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[object]]

    def cells(self) -> Iterator[list[tuple[str, Figure]]]:
        """Yield rows: of each cell the title of its column, and its figure."""
        for row in self.rows:
            yield [
                (
                    column.title,
                    cell
                    if isinstance(cell, Figure)
                    else Figure(cell, column.unit, column.told),
                )
                for column, cell in zip(self.columns, row, strict=True)
            ]


def sections(plan: PlanDocument) -> list[Section]:
    """Lay a plan out as tables; one without rows is left out."""
    every = [_answer(plan), _promises(plan), _bill(plan), _costs(plan), *_others(plan)]
    return [each for each in every if each.rows]


_OF = Column("")


def _answer(plan: PlanDocument) -> Section:
    """Say what a plan comes to."""
    total = plan.total_usd if isinstance(plan, FleetPlan) else None
    rows = [
        ("status", Figure(plan.status)),
        ("proven gap", Figure(plan.gap, "", percent)),
        ("purchase", Figure(plan.price_usd, "USD", _whole)),
        ("purchase at 95 %", Figure(plan.price_usd_at_confidence_95, "USD", _whole)),
        ("all periods", Figure(total, "USD", _whole)),
        ("TCO", Figure(plan.tco_usd_per_hour, "USD/h", money_per_hour)),
        ("tokens", Figure(plan.usd_per_million_tokens, "USD/Mtok", _per_million)),
        ("power", Figure(plan.power_watts, "W", watts)),
        ("all promises hold", Figure(plan.probability, "", percent)),
        ("evidence", Figure(plan.evidence and plan.evidence.grade)),
        ("oldest price", Figure(plan.oldest_price_date)),
        ("asked", Figure(plan.provenance and plan.provenance.command)),
    ]
    known = [row for row in rows if row[1].value is not None]
    return Section("Answer", (_OF, Column("value")), known)


_TOLD: dict[str, Callable[..., str]] = {
    "s": duration,
    "tok/s": lambda speed: f"{rate(speed)} tok/s",
    "1/s": lambda requests: f"{rate(requests)} requests/s",
}


def _promises(plan: PlanDocument) -> Section:
    names = ("asked", "predicted", "low, 80 %", "high, 80 %")
    columns = (_OF, Column("at"), *map(Column, names), Column("held"))
    rows = [
        (
            *(each.name, each.percentile or ""),
            *(
                Figure(value, each.unit, _TOLD.get(each.unit, rate))
                for value in (each.asked, each.predicted, each.low, each.high)
            ),
            "yes" if each.held else "no",
        )
        for each in plan.promises
    ]
    return Section("Promises", columns, rows)


def _bill(plan: PlanDocument) -> Section:
    columns = (
        _OF,
        Column("kind"),
        Column("quantity", "", count),
        Column("each", "USD", money),
        Column("total", "USD", _whole),
        Column("rent", "USD/h", money_per_hour),
        Column("price from"),
    )
    rows: list[tuple[object, ...]] = [
        (
            *(line.name, line.kind, line.quantity, line.unit_price_usd),
            *(line.price_usd, line.usd_per_hour, line.source),
        )
        for line in plan.bill_of_materials
    ]
    if rows:
        rows.append(("purchase", "sum", None, None, plan.price_usd, None, None))
    return Section("What to buy", columns, rows)


def _costs(plan: PlanDocument) -> Section:
    parts = plan.cost.parts
    rows = [(each.name.replace("_", " "), each.usd_per_hour) for each in parts]
    rows += [("all", plan.cost.usd_per_hour or 0.0)] if rows else []
    columns = (_OF, Column("cost", "USD/h", money_per_hour))
    return Section("What it costs to run", columns, rows)


def _others(plan: PlanDocument) -> Iterator[Section]:
    """Yield what else there was, of a plan of either kind, or of none."""
    if plan.infeasibility is not None:
        yield _changes(plan)
    if plan.scenarios is not None:
        yield Section("Scenarios", _SCENARIOS, [*map(_risk, plan.scenarios.regret)])
    match plan:
        case Plan():
            yield Section("Alternatives", _BUILD, [*map(_build, plan.alternatives)])
        case TrainingPlan():
            clusters = [*map(_cluster, plan.alternatives)]
            yield Section("Alternatives", _CLUSTER, clusters)
        case FleetPlan():
            periods = [
                (f"period {each.period}", each.purchase_usd, each.rent_usd)
                for each in plan.periods
            ]
            columns = (_OF, _PURCHASE, Column("rent", "USD", _whole))
            yield Section("Periods", columns, periods)


_PURCHASE, _WHY_NOT = Column("purchase", "USD", _whole), Column("why not")
_BUILD = (
    *(_OF, _PURCHASE, Column("TCO", "USD/h", money_per_hour)),
    *(Column("power", "W", watts), _WHY_NOT),
)
_CLUSTER = (
    *(_OF, _PURCHASE, Column("days", "d", rate), Column("MFU", "", percent)),
    _WHY_NOT,
)


_SCENARIOS = (
    *(_OF, Column("best", "", percent), Column("holds", "", percent)),
    *(Column(f"cost {at}", "USD", _whole) for at in ("P50", "P80", "P95", "CVaR95")),
    *(Column(f"regret {at}", "USD", _whole) for at in ("P50", "P80", "P95")),
)


def _risk(each: RiskOfPlan) -> tuple[object, ...]:
    costs = each.price_usd_p50, each.price_usd_p80, each.price_usd_p95
    regrets = each.regret_usd_p50, each.regret_usd_p80, each.regret_usd_p95
    return each.summary, each.p_best, each.p_holds, *costs, each.cvar95_usd, *regrets


def _build(each: Alternative) -> tuple[object, ...]:
    paid = each.price_usd, each.usd_per_hour
    return each.summary, *paid, each.power_watts, each.why_not


def _cluster(each: TrainingAlternative) -> tuple[object, ...]:
    return each.summary, each.price_usd, each.days, each.mfu, each.why_not


def _changes(plan: PlanDocument) -> Section:
    why = plan.infeasibility
    assert why is not None
    columns = (_OF, Column("price", "USD", _whole), Column("with"))
    rows = [(each.typed, each.price_usd, each.summary) for each in why.nearest]
    return Section("Change one thing", columns, rows)
