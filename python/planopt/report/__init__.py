"""What people read: plans, evaluations, comparisons and catalogs as aligned text."""

from planopt.report.catalog import render_catalog, render_entry
from planopt.report.comparison import render_comparison
from planopt.report.evaluation import render_evaluation
from planopt.report.explanation import render_explanation, render_explanations
from planopt.report.reproduction import render_reproduction
from planopt.report.terminal import render_plan, render_verification

__all__ = [
    "render_catalog",
    "render_comparison",
    "render_entry",
    "render_evaluation",
    "render_explanation",
    "render_explanations",
    "render_plan",
    "render_reproduction",
    "render_verification",
]
