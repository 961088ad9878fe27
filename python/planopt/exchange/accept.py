"""A benchmark's result held against what a plan promises."""

import math
from collections.abc import Iterator

from planopt.documents.exchange import Acceptance, Judged, Outcome, Term, TermName
from planopt.documents.load import load_plan
from planopt.documents.parts import Part
from planopt.documents.plan import Plan, Promise, TrainingPlan
from planopt.errors import InputError
from planopt.exchange.results import Result, read_result

_ENDS = 0.05
"""Share by which a rate may fall short: the last answers come after all requests."""
_TIMES = ("ttft", "tpot")
_AS_PREDICTED = 0.1
"""Share by which a term may differ before anybody looks at it."""


def accept(plan: str, result: str) -> Acceptance:
    """Hold the result of a benchmark against the promises of a plan, by their files."""
    document = load_plan(plan)
    if not isinstance(document, (Plan, TrainingPlan)) or not document.promises:
        raise InputError.of(
            "E301",
            "the plan promises nothing that a benchmark could show",
            value=plan,
            accepted="a plan of solve or train that is not infeasible",
        )
    read = read_result(result)
    judged = tuple(_judged(each, document, read) for each in document.promises)
    outcomes = {each.outcome for each in judged}
    terms = tuple(_terms(document, read))
    far = max(terms, key=lambda term: abs(math.log(term.ratio)), default=None)
    is_off = far is not None and abs(far.ratio - 1) > _AS_PREDICTED
    order: tuple[Outcome, ...] = ("broken", "open", "kept")
    return Acceptance(
        tool=read.tool,
        outcome=next(each for each in order if each in outcomes),
        promises=judged,
        terms=terms,
        off=far.name if far is not None and is_off else None,
        failed=read.failed,
        remarks=tuple(_remarks(read)),
    )


def _judged(promise: Promise, plan: Plan | TrainingPlan, result: Result) -> Judged:
    """Judge one promise by what is known of its figure."""
    if promise.name == "deadline":
        low, high = _days(promise, plan, result)
    elif promise.name in _TIMES:
        low, high = _time(promise, result)
    else:
        value = result.counts.get(promise.name)
        low, high = (0.0, math.inf) if value is None else (value, value)
    is_time = promise.name in (*_TIMES, "deadline")
    asked = promise.asked
    outcome, why = _outcome(promise, result, low, high)
    known = low if is_time and low > 0 else high
    off = None
    if 0 < known < math.inf and asked:
        off = 1 - known / asked if is_time else known / asked - 1
    return Judged(
        name=promise.name,
        percentile=promise.percentile,
        asked=asked,
        predicted=promise.predicted,
        at_least=low if low > 0 and low < math.inf else None,
        at_most=high if high < math.inf else None,
        outcome=outcome,
        off=off,
        why=why,
    )


def _outcome(
    promise: Promise, result: Result, low: float, high: float
) -> tuple[Outcome, str | None]:
    asked, name = promise.asked, promise.name
    is_time = name in (*_TIMES, "deadline")
    value = result.counts.get(name)
    if is_time and low > asked:
        return "broken", "too many requests failed" if low == math.inf else None
    reached = value is not None and value >= asked * (1 - _ENDS)
    if (high <= asked) if is_time else reached:
        return "kept", None
    if is_time or value is None:
        return "open", f"the result does not tell it: {_looked_for(name, result)}"
    offered = result.counts.get("offered", math.inf)
    if name == "concurrency" or (name == "request_rate" and offered < asked):
        return "open", "the benchmark asked for less than was promised"
    return "broken", None


def _looked_for(name: str, result: Result) -> str:
    if result.times.get(name) is not None and result.times[name].alone:
        return "it is of one request alone"
    missing = [each for each in result.missing if name in each.replace(" ", "_")]
    return f"no {', '.join(missing)}" if missing else "no such percentile"


def _time(promise: Promise, result: Result) -> tuple[float, float]:
    """Bounds of a latency over all requests: those that failed are late."""
    measured = result.times.get(promise.name)
    if measured is None:
        return 0.0, math.inf
    if promise.percentile in (None, "mean"):
        return measured.at(None)
    answered = 1 - result.failed
    percentile = float((promise.percentile or "").removeprefix("p"))
    return measured.at(percentile / answered if answered else math.inf)


def _days(
    promise: Promise, plan: Plan | TrainingPlan, result: Result
) -> tuple[float, float]:
    """Stretch the run that was predicted to the measured length of its steps."""
    term = next(_terms(plan, result), None)
    if term is None or promise.predicted is None:
        return 0.0, math.inf
    days = promise.predicted * term.ratio
    return days, days


def _terms(plan: Plan | TrainingPlan, result: Result) -> Iterator[Term]:
    """Compare parts of the prediction with what was measured of each."""
    if isinstance(plan, TrainingPlan):
        step = plan.deployments[0].evaluation.step_seconds
        if step and (measured := result.counts.get("step")):
            yield _term("step", step, measured)
        return
    does = plan.deployments[0].evaluation
    usual: tuple[tuple[TermName, str, float | None, tuple[Part, ...]], ...] = (
        (
            "decode",
            "tpot",
            does.tpot_seconds.p50 or does.decode.tpot_seconds,
            does.time_parts,
        ),
        ("prefill", "ttft", does.ttft_seconds.p50 or does.prefill.seconds, ()),
    )
    for name, figure, predicted, parts in usual:
        seen = result.times.get(figure)
        if seen is not None and predicted is not None and (measured := seen.usual[0]):
            most = max(parts, key=lambda part: part.seconds, default=None)
            yield _term(name, predicted, measured, most.name if most else None)
    seen, load = result.times.get("ttft"), does.ttft_seconds
    if seen is not None and load.p50 and load.p95:
        (low, high), (least, _) = seen.at(95), seen.at(50)
        if low == high and high > least > 0 and load.p95 > load.p50:
            yield _term("load", load.p95 - load.p50, high - least)


def _term(
    name: TermName, predicted: float, measured: float, most: str | None = None
) -> Term:
    return Term(
        name=name,
        predicted_seconds=predicted,
        measured_seconds=measured,
        ratio=measured / predicted,
        most_of_it=most,
    )


def _remarks(result: Result) -> Iterator[str]:
    if result.failed:
        yield f"{result.failed:.1%} of the requests failed: they are counted as late"
    if result.has_others:
        yield "the file has several benchmarks: the first one is judged"
