"""Over what prices the choice stays the best: asked again, not read off duals.

Everything else being as it is, a purchase that has n of a part costs n dollars more
for each dollar that the part is dearer. So what the best purchase costs is, over the
price of one part, the lower envelope of straight lines, and the choice is on it over an
interval. Its end is found exactly: ask at the end of the band; where another purchase
is better there, ask where both cost the same; as long as a third one is better there,
go on with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.bill import AROUND
from planopt.documents.explanations import PriceRange, Uncertainty
from planopt.money import of_a_dollar
from planopt.planning.alternatives import is_within
from planopt.planning.flips import flips
from planopt.units import MICRO_USD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.documents.explanations import Alternative
    from planopt.documents.parts import BomLine
    from planopt.planning.question import ServingQuestion
    from planopt.serving.build import Build

CENT = 0.01
MOST_STEPS = 12
"""Each step finds another purchase on the way: more have not been seen."""


def uncertainty(
    question: ServingQuestion, chosen: Build, others: Sequence[Alternative]
) -> Uncertainty | None:
    """Ask how far prices may move, where a band of them was given."""
    band = question.problem.price_band
    if band is None or question.problem.objective != "cheapest":
        return None
    ranges = tuple(
        _range(question, chosen, line, band)
        for line in chosen.bill_of_materials
        if not line.owned and line.kind not in AROUND
    )
    next_best = next(filter(is_within, others), None)
    return Uncertainty(
        price_band=band,
        prices=ranges,
        # Under a load each would be judged as the plan was, and take as long.
        flips=() if question.problem.percentile else flips(question, chosen, band),
        worst_regret_usd=max((each.regret_usd for each in ranges), default=0.0),
        runner_up=None if next_best is None else next_best.summary,
        runner_up_regret_usd=None
        if next_best is None
        else _paid(question, next_best) - _paid(question, chosen),
    )


def _paid(question: ServingQuestion, build: Build | Alternative) -> float:
    """Return what a build costs, in the money that was asked about."""
    usd = build.usd_per_hour if question.problem.hourly else build.price_usd
    return usd or 0.0


class _Part:
    """One part, at other prices."""

    def __init__(self, question: ServingQuestion, line: BomLine) -> None:
        self._question = question
        self.line = line
        self.price = line.unit_price_usd or line.unit_usd_per_hour or 0.0

    def ask(self, usd: float) -> Build | None:
        """Answer the question with another price of the part."""
        other = self._question.about()
        catalog = self._question.catalog
        other.catalog = catalog.at_price(self.line.id, usd, self._terms)
        return other.best()

    @property
    def _terms(self) -> str | None:
        """Terms of an instance, which its name ends with."""
        if self.line.kind != "instance":
            return None
        return self.line.name.rpartition(", ")[2]

    def slope(self, build: Build) -> float:
        """Dollars more that a build costs for each dollar that the part is dearer.

        In racks also what freight and spares are a share of.
        """
        cost = self._question.catalog.cost
        dearer = 1.0 + cost.freight + cost.spares
        bills = [
            (line.quantity * (dearer if height else 1.0), height)
            for each in build.deployments
            for height in (each.hardware.rack_units,)
            for line in each.bill_of_materials
            if (line.kind, line.id, line.name, line.owned)
            == (self.line.kind, self.line.id, self.line.name, False)
        ]
        number = sum(quantity for quantity, _ in bills)
        if not self._question.problem.hourly:
            return number
        if self.line.kind == "instance":
            reserved = (self._terms or "").startswith("reserved")
            return number * (1.0 if reserved else cost.duty)
        return sum(quantity * of_a_dollar(cost, height) for quantity, height in bills)


def _range(
    question: ServingQuestion, chosen: Build, line: BomLine, band: float
) -> PriceRange:
    part = _Part(question, line)
    low, low_build, low_regret = _limit(question, chosen, part, -band)
    high, high_build, high_regret = _limit(question, chosen, part, band)
    return PriceRange(
        kind=line.kind,
        id=line.id,
        name=line.name,
        price_usd=part.price,
        low_usd=low,
        high_usd=high,
        low_choice=None if low_build is None else low_build.summary,
        high_choice=None if high_build is None else high_build.summary,
        regret_usd=max(low_regret, high_regret),
    )


def _limit(
    question: ServingQuestion, chosen: Build, part: _Part, share: float
) -> tuple[float | None, Build | None, float]:
    """Find the price at which another build takes over, that build, and the regret."""
    own, slope = _paid(question, chosen), part.slope(chosen)

    def cost_of_chosen(usd: float) -> float:
        return own + slope * (usd - part.price)

    tolerance = 1 / MICRO_USD if question.problem.hourly else CENT
    usd = part.price * (1 + share)
    end = part.ask(usd)
    if end is None or _paid(question, end) >= cost_of_chosen(usd) - tolerance:
        return None, None, 0.0
    regret = cost_of_chosen(usd) - _paid(question, end)
    other = end
    for _ in range(MOST_STEPS):
        steeper = slope - part.slope(other)
        if not steeper:
            break
        # Where the line of the other build meets that of the choice.
        usd -= (cost_of_chosen(usd) - _paid(question, other)) / steeper
        third = part.ask(usd)
        if third is None or _paid(question, third) >= cost_of_chosen(usd) - tolerance:
            break
        other = third
    return usd, other, regret
