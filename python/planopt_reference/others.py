"""What a plan did not choose: the best by other objectives, and alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from planopt_reference.bill import bill_mismatches
from planopt_reference.choices import choice_mismatches
from planopt_reference.deployment import hardware_mismatches, recomputed
from planopt_reference.derivation import unrecorded
from planopt_reference.mismatch import (
    RELATIVE_TOLERANCE,
    Mismatch,
    compared,
    compared_money,
)
from planopt_reference.pools import answering, is_of_pools
from planopt_reference.promises import sequences
from planopt_reference.purchase import merged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planopt_reference.facts import Facts

    Document = Mapping[str, Any]

_CATALOG: Final = "recomputed from the catalogs"
# Of sums that were rounded line by line, to the millionth of a dollar.
_CLOSE: Final = 1e-6
_SECONDS_PER_HOUR: Final = 3600
_MILLION: Final = 1e6
# Paid in one sum, which depends on what else is bought.
_SUMS: Final = frozenset(("racks", "freight", "spares"))


def other_mismatches(
    plan: Document, request: Document, facts: Facts
) -> Iterator[Mismatch]:
    """Hold the best by each objective, and each alternative, against plan and facts."""
    duty = facts.assumptions.cost.duty
    yield from _answer_mismatches(plan, request, duty)
    for index, one in enumerate(plan.get("alternatives") or ()):
        field = f"alternatives[{index}]"
        yield from _sum_mismatches(field, one, duty)
        yield from _alternative_mismatches(field, one, plan, request, facts)


def _answer_mismatches(
    plan: Document, request: Document, duty: float
) -> Iterator[Mismatch]:
    answers = {name: one for name, one in (plan.get("answers") or {}).items() if one}
    aim = str(plan.get("objective")).replace("-", "_")
    own = answers.get(aim)
    has_own = aim in (plan.get("answers") or {})
    if own is None and has_own and (answers or plan.get("alternatives")):
        yield Mismatch(f"answers.{aim}", None, "an answer", "its own question has one")
    if own is not None:
        yield from _own_mismatches(f"answers.{aim}", own, plan, request)
    budget = request.get("budget_usd")
    paid = _prices(plan)
    for name, one in answers.items():
        field, price = f"answers.{name}", one["price_usd"] or 0.0
        yield from compared(
            f"{field}.objective", one["objective"], name.replace("_", "-"), "its own"
        )
        yield from _sum_mismatches(field, one, duty)
        for index, line in enumerate(one["bill_of_materials"]):
            known = paid.get((line["kind"], line["id"], line["name"]))
            place = f"{field}.bill_of_materials[{index}].unit_price_usd"
            if known is not None and not line["owned"]:
                said = line["unit_price_usd"]
                yield from _close(place, said, known, "as the plan pays for this part")
        if budget is not None and price > budget * (1 + RELATIVE_TOLERANCE):
            yield Mismatch(f"{field}.price_usd", price, budget, "the budget")


def _own_mismatches(
    field: str, own: Document, plan: Document, request: Document
) -> Iterator[Mismatch]:
    """Compare the answer to the question of the plan with the plan."""
    reason = "the plan is the answer to its own question"
    served = plan["deployments"]
    expected = {
        "objective": plan.get("objective"),
        "status": plan.get("status"),
        "price_usd": plan.get("price_usd"),
        "usd_per_hour": plan["cost"]["usd_per_hour"],
        "bill_of_materials": plan.get("bill_of_materials"),
    }
    decoded = (one["evaluation"]["decode"] for one in answering(served))
    slowest = min(one["tokens_per_second_per_user"] for one in decoded)
    expected["tokens_per_second_per_user"] = slowest
    for name, figure in expected.items():
        yield from compared(f"{field}.{name}", own.get(name), figure, reason)
    if not is_of_pools(served):
        yield from _user_mismatches(field, own, sum(map(sequences, served)), request)


def _user_mismatches(
    field: str, one: Document, places: int, request: Document
) -> Iterator[Mismatch]:
    """Ask that users are those of the question: of no replica more than its places."""
    least = min(request.get("concurrency") or 1, places)
    if not least <= one.get("users", 0) <= places:
        said = f"{least} to {places}"
        yield Mismatch(
            f"{field}.users", one.get("users"), said, "who is served at once"
        )


def _prices(plan: Document) -> dict[tuple[str, str, str], float | None]:
    """Return what the plan and its alternatives pay for a part."""
    lines = list(plan.get("bill_of_materials") or ())
    for one in plan.get("alternatives") or ():
        lines += one["bill_of_materials"]
    return {
        (line["kind"], line["id"], line["name"]): line["unit_price_usd"]
        for line in lines
        if not line["owned"] and line["kind"] not in _SUMS
    }


def _alternative_mismatches(
    field: str, one: Document, plan: Document, request: Document, facts: Facts
) -> Iterator[Mismatch]:
    """Compute an alternative again, from its layout and its hardware."""
    lines, of, hardware = one["bill_of_materials"], one["candidate"], one["hardware"]
    kinds = {line["id"] for line in lines if line["kind"] == "host"}
    if is_of_pools(plan["deployments"]) and len(kinds) > 1:
        # The best without pools may be of several layouts, of which one is told.
        return
    hosts = _bought(lines, "instance" if hardware.get("terms") else "host")
    units = hosts // hardware["hosts"]
    table = {
        "model": request.get("model"),
        "candidate": of,
        "hardware": hardware,
        "replicas": one["replicas"],
        "units": units,
        # What it did in a run is not told.
        "evaluation": {"decode": {"tokens_per_second": None}},
    }
    yield from choice_mismatches(field, table, request, facts)
    if not request.get("sessions"):
        yield from _user_mismatches(field, one, sequences(table), request)
    with unrecorded():
        expected = recomputed(table, request, facts, None)
    yield from hardware_mismatches(f"{field}.hardware", table, expected, facts)
    money = facts.assumptions.cost
    decode = expected.evaluation["decode"]
    rented = expected.unit.rent is not None
    figures = {
        "usd_per_hour": expected.usd_per_hour(money),
        "tokens_per_second_per_user": decode["tokens_per_second_per_user"],
        "tokens_per_second": expected.tokens_per_second,
        "power_watts": None if rented else expected.power_watts,
    }
    yield from compared(field, one, figures, _CATALOG)
    place, price = f"{field}.price_usd", one.get("price_usd")
    yield from compared_money(place, price, expected.price, _CATALOG)
    bill = merged([(units, expected.unit.lines)])
    yield from bill_mismatches(f"{field}.bill_of_materials", lines, bill)


def _bought(lines: Sequence[Document], kind: str) -> int:
    return sum(line["quantity"] for line in lines if line["kind"] == kind)


def _sum_mismatches(field: str, one: Document, duty: float) -> Iterator[Mismatch]:
    """Add up the bill of what was not chosen, and what its tokens cost."""
    lines = one["bill_of_materials"]
    for index, line in enumerate(lines):
        for each, whole in (
            ("unit_price_usd", "price_usd"),
            ("unit_usd_per_hour", "usd_per_hour"),
        ):
            usd = None if line[each] is None else line[each] * line["quantity"]
            place = f"{field}.bill_of_materials[{index}].{whole}"
            yield from _close(place, line[whole], usd, "what so many cost")
    price = sum(line["price_usd"] or 0.0 for line in lines)
    yield from _close(f"{field}.price_usd", one["price_usd"], price, "its parts")
    # What is rented is paid by its own terms.
    bought = all(line["usd_per_hour"] is None for line in lines)
    speed, usd = one.get("tokens_per_second"), one.get("usd_per_million_tokens")
    if (speed is None) != (usd is None):
        yield Mismatch(
            f"{field}.usd_per_million_tokens", usd, speed, "one of the other"
        )
    if bought and speed and usd:
        expected = one["usd_per_hour"] / (speed * duty * _SECONDS_PER_HOUR) * _MILLION
        place = f"{field}.usd_per_million_tokens"
        yield from _close(place, usd, expected, "of its tokens")
    for name in ("users", "replicas", "power_watts"):
        if (one.get(name) or 0) < 0:
            yield Mismatch(f"{field}.{name}", one[name], "0 or more", "an amount")


def _close(
    field: str, stated: float | None, expected: float | None, reason: str
) -> Iterator[Mismatch]:
    """Compare sums of money, which are rounded to a millionth of a dollar each."""
    none = (stated is None) != (expected is None) and bool(stated or expected)
    off = abs((stated or 0.0) - (expected or 0.0))
    if none or off > _CLOSE * max(abs(expected or 0.0), 1.0):
        yield Mismatch(field, stated, expected, reason)
