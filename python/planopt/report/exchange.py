"""What comes of others' tools, on the screen."""

from collections.abc import Iterable

from planopt.documents.exchange import (
    Acceptance,
    Detection,
    Fit,
    FittedFactor,
    ImportDocument,
    Judged,
)
from planopt.report.evaluation import render_evaluation
from planopt.report.numbers import count, days, duration, percent, rate, size
from planopt.report.style import UNKNOWN, good, head, warn
from planopt.report.table import Block, Report, Section, Sentence, Table

MOST_SHOWN = 12
"""Accelerators in the table; `--details` and `--json` have all."""


def render_import(found: ImportDocument, *, details: bool = False) -> Report:
    """Lay out what was understood, the evaluation, and other hardware."""
    understood = [each for each in found.flags if each.term is not None]
    harmless = [each.flag or "" for each in found.flags if each.term is None]
    told = " ".join(
        f"--{name.replace('_', '-')} {each}" for name, each in found.options.items()
    )
    said = [f"{len(understood)} flags understood: {told}"]
    said += [f"no matter: {' '.join(harmless)}"] if harmless else []
    if found.sequences:
        said.append(f"{count(found.sequences)} sequences of full context fit")
    whole: list[Block] = [
        head(f"{found.model}, as flags of {found.tool} {found.version} say it"),
        *map(Sentence, said),
        *_remarks(found.remarks),
        "",
    ]
    if (evaluation := found.serving or found.training) is not None:
        whole.append(str(render_evaluation(evaluation, details=details)))
    if (other := found.better) is not None:
        better = (
            f"better on the same accelerators: {other.replicas} x {other.layout}, "
            f"batch {other.batch}, {rate(other.tokens_per_second)} tok/s"
        )
        whole += ["", Sentence(better)]
    if found.elsewhere:
        whole += ["", *_elsewhere(found, details=details)]
    return Report(*whole)


def _remarks(every: Iterable[str]) -> Iterable[Block]:
    return (Sentence(f"! {each}") for each in every)


def _elsewhere(found: ImportDocument, *, details: bool) -> list[Block]:
    fit = [each for each in found.elsewhere if each.fits]
    shown = found.elsewhere if details else found.elsewhere[:MOST_SHOWN]
    rows = [
        (
            each.accelerator,
            "fits" if each.fits else "does not",
            count(each.sequences) if each.sequences else "",
            rate(each.tokens_per_second) if each.tokens_per_second else "",
            each.why_not or "",
        )
        for each in shown
    ]
    left = len(found.elsewhere) - len(shown)
    return [
        head(f"fits on {len(fit)} of {len(found.elsewhere)} accelerators"),
        Table(("accelerator", "", "sequences", "tok/s", "why not"), rows),
        *([Sentence(f"{left} more: --details")] if left else []),
    ]


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
            percent(each.off, sign="+"),
            each.outcome,
        )
        for each in found.promises
    ]
    columns = ("PROMISE", ">ASKED", ">PREDICTED", ">MEASURED", ">MARGIN", "OUTCOME")
    terms = [
        (
            each.name + _mostly(each.most_of_it),
            duration(each.predicted_seconds),
            duration(each.measured_seconds),
            f"{each.ratio:.2f} x",
        )
        for each in found.terms
    ]
    return Report(
        head(f"{_HEADS[found.outcome]}, by {found.tool}"),
        Table(columns, promises),
        *_remarks(f"{each.name}: {each.why}" for each in found.promises if each.why),
        Section("", Table(("TERM", ">PREDICTED", ">MEASURED", ">RATIO"), terms)),
        *([] if found.off is None else [Sentence(f"furthest off: {found.off}")]),
        *_remarks(found.remarks),
    )


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
        *_remarks(found.remarks),
        "",
        Sentence(f"Written to {found.overlay}. Use it with: {use}", ""),
    )


def _interval(factor: FittedFactor) -> str:
    if factor.at_limit:
        return "at its physical limit: something else differs"
    return f"± {percent(factor.uncertainty)}"


def render_detection(found: Detection) -> Report:
    """Say what was found, and what to type."""
    blocks: list[Block] = [Sentence(f"{found.processor}, {size(found.memory_bytes)}")]
    for each in found.found:
        known = good(each.id) if each.id else warn(f"unknown: {each.nearest or 'new'}")
        link = f", {each.link}" if each.link else ""
        blocks.append(f"  {each.count} x {each.name}{link}: {known}")
    if not found.found:
        blocks.append("  no accelerators were found")
    blocks += _remarks(found.remarks)
    if found.own and found.overlay:
        blocks += ["", f"--own {found.own} --catalog {found.overlay}"]
    elif found.own:
        hosts = "add its host, or --out DIR for one like this machine"
        blocks += ["", f"--own {found.own}", Sentence(hosts)]
    return Report(*blocks)
