"""How sure a plan is: lines of its first screen, and scenarios it was compared in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.price_sources import is_rough
from planopt.report.numbers import count, money
from planopt.report.screen import Parts
from planopt.report.table import Sentence, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt.documents.explanations import Scenarios, WorthMeasuring
    from planopt.documents.plan import PlanDocument
    from planopt.report.table import Block

_SUMS = (
    *("price_usd_p50", "price_usd_p80", "price_usd_p95"),
    *("cvar95_usd", "regret_usd_p95"),
)
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
        data = (kind.data or "" for kind in known.kinds)
        last = max(each.partition("; ")[2].rpartition(" ")[2] for each in data)
        said.append(f"{count(known.rows)} rows" + (f", {last}" if last else ""))
    chance = []
    if plan.probability is not None:
        chance.append(f"{plan.probability:.0%} that all promises hold")
    if plan.confidence is not None:
        chance.append(f"{plan.confidence:.0%} asked")
    rough = is_rough(plan.bill_of_materials)
    median, safe = plan.price_usd_at_confidence_50, plan.price_usd_at_confidence_95
    prices = {50: median, 95: safe}
    chance += [
        f"{money(usd, rough=rough, whole=True)} at {at}%"
        for at, usd in prices.items()
        if usd is not None
    ]
    lines = {
        "Evidence": said,
        "Chance": chance,
        "Scenarios": _scenarios(plan.scenarios),
        "Measure": _worth(plan),
    }
    return [Parts(label, parts) for label, parts in lines.items() if parts]


def _scenarios(told: Scenarios | None) -> list[str]:
    """Say how often the plan is the best, and what it comes to at worst."""
    if told is None:
        return []
    costs = {"P50": told.price_usd_p50, "P95": told.price_usd_p95}
    costs["CVaR95"] = told.cvar95_usd
    return [
        f"best in ~{told.p_best:.0%} of {count(told.drawn)}",
        f"holds in ~{told.p_holds:.0%}",
        *(f"{at} {money(usd, rough=True, whole=True)}" for at, usd in costs.items()),
    ]


def _worth(plan: PlanDocument) -> list[str]:
    """Say what is worth measuring first."""
    if not plan.worth_measuring:
        return []
    first = plan.worth_measuring[0]
    rent = first.rent_usd
    saved = money(first.saves_usd, rough=True, whole=True)
    return [
        f"{first.accelerators} × {first.accelerator} for 20 min",
        f"saves {saved} in the mean",
        f"~{first.changes_choice:.0%} another choice",
        *([] if rent is None else [f"rent {money(rent)}"]),
    ]


def measuring(told: Sequence[WorthMeasuring]) -> Iterator[Block]:
    """Lay out what is worth measuring."""
    rows = [
        (
            each.configuration,
            "" if each.rent_usd is None else money(each.rent_usd),
            f"{each.changes_choice:.0%}",
            money(each.saves_usd, whole=True),
            each.without,
            each.instead,
        )
        for each in told
    ]
    figures = ">rent", ">changes", ">saves"
    yield Table(("20 minutes of", *figures, "without it", "then often"), rows)


def risks(told: Scenarios) -> Iterator[Block]:
    """Lay the plan and its alternatives out beside each other, and say of what."""
    costs = ">P50", ">P80", ">P95", ">CVaR95"
    rows = [
        (
            each.summary,
            *(f"{share:.0%}" for share in (each.p_best, each.p_holds)),
            *(money(getattr(each, sum_), whole=True) for sum_ in _SUMS),
        )
        for each in told.regret
    ]
    yield Table(("", ">best", ">holds", *costs, ">regret P95"), rows)
    yield Sentence(
        f"{count(told.drawn)} scenarios, seed {told.seed}: demand off by "
        f"{told.demand_spread:.0%}, prices of memory and wafers by "
        f"{told.common_price_spread:.0%}, each part's own by "
        f"{told.own_price_spread:.0%} (assumed), speeds as errors on file; "
        f"none holds in {told.p_none_holds:.0%}; "
        f"what is missing is bought later at {told.later_price_ratio:g} times its price"
    )
