"""Warnings: what to know before acting on a plan."""

from __future__ import annotations

import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from planopt.plan import PlanWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt.build import Build
    from planopt.catalog import Catalog
    from planopt.evaluation import BomLine
    from planopt.solve import Question

__all__ = ["KNIFE_EDGE", "cautions"]

KNIFE_EDGE = 0.2
"""Share of the target by which a speed must clear it to be believed: until issue
"Accuracy" has measured our own error, that of the best public predictors of decode
speed on hardware they were not fitted to."""

OLD_PRICE_DAYS = 365

_KIND_FOLDERS = {
    "accelerator": "accelerators",
    "host": "hosts",
    "machine": "hosts",
}


def cautions(question: Question, chosen: Build) -> tuple[PlanWarning, ...]:
    """Look for what a buyer should hear of.

    Parameters
    ----------
    question : Question
        What was asked.
    chosen : Build
        What would be bought.
    """
    return tuple(
        (
            *_context(question, chosen),
            *_knife_edge(question, chosen),
            *_licence(question, chosen),
            *_quantised(question, chosen),
            *_prices(question.catalog, chosen),
        )
    )


def _context(question: Question, chosen: Build) -> Iterator[PlanWarning]:
    served = question.problem.served
    context = served.lengths.context
    if any(each.name == "context" for each in question.problem.assumed):
        yield PlanWarning(
            code="W005",
            message=f"context is assumed: {context} tokens per user",
            help="say --context N; memory and speed depend on it",
        )
    most = question.catalog.native.model(
        {"model": served.model, "kv_heads": served.kv_heads}
    )["max_context"]
    if context > most:
        yield PlanWarning(
            code="W007",
            message=f"{served.model} was made for {most} tokens, not {context}",
            help="quality beyond its own context is not known",
        )
    del chosen


def _knife_edge(question: Question, chosen: Build) -> Iterator[PlanWarning]:
    target = question.problem.target
    speed = chosen.tokens_per_second_per_user
    if target and speed < target * (1 + KNIFE_EDGE):
        yield PlanWarning(
            code="W001",
            message=(
                f"{speed:.2f} tok/s is only {speed / target - 1:.0%} above the target "
                f"of {target:g}: a knife edge"
            ),
            help="see what --target 20 % higher would cost, under sensitivity",
        )


def _licence(question: Question, chosen: Build) -> Iterator[PlanWarning]:
    if question.problem.datacenter:
        return
    for accelerator in sorted({d.candidate.accelerator for d in chosen.deployments}):
        entry = question.catalog.show("accelerators", accelerator)
        allowed = {f["field"]: f["text"] for f in entry["figures"]}
        if allowed.get("datacenter_licence") == "false":
            yield PlanWarning(
                code="W003",
                message=f"the driver licence of {entry['name']} forbids data centers",
                help="--datacenter leaves such parts out",
            )


def _quantised(question: Question, chosen: Build) -> Iterator[PlanWarning]:
    served = question.problem.served
    own = question.catalog.native.model({"model": served.model})["weights"]
    for weights in sorted({str(d.candidate.weights) for d in chosen.deployments}):
        if weights != own and not (weights in _WIDE and own in _WIDE):
            yield PlanWarning(
                code="W008",
                message=f"weights in {weights}, published in {own}: check the quality",
            )


_WIDE = frozenset({"fp32", "bf16", "fp16"})


def _prices(catalog: Catalog, chosen: Build) -> Iterator[PlanWarning]:
    """Prices remembered rather than read, and prices that are old."""
    remembered, old = [], []
    for line in chosen.bill_of_materials:
        found = _price_source(catalog, line)
        if found is None:
            continue
        status, date = found
        if status == "from-memory":
            remembered.append(line.name)
        if date is not None and _age_days(date) > OLD_PRICE_DAYS:
            old.append(f"{line.name} ({date})")
    if remembered:
        yield PlanWarning(
            code="W002",
            message=f"prices from memory, to be checked: {', '.join(remembered)}",
        )
    if old:
        yield PlanWarning(
            code="W006",
            message=f"prices older than a year: {', '.join(old)}",
            help="put today's into an overlay: --catalog DIR",
        )


def _price_source(catalog: Catalog, line: BomLine) -> tuple[str, str | None] | None:
    folder = _KIND_FOLDERS.get(line.kind)
    if folder is None:
        return None
    for figure in catalog.show(folder, line.id)["figures"]:
        if figure["field"] == "price":
            return figure["status"], figure["date"]
    return None


@lru_cache(maxsize=64)
def _age_days(date: str) -> int:
    """Days since a date that may lack its day or month: from the end of that time."""
    parts = [int(part) for part in date.split("-") if part.isdigit()]
    year, month, day = (*parts, 12, 28)[:3] if len(parts) < 3 else parts[:3]
    if len(parts) == 1:
        month, day = 12, 28
    elif len(parts) == 2:
        day = 28
    return (
        datetime.datetime.now(tz=datetime.timezone.utc).date()
        - datetime.date(year, month, day)
    ).days
