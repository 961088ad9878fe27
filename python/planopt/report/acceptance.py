"""A benchmark held against a plan, on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.numbers import UNKNOWN, days, duration, percent, rate
from planopt.report.style import head
from planopt.report.table import Report, Sentence, Table

if TYPE_CHECKING:
    from planopt.documents.acceptance import Acceptance, Judged
    from planopt.report.table import Block

_HEADS = {
    "kept": "✔ the plan's promises are kept",
    "broken": "✘ the plan's promises are broken",
    "open": "~ the result leaves promises open",
}
_TIMES = ("ttft", "tpot")


def render_acceptance(found: Acceptance) -> Report:
    """Lay out each promise with what was measured, and the terms behind."""
    promises = [
        (
            f"{each.name} {each.percentile or ''}".strip(),
            _figure(each, each.asked),
            _figure(each, each.predicted),
            _measured(each),
            _off(each),
            each.outcome,
        )
        for each in found.promises
    ]
    columns = ("PROMISE", ">ASKED", ">PREDICTED", ">MEASURED", ">MARGIN", "OUTCOME")
    blocks: list[Block] = [
        head(f"{_HEADS[found.outcome]}, by {found.tool}"),
        Table(columns, promises),
    ]
    blocks += [
        Sentence(f"! {each.name}: {each.why}") for each in found.promises if each.why
    ]
    if found.terms:
        rows = [
            (
                each.name + _mostly(each.most_of_it),
                duration(each.predicted_seconds),
                duration(each.measured_seconds),
                f"{each.ratio:.2f} x",
            )
            for each in found.terms
        ]
        blocks += ["", Table(("TERM", ">PREDICTED", ">MEASURED", ">RATIO"), rows)]
    if found.off is not None:
        blocks.append(Sentence(f"furthest off: {found.off}"))
    blocks += [Sentence(f"! {each}") for each in found.remarks]
    return Report(*blocks)


def _mostly(part: str | None) -> str:
    return f" (mostly {part.removesuffix('_seconds')})" if part else ""


def _figure(judged: Judged, value: float | None) -> str:
    if value is None:
        return UNKNOWN
    if judged.name in _TIMES:
        return duration(value)
    return days(value) if judged.name == "deadline" else rate(value)


def _measured(judged: Judged) -> str:
    low, high = judged.at_least, judged.at_most
    if low is None and high is None:
        return UNKNOWN
    if low == high:
        return _figure(judged, low)
    if low is None:
        return f"<= {_figure(judged, high)}"
    if high is None:
        return f">= {_figure(judged, low)}"
    return f"{_figure(judged, low)} - {_figure(judged, high)}"


def _off(judged: Judged) -> str:
    if judged.off is None:
        return UNKNOWN
    return f"{'+' if judged.off >= 0 else '-'}{percent(abs(judged.off))}"
