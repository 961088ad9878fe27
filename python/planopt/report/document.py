"""Any document as text or as HTML: what `planopt` hands to documents it gives out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.documents.fleet import FleetPlan
from planopt.documents.plan import Plan, TrainingPlan
from planopt.documents.training import TrainingDocument
from planopt.report.fleet import render_fleet
from planopt.report.html import plan_table, training_plan_table
from planopt.report.terminal import render_plan
from planopt.report.training import render_training
from planopt.report.training_plan import render_training_plan

if TYPE_CHECKING:
    from planopt.documents.base import Document

__all__ = ["as_html", "as_text"]


def as_text(document: Document) -> str:
    """Lay a document out as the command line shows it."""
    if isinstance(document, Plan):
        return render_plan(document)
    if isinstance(document, TrainingPlan):
        return render_training_plan(document)
    if isinstance(document, TrainingDocument):
        return render_training(document)
    if isinstance(document, FleetPlan):
        return render_fleet(document)
    return repr(document)


def as_html(document: Document) -> str:
    """Show a document in a notebook."""
    if isinstance(document, Plan):
        return plan_table(document)
    if isinstance(document, TrainingPlan):
        return training_plan_table(document)
    return repr(document)
