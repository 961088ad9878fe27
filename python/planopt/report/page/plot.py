"""A page of drawings alone: of a plan, of an evaluation, or of choices."""

from collections.abc import Sequence

from msgspec import Struct

from planopt.documents.base import Drawn
from planopt.documents.plan import Plan, PlanDocument, TrainingPlan
from planopt.planning.compare import Comparison, Frontier
from planopt.report.front import SERVED, Row
from planopt.report.page.html import carried, document, embedded

_POINTS = 60
"""Points of one accelerator: more cannot be told apart."""
_BODY = """\
<script type="application/json" id="drawn">{drawn}</script>
<script type="application/json" id="derivation">{derivations}</script>"""


class _Point(Struct, frozen=True):
    x: float | None
    y: float | None


class _Choice(Struct, frozen=True):
    """What there is of one accelerator, in the order of a line."""

    name: str
    points: list[_Point]


class _Choices(Struct, frozen=True, kw_only=True):
    """A plot: what it is called, how to read it, its axes."""

    title: str
    note: str
    across: str
    upwards: str
    choices: list[_Choice]


def plot(shown: Drawn) -> str:
    """Write a page of the drawings of what was found."""
    drawn: object = shown
    match shown:
        case PlanDocument():
            drawn = carried(shown)
        case Frontier():
            drawn = _of_units(shown)
        case Comparison():
            drawn = _of_plans(shown)
    derivations = embedded(getattr(shown, "derivation", ()))
    body = _BODY.format(drawn=embedded(drawn), derivations=derivations)
    return document("planopt", body)


def _of_units(front: Frontier) -> _Choices:
    """Of each accelerator the units that no other one of it beats."""
    units: dict[str, list[Row]] = {}
    for row in front.to_dicts():
        units.setdefault(str(row["accelerator"]), []).append(row)
    choices = []
    for name, rows in units.items():
        best = SERVED.front(rows)
        every = -(-len(best) // _POINTS)
        points = [_Point(SERVED.x(row), SERVED.y(row)) for row in best[::every]]
        choices.append(_Choice(name, points))
    return _Choices(
        title="Speed against value",
        note="Further right is faster, further up is more for the money.",
        across="tok/s of each user",
        upwards="tok/s of all users for $1,000 of purchase",
        choices=choices,
    )


def _of_plans(plans: Sequence[Plan | TrainingPlan]) -> _Choices:
    """Of each accelerator its plan, where there is one."""
    choices = [
        _Choice(each.request.accelerators[0], [_judged(each)])
        for each in plans
        if each.deployments
    ]
    if any(each.kind == "training" for each in plans):
        return _Choices(
            title="Price against days",
            note="The plan of each accelerator: further down is cheaper, further left "
            "is sooner.",
            across="days of the run",
            upwards="purchase, $",
            choices=choices,
        )
    return _Choices(
        title="Speed against cost",
        note="The plan of each accelerator: further down is cheaper, further right is "
        "faster.",
        across="tok/s of each user, steady step",
        upwards="$ per million tokens",
        choices=choices,
    )


def _judged(plan: Plan | TrainingPlan) -> _Point:
    if plan.kind == "training":
        return _Point(plan.deployments[0].evaluation.days, plan.price_usd)
    speed = plan.deployments[0].evaluation.decode.tokens_per_second_per_user
    return _Point(speed, plan.cost.usd_per_million_tokens)
