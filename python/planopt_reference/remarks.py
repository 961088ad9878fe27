"""What a plan says besides: intervals, their sentence, a low margin, other answers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from planopt_reference.certainty import has_experts
from planopt_reference.mismatch import RELATIVE_TOLERANCE, Mismatch, compared
from planopt_reference.pools import answering
from planopt_reference.promises import judged_tpot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planopt_reference.facts import Facts

    Document = Mapping[str, Any]

_MEASURED: Final = "calibrated"
# Share of a target by which a speed must clear it to be believed.
_LOW_MARGIN: Final = 1.2
_ERRORS: Final = "recomputed from errors of what was measured"


def serving_remarks(plan: Document, request: Document, facts: Facts) -> Iterator[Any]:
    """Hold what is said of a plan to serve against what was computed again."""
    if "promises" not in plan:
        return
    ends = []
    for index, table in enumerate(plan["deployments"]):
        evaluation, candidate = table["evaluation"], table["candidate"]
        seconds = evaluation["decode"]["tpot_seconds"]
        metric = "decode" if candidate["batch"] == 1 else "tpot"
        found = _errors(facts, request, candidate["accelerator"], metric)
        if found is None:
            continue
        row, beyond = found
        low, high = row["low"], row["high"]
        if metric == "decode":  # measured as a rate
            low, high = 1 / high, 1 / low
        field = f"deployments[{index}].evaluation.intervals"
        stated = evaluation.get("intervals") or {}
        expected = {
            "tpot_seconds": (seconds * low, seconds * high),
            "tokens_per_second_per_user": (1 / (seconds * high), 1 / (seconds * low)),
        }
        for name, (least, most) in expected.items():
            told = {"low": least, "high": most, "extrapolated": beyond}
            yield from compared(f"{field}.{name}", stated.get(name), told, _ERRORS)
        interval = stated.get("tpot_seconds") or {"low": seconds, "high": seconds}
        ends.append((interval["low"] / seconds, interval["high"] / seconds))
    said = str((plan.get("accuracy") or {}).get("statement"))
    if ends:
        least, most = min(low for low, _ in ends), max(high for _, high in ends)
        expected_start = f"TPOT: {least - 1:+.0%} to {most - 1:+.0%}, "
        if not said.startswith(expected_start):
            yield Mismatch("accuracy.statement", said, f"{expected_start}...", _ERRORS)
    yield from _margin_mismatches(plan, request)
    yield from _answer_mismatches(plan, request)


def run_remarks(plan: Document, request: Document, facts: Facts) -> Iterator[Any]:
    """Hold what is said of a plan to train against what was computed again."""
    (table,) = plan["deployments"]
    accelerator = table["candidate"]["accelerator"]
    found = _errors(facts, request, accelerator, "step_time")
    if found is None:
        return
    row, beyond = found
    evaluation = table["evaluation"]
    stated = evaluation.get("intervals") or {}
    for name, value in (
        ("step_seconds", evaluation["step_seconds"]),
        ("days", evaluation["days"]),
    ):
        told = {"low": value * row["low"], "high": value * row["high"]}
        told["extrapolated"] = beyond
        place = f"deployments[0].evaluation.intervals.{name}"
        yield from compared(place, stated.get(name), told, _ERRORS)
    accuracy = plan.get("accuracy") or {}
    median, of = accuracy.get("median_error"), row["median_ape"]
    yield from compared("accuracy.median_error", median, of, _ERRORS)
    said = str(accuracy.get("statement"))
    expected = f"{of:.0%} in the median, {row['mape']:.0%} in the mean ({row['rows']} "
    if expected not in said or beyond != ("nothing like this" in said):
        yield Mismatch("accuracy.statement", said, expected, _ERRORS)


def _errors(
    facts: Facts, request: Document, accelerator: str, metric: str
) -> tuple[Document, bool] | None:
    """Return the row of the nearest class, and whether it is that of everything."""
    if request["assumptions"] != _MEASURED:
        return None
    kind = "moe" if has_experts(facts, request) else "dense"
    named = request.get("tokens") is not None or request.get("engine_name") is not None
    end = "" if named else ", any engine"
    family = facts.accelerator(accelerator).family
    rows = {(row["metric"], row["of"]): row for row in facts.residuals()["residual"]}
    for name in (f"{accelerator} {kind}", f"{family} {kind}", "all"):
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


def _answer_mismatches(plan: Document, request: Document) -> Iterator[Mismatch]:
    """Hold the best by each objective against the plan, its limits and each other."""
    answers = {name: one for name, one in (plan.get("answers") or {}).items() if one}
    own = answers.get(str(plan.get("objective")).replace("-", "_"))
    if own is not None:
        reason = "the plan is the answer to its own question"
        for name, figure in (
            ("price_usd", plan.get("price_usd")),
            ("usd_per_hour", plan["cost"]["usd_per_hour"]),
            ("bill_of_materials", _parts(plan)),
        ):
            said = _parts(own) if name == "bill_of_materials" else own.get(name)
            yield from compared(f"answers.{name}", said, figure, reason)
    budget = request.get("budget_usd")
    for name, one in answers.items():
        price = one["price_usd"] or 0.0
        lines = sum(line.get("price_usd") or 0.0 for line in one["bill_of_materials"])
        if abs(price - lines) > RELATIVE_TOLERANCE * max(price, 1.0):
            yield Mismatch(f"answers.{name}.price_usd", price, lines, "its parts")
        if budget is not None and price > budget * (1 + RELATIVE_TOLERANCE):
            yield Mismatch(f"answers.{name}.price_usd", price, budget, "the budget")


def _parts(of: Document) -> list[tuple[str, str, int]]:
    lines = of.get("bill_of_materials") or ()
    return [(line["kind"], line["id"], line["quantity"]) for line in lines]
