"""Two plans held against each other: what changed, and what is behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct, structs

from planopt.documents.evaluation import Deployment, ServingEvaluation
from planopt.documents.explanations import Alternative, TrainingAlternative
from planopt.documents.fleet import FleetDeployment, FleetPlan
from planopt.documents.plan import Plan, PlanDocument, TrainingPlan
from planopt.documents.training import TrainingDeployment

Deployed: TypeAlias = Deployment | TrainingDeployment | FleetDeployment


class Changed(Struct, frozen=True, kw_only=True):
    """A value that differs."""

    name: str
    before: Any = None
    after: Any = None


class Difference(Struct, frozen=True, kw_only=True):
    """What lies between two plans."""

    schema: Literal["planopt.diff/2"] = "planopt.diff/2"
    request: tuple[Changed, ...] = ()  # What was asked for
    assumptions: tuple[Changed, ...] = ()
    """What was assumed, where it was not asked for."""
    prices: tuple[Changed, ...] = ()
    """Prices of the parts that both plans have, one of each."""
    parts: tuple[Changed, ...] = ()  # Numbers of parts
    layout: tuple[Changed, ...] = ()  # How the model is spread, of each deployment
    figures: tuple[Changed, ...] = ()  # What comes of it
    why: tuple[str, ...] = ()
    """What is behind the change, as far as the two documents tell."""

    @property
    def same(self) -> bool:
        """Whether both plans ask for, buy and promise the same."""
        return not any((self.request, self.prices, self.parts, self.figures))


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
    found = Difference(
        request=tuple(_changed(_asked(before), _asked(after), skip=BOOKKEEPING)),
        assumptions=tuple(_assumptions(before, after)),
        prices=tuple(_changed(_prices(before), _prices(after), both=True)),
        parts=tuple(_changed(_parts(before), _parts(after))),
        layout=tuple(_changed(_layout(before), _layout(after))),
        figures=tuple(_changed(_figures(before), _figures(after))),
    )
    return structs.replace(found, why=tuple(_why(found, before, after)))


def _asked(plan: PlanDocument) -> dict[str, object]:
    asked: dict[str, object] = msgspec.to_builtins(plan.request)
    return asked


def _changed(
    before: Mapping[str, object],
    after: Mapping[str, object],
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


def _assumptions(one: PlanDocument, other: PlanDocument) -> Iterator[Changed]:
    yield from _changed(
        {"assumptions": one.assumptions}, {"assumptions": other.assumptions}
    )
    yield from _changed(
        {each.name: each.value for each in one.assumed},
        {each.name: each.value for each in other.assumed},
    )


def _prices(plan: PlanDocument) -> dict[str, float]:
    """Price of one of each part; of an instance, that of an hour."""
    prices = {
        line.name: line.unit_price_usd or line.unit_usd_per_hour
        for line in plan.bill_of_materials
        if not line.owned
    }
    return {name: price for name, price in prices.items() if price is not None}


def _parts(plan: PlanDocument | Alternative | TrainingAlternative) -> dict[str, int]:
    return {
        f"{line.name}{' (owned)' * line.owned}": line.quantity
        for line in plan.bill_of_materials
    }


def _deployments(plan: PlanDocument) -> tuple[Deployed, ...]:
    if isinstance(plan, (Plan, TrainingPlan, FleetPlan)):
        return plan.deployments
    return ()


def _layout(plan: PlanDocument) -> dict[str, object]:
    deployments = _deployments(plan)
    return {
        f"{place}.{name}" if len(deployments) > 1 else name: value
        for place, each in enumerate(deployments)
        for name, value in (
            *structs.asdict(each.candidate).items(),
            ("replicas", each.replicas),
        )
    }


def _figures(plan: PlanDocument) -> dict[str, object]:
    figures: dict[str, object] = {
        "status": plan.status,
        "price_usd": plan.price_usd,
        "power_watts": plan.power_watts,
        "usd_per_hour": plan.cost.usd_per_hour,
        "usd_per_million_tokens": plan.cost.usd_per_million_tokens,
        **{f"{each.name}_usd_per_hour": each.usd_per_hour for each in plan.cost.parts},
    }
    served = [
        (each.evaluation.decode, each.replicas)
        for each in _deployments(plan)
        if isinstance(each.evaluation, ServingEvaluation)
    ]
    if served:
        speed = served[0][0].tokens_per_second_per_user
        figures["tokens_per_second_per_user"] = speed
        figures["tokens_per_second"] = sum(
            (decode.tokens_per_second or 0.0) * replicas for decode, replicas in served
        )
    return figures


# --- Why ------------------------------------------------------------------------------


def _why(found: Difference, one: PlanDocument, other: PlanDocument) -> Iterator[str]:
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
    plan: PlanDocument, other: PlanDocument, when: str, where: str
) -> Iterator[str]:
    """Find a plan's choice among what another one did not choose, and why not."""
    if isinstance(other, (Plan, TrainingPlan)):
        for each in other.alternatives:
            if each.bill_of_materials and _parts(each) == _parts(plan):
                yield f"{where} knows the choice {when}, and why not: {each.why_not}"
                return
