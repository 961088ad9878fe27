"""How sure a plan is: two lines of its first screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.price_sources import is_rough
from planopt.report.numbers import count, money
from planopt.report.screen import Parts

if TYPE_CHECKING:
    from planopt.documents.plan import PlanDocument

_GRADES = {
    "measured": "measured on this accelerator and model kind",
    "family": "measured on its family and model kind",
    "none": "none on this accelerator and model kind",
}


def sureness(plan: PlanDocument) -> list[Parts]:
    """Say what is known of predictions, and how likely all promises are kept."""
    known = plan.evidence
    if known is None:
        return []
    said = [_GRADES[known.grade]]
    if plan.oldest_price_date:
        said.append(f"oldest price {plan.oldest_price_date}")
    if known.rows:
        said.append(f"{count(known.rows)} rows")
    chance = []
    if plan.probability is not None:
        chance.append(f"{plan.probability:.0%} that all promises hold")
    if plan.confidence is not None:
        chance.append(f"{plan.confidence:.0%} asked")
    rough = is_rough(plan.bill_of_materials)
    prices = {
        50: plan.price_usd_at_confidence_50,
        95: plan.price_usd_at_confidence_95,
    }
    chance += [
        f"{money(usd, rough=rough, whole=True)} at {at}%"
        for at, usd in prices.items()
        if usd is not None
    ]
    return [Parts("Evidence", said), *([Parts("Chance", chance)] if chance else [])]
