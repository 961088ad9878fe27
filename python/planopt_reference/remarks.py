"""What a plan says besides: intervals, their sentence, a low margin."""

from __future__ import annotations

import datetime
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from planopt_reference.certainty import has_experts, kind
from planopt_reference.mismatch import Mismatch, compared
from planopt_reference.pools import answering, is_of_pools
from planopt_reference.promises import judged_tpot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planopt_reference.certainty import Kind
    from planopt_reference.facts import Facts

    Document = Mapping[str, Any]

_MEASURED: Final = "calibrated"
# Share of a target by which a speed must clear it to be believed.
_LOW_MARGIN: Final = 1.2
_ERRORS: Final = "recomputed from errors of what was measured"
# Share of measured rows that an interval holds.
_LEVEL: Final = 0.8
# Measured as a rate: of its time the errors are the other way round.
_RATE: Final = "prefill"
_ANY_ENGINE: Final = ", any engine"
_AS_MEASURED: Final = "as steps of this kind of model on such hardware were measured"
_NOT_MEASURED: Final = (
    "this kind of model was not measured on such hardware: as the slowest were"
)
_SIMULATED: Final = (
    "; latencies under a load are simulated: `planopt verify` holds them against each "
    "other, and does not compute them again"
)
# Of a sum, what a price must be to date it.
_SHARE_THAT_MATTERS: Final = 0.01
_MONTHS_AND_DAYS: Final = (12, 28)
_WHYS: Final[dict[str, set[str | None]]] = {
    "optimal": {None},
    "feasible": {None, "edge", "time", "space"},
    "infeasible": {None, "time"},
}
# What else is told of a part, beside its money.
_TOLD_OF_A_PART: Final = (
    *("source", "price_date", "price_status", "used"),
    *("unit_price_low_usd", "unit_price_high_usd"),
)


def told_mismatches(plan: Document, request: Document) -> Iterator[Mismatch]:
    """Hold what a plan of any kind says of its proof and its parts against the rest."""
    status, why = plan.get("status"), plan.get("why")
    allowed = _WHYS.get(str(status), {None})
    if why not in allowed:
        yield Mismatch("why", why, [str(each) for each in allowed], f"it is {status}")
    rented = request.get("procurement", "buy") != "buy"
    paid_as_a_sum = request.get("tokens") is not None or plan.get("kind") == "fleet"
    other = "bound_usd" if rented and not paid_as_a_sum else "bound_usd_per_hour"
    yield from compared(other, plan.get(other), None, "not what is asked about")
    lines = plan.get("bill_of_materials") or ()
    expected = _oldest_price(lines, (plan.get("provenance") or {}).get("date"))
    yield from compared(
        "oldest_price_date", plan.get("oldest_price_date"), expected, "of its bill"
    )
    if request.get("condition", "new") == "new":
        for index, line in enumerate(lines):
            place = f"bill_of_materials[{index}].used"
            if line.get("used"):
                yield Mismatch(place, line["used"], "not used", "bought new")
    own = {(line["kind"], line["id"], line["name"]): line for line in lines}
    for place, line in _lines_beside(plan):
        known = own.get((line["kind"], line["id"], line["name"]))
        for name in _TOLD_OF_A_PART if known else ():
            # A line of a deployment or of a purchase may leave this to the bill.
            if line.get(name) and known and line[name] != known[name]:
                why = "as its bill says of this part"
                yield Mismatch(f"{place}.{name}", line[name], known[name], why)


def _lines_beside(plan: Document) -> Iterator[tuple[str, Document]]:
    """Return the lines of a plan that say again what its bill of materials says."""
    for name in ("deployments", "acquisitions", "alternatives"):
        for index, one in enumerate(plan.get(name) or ()):
            for at, line in enumerate(one.get("bill_of_materials") or ()):
                yield f"{name}[{index}].bill_of_materials[{at}]", line


def _oldest_price(lines: Sequence[Document], today: str | None) -> str | None:
    """Return the date of the oldest price that is a hundredth of the sum."""
    paid = [
        (each.get("price_usd") or each.get("usd_per_hour") or 0.0) for each in lines
    ]
    dated = [
        (_days_before(today, line["price_date"]), line["price_date"])
        for line, usd in zip(lines, paid, strict=True)
        if usd >= _SHARE_THAT_MATTERS * sum(paid) > 0 and _date(line.get("price_date"))
    ]
    return max(dated)[1] if dated else None


