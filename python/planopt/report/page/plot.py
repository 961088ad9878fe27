"""A page of drawings alone: of a plan, of an evaluation, or of choices."""

from collections.abc import Sequence

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


_Drawn = dict[str, object]
"""What the page's script draws, by the names that it has there."""


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


def _of_units(front: Frontier) -> _Drawn:
    """Of each accelerator the units that no other one of it beats."""
    units: dict[str, list[Row]] = {}
    for row in front.to_dicts():
        units.setdefault(str(row["accelerator"]), []).append(row)
    choices = []
    for name, rows in units.items():
        best = SERVED.front(rows)
        every = -(-len(best) // _POINTS)
        points = [{"x": SERVED.x(row), "y": SERVED.y(row)} for row in best[::every]]
        choices.append({"name": name, "points": points})
    return {
        "title": "Speed against value",
        "note": "Further right is faster, further up is more for the money.",
        "across": "tok/s of each user",
        "upwards": "tok/s of all users for $1,000 of purchase",
        "choices": choices,
    }


def _of_plans(plans: Sequence[Plan | TrainingPlan]) -> _Drawn:
    """Of each accelerator its plan, where there is one."""
    choices = [
        {"name": each.request.accelerators[0], "points": [_judged(each)]}
        for each in plans
        if each.deployments
    ]
    if any(each.kind == "training" for each in plans):
        return {
            "title": "Price against days",
            "note": "The plan of each accelerator: further down is cheaper, further "
            "left is sooner.",
            "across": "days of the run",
            "upwards": "purchase, $",
            "choices": choices,
        }
    return {
        "title": "Speed against cost",
        "note": "The plan of each accelerator: further down is cheaper, further right "
        "is faster.",
        "across": "tok/s of each user, steady step",
        "upwards": "$ per million tokens",
        "choices": choices,
    }


def _judged(plan: Plan | TrainingPlan) -> _Drawn:
    if plan.kind == "training":
        return {"x": plan.deployments[0].evaluation.days, "y": plan.price_usd}
    speed = plan.deployments[0].evaluation.decode.tokens_per_second_per_user
    return {"x": speed, "y": plan.cost.usd_per_million_tokens}
