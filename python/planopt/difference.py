"""Two plans held against each other: what changed, and what is behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from planopt.documents.difference import Changed, Difference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planopt.documents.plan import PlanDocument

BOOKKEEPING = frozenset({"typed", "catalog", "time_limit_seconds", "top"})
"""What a request records that asks for nothing."""


def diff(before: PlanDocument, after: PlanDocument) -> Difference:
    """Hold two plans against each other.

    Parameters
    ----------
    before, after : PlanDocument
        Plans of serving or of training.

    Returns
    -------
    Difference

    Examples
    --------
    >>> import planopt
    >>> plan = planopt.solve(target="5tok/s")
    >>> planopt.diff(plan, plan).same
    True
    """
    one, other = _document(before), _document(after)
    asked = tuple(_changed(one["request"], other["request"], skip=BOOKKEEPING))
    found = Difference(
        request=asked,
        assumptions=tuple(_assumptions(one, other)),
        prices=tuple(_changed(_prices(one), _prices(other), both=True)),
        parts=tuple(_changed(_parts(one), _parts(other))),
        layout=tuple(_changed(_layout(one), _layout(other))),
        figures=tuple(_changed(_figures(one), _figures(other))),
    )
    return msgspec.structs.replace(found, why=tuple(_why(found, one, other)))


def _document(plan: PlanDocument) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(plan)
    return document


def _changed(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    *,
    both: bool = False,
    skip: frozenset[str] = frozenset(),
) -> Iterator[Changed]:
    """List names whose values differ, in order; of both alone, or of either."""
    names = [*before, *(name for name in after if name not in before)]
    for name in names:
        if name in skip or (both and not (name in before and name in after)):
            continue
        if before.get(name) != after.get(name):
            yield Changed(name=name, before=before.get(name), after=after.get(name))


def _assumptions(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Changed]:
    sets = {"assumptions": one["assumptions"]}, {"assumptions": other["assumptions"]}
    yield from _changed(*sets)
    assumed = (
        {each["name"]: each["value"] for each in plan["assumed"]}
        for plan in (one, other)
    )
    yield from _changed(*assumed)


def _prices(plan: Mapping[str, Any]) -> dict[str, float]:
    """Price of one of each part; of an instance, that of an hour."""
    prices = {
        _name(line): line["unit_price_usd"] or line["unit_usd_per_hour"]
        for line in plan["bill_of_materials"]
    }
    return {name: price for name, price in prices.items() if price is not None}


def _parts(plan: Mapping[str, Any]) -> dict[str, int]:
    return {_name(line): line["quantity"] for line in plan["bill_of_materials"]}


def _name(line: Mapping[str, Any]) -> str:
    return str(line["name"])


def _layout(plan: Mapping[str, Any]) -> dict[str, Any]:
    deployments = plan.get("deployments") or ()
    return {
        f"{place}.{name}" if len(deployments) > 1 else name: value
        for place, each in enumerate(deployments)
        for name, value in (
            *each["candidate"].items(),
            ("replicas", each.get("replicas")),
        )
    }


def _figures(plan: Mapping[str, Any]) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "status": plan["status"],
        "price_usd": plan["price_usd"],
        "power_watts": plan["power_watts"],
        **plan["cost"],
    }
    for name in ("days", "tokens_per_second", "mfu"):
        if plan.get(name) is not None:
            figures[name] = plan[name]
    deployments = plan.get("deployments") or ()
    if deployments and "decode" in deployments[0]["evaluation"]:
        decode = deployments[0]["evaluation"]["decode"]
        figures["tokens_per_second_per_user"] = decode["tokens_per_second_per_user"]
        figures["tokens_per_second"] = sum(
            (each["evaluation"]["decode"]["tokens_per_second"] or 0.0)
            * each["replicas"]
            for each in deployments
        )
    return figures


# --- Why ------------------------------------------------------------------------------


def _why(
    found: Difference, one: Mapping[str, Any], other: Mapping[str, Any]
) -> Iterator[str]:
    """Say what is behind a change, as far as the documents tell."""
    if found.same and not found.assumptions:
        yield "nothing that matters changed"
        return
    if found.request:
        names = ", ".join(each.name for each in found.request)
        yield f"the question changed: {names}"
    if found.assumptions:
        names = ", ".join(each.name for each in found.assumptions)
        yield f"other assumptions: {names}"
    dearer = [each for each in found.prices if each.after > each.before]
    cheaper = [each for each in found.prices if each.after < each.before]
    for changed, word in ((dearer, "dearer"), (cheaper, "cheaper")):
        if changed:
            yield f"{word}: {', '.join(each.name for each in changed)}"
    if not found.parts:
        if found.figures:
            yield "the same parts: what they cost or do changed, and not the choice"
        return
    yield from _told(one, other, "before", "the second plan")
    yield from _told(other, one, "after", "the first plan")
    if not (found.request or found.assumptions or found.prices):
        yield "the question is the same: parts, prices or the model behind it changed"


def _told(
    plan: Mapping[str, Any], beside: Mapping[str, Any], when: str, where: str
) -> Iterator[str]:
    """Find a plan's choice among what another one did not choose, and why not."""
    for each in beside.get("alternatives") or ():
        bill = each["bill_of_materials"]
        if bill and {_name(line): line["quantity"] for line in bill} == _parts(plan):
            yield f"{where} knows the choice {when}, and why not: {each['why_not']}"
            return