def _days_before(today: str | None, date: str) -> int:
    now, then = _date(today), _date(date)
    return max(0, (now - then).days) if now and then else 0


def _date(said: str | None) -> datetime.date | None:
    """Return a date; of a month or a year, its end."""
    parts = [int(part) for part in (said or "").split("-") if part.isdigit()]
    if not parts:
        return None
    year, month, day = (*parts, *_MONTHS_AND_DAYS[len(parts) - 1 :])[:3]
    return datetime.date(year, month, day)


def serving_remarks(plan: Document, request: Document, facts: Facts) -> Iterator[Any]:
    """Hold what is said of a plan to serve against what was computed again."""
    if "promises" not in plan:
        return
    deployments = plan["deployments"]
    for index, table in enumerate(deployments):
        yield from interval_mismatches(f"deployments[{index}]", table, request, facts)
    known = [
        kind(facts, request, table["candidate"]["accelerator"])
        for table in deployments
        if not table.get("chain")  # nothing is known of their errors together
    ]
    is_measured = request["assumptions"] == _MEASURED
    if known and is_measured and not is_of_pools(deployments):
        least, most = min(each.low for each in known), max(each.high for each in known)
        said = f"TPOT: {least - 1:+.0%} to {most - 1:+.0%}, "
        is_seen = all(each.grade != "none" for each in known)
        said += _AS_MEASURED if is_seen else _NOT_MEASURED
        if request.get("percentile"):
            said += _SIMULATED
        yield from _accuracy_mismatches(plan, re.escape(said), {})
    yield from _margin_mismatches(plan, request)


def interval_mismatches(
    field: str, table: Document, request: Document, facts: Facts
) -> Iterator[Mismatch]:
    """Compute the intervals of a deployment that serves again."""
    stated = dict(table["evaluation"].get("intervals") or {})
    chained = bool(table.get("chain"))
    expected = {} if chained else _serving_intervals(table, request, facts)
    stated.pop("ttft_seconds", None)  # of what was simulated
    if table.get("role") in ("prefill", "decode"):  # says what is its own
        expected = {name: each for name, each in expected.items() if name in stated}
    yield from _same(f"{field}.evaluation.intervals", stated, expected, _ERRORS)


def _serving_intervals(
    table: Document, request: Document, facts: Facts
) -> dict[str, dict[str, Any]]:
    evaluation, candidate = table["evaluation"], table["candidate"]
    decode, accelerator = evaluation["decode"], candidate["accelerator"]
    expected: dict[str, dict[str, Any]] = {}
    if request["assumptions"] == _MEASURED:
        steps = kind(facts, request, accelerator)
        interval = _of_steps(decode["tpot_seconds"], steps)
        speed = {"low": 1 / interval["high"], "high": 1 / interval["low"]}
        expected["tpot_seconds"] = interval
        expected["tokens_per_second_per_user"] = {**interval, **speed}
    for name, metric, value in (
        ("tokens_per_second", "throughput", decode["tokens_per_second"]),
        ("prefill_seconds", "prefill", evaluation["prefill"]["seconds"]),
    ):
        found = _errors(facts, request, accelerator, metric)
        if found is not None:
            expected[name] = _interval(value, found, is_rate=metric == _RATE)
    return expected


def run_remarks(plan: Document, request: Document, facts: Facts) -> Iterator[Any]:
    """Hold what is said of a plan to train against what was computed again."""
    (table,) = plan["deployments"]
    yield from run_interval_mismatches("deployments[0]", table, request, facts)
    found = _errors(facts, request, table["candidate"]["accelerator"], "step_time")
    if found is None:
        return
    row, beyond = found
    of = "other hardware and models" if beyond else row["of"]
    said = (
        f"step times of {of} that no fit had seen were off by "
        f"{row['median_ape']:.0%} in the median, {row['mape']:.0%} in the mean "
        f"({row['rows']} rows)" + ("; nothing like this was measured" if beyond else "")
    )
    known = {
        "median_error": row["median_ape"],
        "source": "measurements/residuals.toml",
    }
    yield from _accuracy_mismatches(plan, re.escape(said), known)


