"""Any document as text or as HTML: what `planopt` hands to documents it gives out."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from planopt.documents.fleet import FleetPlan
from planopt.documents.plan import Plan, TrainingPlan
from planopt.documents.training import TrainingDocument
from planopt.report.evaluation import render_evaluation
from planopt.report.fleet import render_fleet
from planopt.report.numbers import count, money
from planopt.report.parts import price, purchase, speed
from planopt.report.plan import laid_out, render_plan
from planopt.report.promised import promised_speed
from planopt.report.training import training_speed

if TYPE_CHECKING:
    from planopt.documents.base import Document


def as_text(document: Document) -> str:
    """Lay a document out as the command line shows it."""
    match document:
        case Plan() | TrainingPlan():
            return str(render_plan(document))
        case TrainingDocument():
            return str(render_evaluation(document))
        case FleetPlan():
            return str(render_fleet(document))
        case _:
            return repr(document)


def as_html(document: Document) -> str:
    """Show a document in a notebook."""
    if isinstance(document, Plan | TrainingPlan):
        return _table(document)
    return repr(document)


def _table(plan: Plan | TrainingPlan) -> str:
    """Write a plan as one HTML table: what is bought, below what it does."""
    if plan.status == "infeasible":
        binding = plan.infeasibility.binding if plan.infeasibility else ()
        conflict = " and ".join(f"{limit.name} {limit.value}" for limit in binding)
        return f"<p><b>No plan meets these limits</b>: {escape(conflict)}</p>"
    rows = "".join(
        f"<tr><td>{escape(line.name)}</td><td>{count(line.quantity)}</td>"
        f"<td>{money(line.unit_price_usd)}</td><td>{money(line.price_usd)}</td></tr>"
        for line in plan.bill_of_materials
    )
    return (
        f"<p><b>{escape(purchase(plan.bill_of_materials))}</b><br>"
        f"{'<br>'.join(map(escape, _told(plan)))}</p>"
        "<table><thead><tr><th>part</th><th>quantity</th><th>each</th><th>total</th>"
        f"</tr></thead><tbody>{rows}<tr><td>purchase</td><td></td><td></td>"
        f"<td>{price(plan)}</td></tr></tbody></table>"
    )


def _told(plan: Plan | TrainingPlan) -> list[str]:
    """Say what each deployment is, and how fast."""
    if plan.kind == "training":
        fast = [training_speed(each.evaluation) for each in plan.deployments]
    else:
        fast = [
            promised_speed(plan, each) or speed(each.evaluation, each.replicas)
            for each in plan.deployments
        ]
    return [f"{what}: {how}" for what, how in zip(laid_out(plan), fast, strict=True)]
