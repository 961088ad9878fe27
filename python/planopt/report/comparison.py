"""The same question for several accelerators, one column each: serving or training."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Generic, TypeVar

from planopt.documents.plan import Plan, TrainingPlan
from planopt.price_sources import apart, is_rough
from planopt.report.first import assumptions
from planopt.report.money import money, money_per_hour, money_per_million
from planopt.report.numbers import count, days, percent, rate, watts
from planopt.report.parts import warnings
from planopt.report.screen import Ends, Parts, flagged
from planopt.report.style import UNKNOWN, bad, faint, good
from planopt.report.table import Block, Report, Section, Table, listed, width

_BEST, _NOT_BEST = " ◂", "  "
Planned = TypeVar("Planned", bound="Plan | TrainingPlan")


@dataclass(frozen=True)
class _Figure(Generic[Planned]):
    """A row: what it is called, how it is told, which is the best, and what that is."""

    title: str
    of: Callable[[Planned], float | None]
    told: Callable[[float | None], str] | None
    best: Callable[[Iterable[float]], float] | None = None
    wins: str = ""

    def cell(self, plan: Planned, best: float | None) -> str:
        """Tell it of a plan; none tells a sum of prices, as well as they are known."""
        value = self.of(plan)
        rough = is_rough(plan.bill_of_materials)
        told = self.told or partial(money, rough=rough, whole=True)
        return told(value) + (
            _BEST if value is not None and value == best else _NOT_BEST
        )

    def best_of(self, plans: Sequence[Planned]) -> float | None:
        """Return the best there is of several."""
        known = [value for plan in plans if (value := self.of(plan)) is not None]
        return self.best(known) if self.best and len(set(known)) > 1 else None


def render_comparison(
    plans: Sequence[Plan | TrainingPlan], *, details: bool = False
) -> Report:
    """Lay plans of one kind side by side."""
    runs = [plan for plan in plans if plan.kind == "training"]
    if runs:
        return _side_by_side(runs, _TRAINING, {"Layout": _degrees}, details=details)
    served = [plan for plan in plans if plan.kind == "serving"]
    hourly = any(plan.request.hourly for plan in served)
    figures = (_TCO, _PRICE, *_BOTH) if hourly else (_PRICE, _TCO, *_BOTH)
    figures += _SOLD if any(plan.sell for plan in served) else ()
    texts = {"Layout": _layout} | ({"From": _provider} if hourly else {})
    return _side_by_side(served, figures, texts, details=details)


def _side_by_side(
    plans: Sequence[Planned],
    figures: Sequence[_Figure[Planned]],
    texts: Mapping[str, Callable[[Planned], str]],
    *,
    details: bool,
) -> Report:
    """Lay a column for each; those that have no room are counted, or stand below."""
    there = [plan for plan in plans if plan.deployments]
    there.sort(key=lambda plan: figures[0].of(plan) or 0.0)
    titles = ["", *(each.title for each in figures), *texts]
    best = [figure.best_of(there) for figure in figures]
    columns = [
        [
            _name(plan) + _NOT_BEST,
            *(each.cell(plan, of) for each, of in zip(figures, best, strict=True)),
            *(text(plan) + _NOT_BEST for text in texts.values()),
        ]
        for plan in there
    ]
    shown, rest = _fitting(titles, columns)
    tables: list[Block] = [_table(titles, shown)]
    while details and rest:
        more, rest = _fitting(titles, rest)
        tables += ["", _table(titles, more)]
    notes = ["◂ best of the row"] if len(there) > 1 else []
    notes += [f"{count(len(rest))} more: --details"] if rest else []
    without = [_name(plan) for plan in plans if not plan.deployments]
    notes += [f"no plan: {', '.join(without)}"] if without and there else []
    every = list(dict.fromkeys(each for plan in plans for each in plan.warnings))
    left_out = dict.fromkeys(each for plan in plans for each in plan.not_considered)
    conflicts = Section("No plan", *listed(filter(None, map(_conflict, plans))))
    return Report(
        *_verdict(there, figures),
        *(["", *tables, ""] if there else [conflicts, ""]),
        Parts("", notes),
        *assumptions(plans[0].assumed, every, left_out),
        Ends("", faint("--details · --json")),
        *([conflicts] if details and there else []),
        *([warnings(every)] if details else []),
    )


def _fitting(
    titles: Sequence[str], columns: list[list[str]]
) -> tuple[list[list[str]], list[list[str]]]:
    """Part columns into those that the terminal has room for, and the rest."""
    room = width() - max(map(len, titles))
    for place, column in enumerate(columns):
        room -= max(map(len, column)) + 2
        if room < 0 and place:
            return columns[:place], columns[place:]
    return columns, []


def _table(titles: Sequence[str], columns: Sequence[Sequence[str]]) -> Table:
    head, *rows = zip(titles, *columns, strict=True)
    return Table(("", *(f">{name}" for name in head[1:])), rows, wraps=False)


def _name(plan: Plan | TrainingPlan) -> str:
    """Name a column: what was bought, else what was asked for."""
    if not plan.deployments:
        return ",".join(plan.request.accelerators) or UNKNOWN
    return f"{count(_number(plan))} × {plan.deployments[0].candidate.accelerator}"


def _number(plan: Plan | TrainingPlan) -> int:
    if plan.kind == "training":
        return plan.deployments[0].evaluation.accelerators or 0
    return sum(each.candidate.accelerators * each.replicas for each in plan.deployments)


def _degrees(plan: TrainingPlan) -> str:
    candidate = plan.deployments[0].candidate
    return f"TP{candidate.tp} PP{candidate.pp} DP{candidate.dp}"


def _layout(plan: Plan) -> str:
    first = plan.deployments[0]
    return first.candidate.layout.replace(" x ", " ") + (
        f" ×{first.replicas}" if first.replicas > 1 else ""
    )


def _provider(plan: Plan) -> str:
    """Say who rents it out, or that it is bought."""
    hosts = {each.hardware.host or "" for each in plan.deployments}
    names = {host.partition("/")[0] if "/" in host else "bought" for host in hosts}
    return ", ".join(sorted(names))


def _conflict(plan: Plan | TrainingPlan) -> str | None:
    why = plan.infeasibility
    if why is None:
        return None
    limits = " and ".join(
        f"{limit.name} {limit.value}" + (f" ({limit.detail})" if limit.detail else "")
        for limit in why.binding
    )
    return f"{_name(plan)}: {why.note or '' if plan.kind == 'training' else limits}"


def _verdict(
    plans: Sequence[Planned], figures: Sequence[_Figure[Planned]]
) -> list[Block]:
    """Say which is cheapest and by how much, and which is the best otherwise."""
    if not plans:
        said = "✘ infeasible: none of them meets these limits"
        return [Ends(said, mark=flagged("✘", bad))]
    paid, *others = figures
    first, *dearer = plans
    less = ""
    if dearer:
        rough = any(is_rough(each.bill_of_materials) for each in plans[:2])
        least, next_ = (paid.of(each) or 0.0 for each in plans[:2])
        by = paid.told(next_ - least) if paid.told else apart(least, next_, rough=rough)
        less = f" by {by}"
    besides = [
        f"{each.wins}: {_name(plan)}"
        for each in others
        if each.wins and (best := each.best_of(plans)) is not None
        for plan in plans
        if each.of(plan) == best
    ]
    said = f"✔ cheapest: {_name(first)}{less}"
    model = first.request.model or ""
    return [Ends(said, model, flagged("✔", good)), Parts("", besides)]


def _does(figure: str) -> Callable[[Plan | TrainingPlan], float | None]:
    """Return what reads a figure of the evaluation of a plan."""
    of = attrgetter(figure)
    return lambda plan: of(plan.deployments[0].evaluation)


# --- Serving --------------------------------------------------------------------------


def _tokens(plan: Plan) -> float | None:
    speeds = (
        (each.evaluation.decode.tokens_per_second or 0.0) * each.replicas
        for each in plan.deployments
    )
    return sum(speeds) or None


def _over(one: float | None, other: float | None) -> float | None:
    return one / other if one and other else None


_PRICE: _Figure[Plan] = _Figure("Price", lambda plan: plan.price_usd, None, min)
_TCO: _Figure[Plan] = _Figure(
    "TCO per hour", lambda plan: plan.cost.usd_per_hour, money_per_hour, min
)
_BOTH: tuple[_Figure[Plan], ...] = (
    _Figure(
        "$ per million tokens",
        lambda plan: plan.cost.usd_per_million_tokens,
        money_per_million,
        min,
        "lowest $/Mtok",
    ),
    _Figure(
        "tok/s per user",
        _does("decode.tokens_per_second_per_user"),
        rate,
        max,
        "fastest",
    ),
    _Figure("tok/s in total", _tokens, rate, max),
    _Figure(
        "tok/s per $1,000",
        lambda plan: _over(1000 * (_tokens(plan) or 0.0), plan.price_usd),
        rate,
        max,
    ),
    _Figure("Power at full load", lambda plan: plan.power_watts, watts, min),
    _Figure(
        "Energy per token",
        lambda plan: _over(plan.power_watts, _tokens(plan)),
        lambda joules: UNKNOWN if joules is None else f"{rate(joules)} J",
        min,
    ),
)


def _of_sales(figure: str) -> Callable[[Plan], float | None]:
    return lambda plan: getattr(plan.sell, figure, None)


_SOLD: tuple[_Figure[Plan], ...] = (
    _Figure("Margin", _of_sales("margin_usd_per_hour"), money_per_hour, max),
    _Figure("Busy to break even", _of_sales("break_even_utilisation"), percent, min),
    _Figure("Days to payback", _of_sales("payback_days"), count, min),
)


# --- Training -------------------------------------------------------------------------


_TRAINING: tuple[_Figure[TrainingPlan], ...] = (
    _Figure("Price", lambda plan: plan.price_usd, None, min),
    _Figure("The run", _does("run.usd"), None, min, "cheapest run"),
    _Figure("Days", _does("days"), days, min, "fastest"),
    _Figure("tok/s", _does("tokens_per_second"), rate, max),
    _Figure("MFU", _does("mfu"), percent, max),
    _Figure("Goodput", _does("goodput"), percent, max),
    _Figure("Accelerator-hours", _does("run.accelerator_hours"), count, min),
    _Figure("Power at full load", _does("power_watts"), watts, min),
    _Figure("Energy, kWh", _does("run.energy_kwh"), count, min),
    _Figure("kg CO2e", _does("run.kg_co2e"), count, min),
)