def run_interval_mismatches(
    field: str, table: Document, request: Document, facts: Facts
) -> Iterator[Mismatch]:
    """Compute the intervals of a run again."""
    accelerator = table["candidate"]["accelerator"]
    found = _errors(facts, request, accelerator, "step_time")
    if found is None:
        return
    evaluation = table["evaluation"]
    step = evaluation["step_seconds"]
    interval = _of_steps(step, kind(facts, request, accelerator))
    slow, fast = interval["high"] / step, interval["low"] / step
    expected = {"step_seconds": interval}
    for name, low, high in (
        ("tokens_per_second", 1 / slow, 1 / fast),
        ("days", fast, slow),
    ):
        if (value := evaluation.get(name)) is not None:
            expected[name] = {**interval, "low": value * low, "high": value * high}
    stored = _errors(facts, request, accelerator, "memory")
    if stored is not None:
        memory = evaluation["memory"]["total_bytes"]
        expected["memory_bytes"] = _interval(memory, stored)
    place = f"{field}.evaluation.intervals"
    yield from _same(place, evaluation.get("intervals") or {}, expected, _ERRORS)


def _accuracy_mismatches(
    plan: Document, said: str, known: Mapping[str, object]
) -> Iterator[Mismatch]:
    """Compare what is said of errors with a pattern, and with what is known of them."""
    accuracy = plan.get("accuracy") or {}
    for name in ("median_error", "source"):
        field = f"accuracy.{name}"
        yield from compared(field, accuracy.get(name), known.get(name), _ERRORS)
    statement = str(accuracy.get("statement"))
    if not re.fullmatch(said, statement):
        yield Mismatch("accuracy.statement", statement, said, _ERRORS)


def _of_steps(seconds: float, known: Kind) -> dict[str, Any]:
    """Return what a step is expected to lie in: what its promises are judged by."""
    ends = {"low": seconds * known.low, "high": seconds * known.high}
    return {**ends, "level": _LEVEL, "extrapolated": known.grade == "none"}


def _interval(
    value: float, found: tuple[Document, bool], *, is_rate: bool = False
) -> dict[str, Any]:
    """Return what a figure is expected to lie in, as its row of errors says."""
    row, beyond = found
    low, high = row["low"], row["high"]
    if is_rate:
        low, high = 1 / high, 1 / low
    ends = {"low": value * low, "high": value * high}
    return {**ends, "level": _LEVEL, "extrapolated": beyond}


def _same(
    field: str, stated: Document, expected: Document, reason: str
) -> Iterator[Mismatch]:
    """Compare tables, in which nothing else may stand."""
    for name in sorted({*stated, *expected}):
        place = f"{field}.{name}"
        yield from compared(place, stated.get(name), expected.get(name), reason)


def _errors(
    facts: Facts, request: Document, accelerator: str, metric: str
) -> tuple[Document, bool] | None:
    """Return the row of the nearest class, and whether it is that of everything."""
    if request["assumptions"] != _MEASURED:
        return None
    model = "moe" if has_experts(facts, request) else "dense"
    named = request.get("tokens") is not None or request.get("engine_name") is not None
    end = "" if named else _ANY_ENGINE
    family = facts.accelerator(accelerator).family
    rows = {(row["metric"], row["of"]): row for row in facts.residuals()["residual"]}
    for name in (f"{accelerator} {model}", f"{family} {model}", "all"):
        row = rows.get((metric, f"{name}{end}"))
        if row is not None:
            return row, name == "all"
    return None


def _margin_mismatches(plan: Document, request: Document) -> Iterator[Mismatch]:
    """Ask for the warning of a speed that is hardly above its target."""
    target = request.get("target_tokens_per_second")
    token = partial(judged_tpot, request.get("percentile"))
    answers = answering(plan["deployments"])
    speed = 1 / max(token(one["evaluation"]) for one in answers)
    low = target is not None and target > 0 and speed < target * _LOW_MARGIN
    said = (
        one["message"] for one in plan.get("warnings") or () if one["code"] == "W001"
    )
    told = [message for message in said if " tok/s is only " in message]
    right = [message.startswith(f"{speed:.2f} tok/s ") for message in told]
    if right != ([True] if low else []):
        expected = f"W001: {speed:.2f} tok/s is only ..." if low else "no low margin"
        yield Mismatch("warnings", told, expected, "a low margin is said")
