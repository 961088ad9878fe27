"""A plan as tables: in Markdown, and as rows of section, item, property and value."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from planopt.documents.fleet import FleetPlan
from planopt.documents.plan import Plan, PlanDocument, TrainingPlan
from planopt.report.money import money, money_per_hour, money_per_million
from planopt.report.numbers import count, duration, percent, rate, watts
from planopt.report.parts import limits
from planopt.report.style import UNKNOWN


def _text(value: object) -> str:
    return UNKNOWN if value is None else str(value)


def _whole(usd: float | None) -> str:
    return money(usd, whole=True)


def _per_million(usd: float | None) -> str:
    return f"{money_per_million(usd)}/Mtok"


class Column(NamedTuple):
    """A figure of each row: what it is, in what unit, and how people read it."""

    title: str
    unit: str = ""
    told: Callable[..., str] = _text
    of: str = ""
    """Its field, where rows are what a plan has."""

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
    rows: Sequence[object]
    """Cells, or what has fields by the names that columns are of."""

    def cells(self) -> Iterator[list[tuple[str, Figure]]]:
        """Yield rows: of each cell the title of its column, and its figure."""
        for row in self.rows:
            fields = (getattr(row, column.of, None) for column in self.columns)
            cells = row if isinstance(row, tuple) else tuple(fields)
            yield [
                (column.title, cell)
                if isinstance(cell, Figure)
                else (column.title, Figure(cell, column.unit, column.told))
                for column, cell in zip(self.columns, cells, strict=True)
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
        Column("", of="name"),
        Column("kind", of="kind"),
        Column("quantity", "", count, "quantity"),
        Column("each", "USD", money, "unit_price_usd"),
        Column("total", "USD", _whole, "price_usd"),
        Column("rent", "USD/h", money_per_hour, "usd_per_hour"),
        Column("price from", of="source"),
    )
    rows: list[object] = [*plan.bill_of_materials]
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
        yield Section("Change one thing", _CHANGE, plan.infeasibility.nearest)
    if plan.scenarios is not None:
        yield Section("Scenarios", _SCENARIOS, plan.scenarios.regret)
    match plan:
        case Plan():
            yield Section("Alternatives", _BUILD, plan.alternatives)
        case TrainingPlan():
            yield Section("Alternatives", _CLUSTER, plan.alternatives)
        case FleetPlan():
            periods = [
                (f"period {each.period}", each.purchase_usd, each.rent_usd)
                for each in plan.periods
            ]
            columns = (_OF, _PURCHASE, Column("rent", "USD", _whole))
            yield Section("Periods", columns, periods)


_SUMMARY, _WHY_NOT = Column("", of="summary"), Column("why not", of="why_not")
_PURCHASE = Column("purchase", "USD", _whole, "price_usd")
_BUILD = (
    *(_SUMMARY, _PURCHASE, Column("TCO", "USD/h", money_per_hour, "usd_per_hour")),
    *(Column("power", "W", watts, "power_watts"), _WHY_NOT),
)
_CLUSTER = (
    *(_SUMMARY, _PURCHASE, Column("days", "d", rate, "days")),
    *(Column("MFU", "", percent, "mfu"), _WHY_NOT),
)
_CHANGE = (
    *(Column("", of="typed"), Column("price", "USD", _whole, "price_usd")),
    Column("with", of="summary"),
)
_SCENARIOS = (
    *(_SUMMARY, Column("best", "", percent, "p_best")),
    Column("holds", "", percent, "p_holds"),
    *(Column(f"cost P{at}", "USD", _whole, f"price_usd_p{at}") for at in (50, 80, 95)),
    Column("cost CVaR95", "USD", _whole, "cvar95_usd"),
    *(
        Column(f"regret P{at}", "USD", _whole, f"regret_usd_p{at}")
        for at in (50, 80, 95)
    ),
)


_MARKED = re.compile(r"([\\`*\[\]<>|])")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a text begins with that a spreadsheet would compute."""


def markdown(plan: PlanDocument, appendix: str = "") -> str:
    """Write a plan as tables between headings, and a text at its end."""
    model = getattr(plan.request, "model", None)
    title = f"# planopt: {_escaped(model or 'fleet')}\n"
    text = "\n".join([title, *map(_table, sections(plan)), *_remarks(plan)])
    return f"{text}\n```text\n{appendix}\n```\n" if appendix else text


def _table(of: Section) -> str:
    rule = ["---:" if column.is_number else "---" for column in of.columns]
    head = [column.title for column in of.columns]
    rows = [
        [_escaped(figure.told(figure.value)) for _, figure in cells]
        for cells in of.cells()
    ]
    lines = [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]
    return f"## {of.title}\n\n" + "\n".join(lines) + "\n"


def _remarks(plan: PlanDocument) -> Iterable[str]:
    """List limits in conflict, what was assumed, left out and is to be looked after."""
    why = plan.infeasibility
    said = {
        "Limits in conflict": [
            f"{each.name} {each.value}" for each in (why.binding if why else ())
        ],
        "Assumed": [f"{each.name}: {each.value}" for each in plan.assumed],
        "Space searched": limits(plan.search.space) if plan.search.space else [],
        "Not considered": [
            f"{each.count} {each.what}, {each.why} ({each.help})"
            for each in plan.not_considered
        ],
        "Warnings": [f"{each.code}: {each.message}" for each in plan.warnings],
    }
    for title, lines in said.items():
        if lines:
            yield f"## {title}\n"
            yield "\n".join(f"- {_escaped(line)}" for line in lines) + "\n"


def _escaped(text: str) -> str:
    """Let nothing in a text be markup."""
    return _MARKED.sub(r"\\\1", text)


def rows(plan: PlanDocument) -> str:
    """Write a plan as CSV: a line for each figure, exact, with its unit."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["section", "item", "property", "value", "unit"])
    for of in sections(plan):
        for (_, item), *cells in of.cells():
            for title, figure in cells:
                if figure.value not in (None, ""):
                    line = (of.title, item.value, title, figure.value, figure.unit)
                    writer.writerow(map(_harmless, line))
    return text.getvalue()


def _harmless(cell: object) -> object:
    """Let no spreadsheet take a text for a formula."""
    is_formula = isinstance(cell, str) and cell.startswith(_FORMULA)
    return f"'{cell}" if is_formula else cell
