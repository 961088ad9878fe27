"""Any document as text or as HTML: what `planopt` hands to documents it gives out."""

from html import escape

from planopt.documents.base import Drawn
from planopt.documents.evaluation import EvaluationDocument
from planopt.documents.fleet import FleetPlan
from planopt.documents.homes import IslandsPlan, NeighboursPlan
from planopt.documents.plan import Plan, PlanDocument, TrainingPlan
from planopt.documents.training import TrainingDocument
from planopt.planning.compare import Comparison, Frontier
from planopt.report.comparison import render_comparison
from planopt.report.evaluation import render_evaluation
from planopt.report.fleet import render_fleet
from planopt.report.homes import render_homes
from planopt.report.plan import render_plan
from planopt.report.spaces import render_frontier


def as_text(document: object) -> str:
    """Lay a document out as the command line shows it."""
    match document:
        case Plan() | TrainingPlan():
            return str(render_plan(document))
        case EvaluationDocument() | TrainingDocument():
            return str(render_evaluation(document))
        case Frontier():
            return str(render_frontier(document.to_dicts()))
        case Comparison():
            return str(render_comparison(document))
        case FleetPlan():
            return str(render_fleet(document))
        case IslandsPlan() | NeighboursPlan():
            return str(render_homes(document))
        case _:
            return repr(document)


def as_html(document: object) -> str:
    """Show a document in a notebook: as its page or its drawings, and as text."""
    text = f"<pre>{escape(as_text(document))}</pre>"
    if isinstance(document, PlanDocument | IslandsPlan | NeighboursPlan):
        from planopt.report.page.html import frame, page

        shown = frame(page(document))
        return f"{shown}<details><summary>as text</summary>{text}</details>"
    return as_plot(document) + text if isinstance(document, Drawn) else text


def as_plot(document: Drawn) -> str:
    """Show the drawings of a document in a notebook."""
    from planopt.report.page.html import frame
    from planopt.report.page.plot import plot

    return frame(plot(document))
