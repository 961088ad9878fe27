"""Factors that results of benchmarks tell, on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.numbers import duration, percent
from planopt.report.style import head
from planopt.report.table import Report, Section, Sentence, Table

if TYPE_CHECKING:
    from planopt.documents.fit import Fit, FittedFactor


def render_fit(found: Fit) -> Report:
    """Lay out factors, what they change, and how to use them."""
    on = found.accelerator + (f" under {found.engine}" if found.engine else "")
    before, after = percent(found.error_before), percent(found.error_after)
    factors = [
        (each.what, f"{each.factor:.3f} x", _interval(each)) for each in found.factors
    ]
    figures = [
        (
            each.figure.upper(),
            each.load,
            duration(each.measured_seconds),
            duration(each.before_seconds),
            duration(each.after_seconds),
        )
        for each in found.figures
    ]
    columns = ("FIGURE", "UNDER", ">MEASURED", ">BEFORE", ">NOW")
    use = f"--catalog {found.overlay} --assumptions {found.assumptions}"
    return Report(
        head(f"{on}: predictions were {before} off, and are {after} now (median)"),
        Section("", Table(("FACTOR", ">OF BEFORE", ""), factors)),
        *(Sentence(f"as before: {each.what}: {each.why}") for each in found.unchanged),
        Section("", Table(columns, figures)),
        *(Sentence(f"! {each}") for each in found.remarks),
        "",
        Sentence(f"Written to {found.overlay}. Use it with: {use}", ""),
    )


def _interval(factor: FittedFactor) -> str:
    if factor.at_limit:
        return "at its physical limit: something else differs"
    return f"± {percent(factor.uncertainty)}"
