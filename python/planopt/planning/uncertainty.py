"""Over what prices the choice stays the best: asked again, not read off duals.

Everything else being as it is, a purchase that has n of a part costs n dollars more
for each dollar that the part is dearer. So what the best purchase costs is, over the
price of one part, the lower envelope of straight lines, and the choice is on it over an
interval. Its end is found exactly: ask at the end of the band; where another purchase
is better there, ask where both cost the same; as long as a third one is better there,
go on with it.

The other assumptions are moved within the band one by one: cost per hour where anything
may be rented, the tokens that each user has cached, and how fast the choice really is.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from planopt.bill import AROUND
from planopt.documents.explanations import Flip, PriceRange, Uncertainty
from planopt.money import of_a_dollar
from planopt.options import Edit
from planopt.planning.alternatives import is_within
from planopt.units import MICRO_USD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from planopt.documents.explanations import Alternative
    from planopt.documents.parts import BomLine
    from planopt.planning.question import ServingQuestion
    from planopt.serving.build import Build


OF_AN_HOUR = {
    "electricity_usd_per_kwh": "electricity",
    "duty": "duty",
    "years": "years",
    "pue": "pue",
}
"""Assumptions that dollars per hour depend on, and their options; a purchase price
does not."""

BISECTIONS = 5
"""The limit is known to the band divided by 2 to the power of this."""

JUST_MORE = 1 + 1e-9


def flips(question: ServingQuestion, chosen: Build, band: float) -> tuple[Flip, ...]:
    """Find how far each assumption may move before another choice is better."""
    return (
        *_of_cost(question, chosen, band),
        *_of_context(question, chosen, band),
        *_of_speed(question, chosen, band),
    )


def _of_cost(question: ServingQuestion, chosen: Build, band: float) -> Iterator[Flip]:
    if not question.problem.hourly:
        return
    cost = question.catalog.cost
    for name, option in OF_AN_HOUR.items():
        ask = partial(_best_with, question, option)
        most = 1.0 if name == "duty" else None
        yield _flip(name, getattr(cost, name), ask, chosen, band, most=most)


def _of_context(
    question: ServingQuestion, chosen: Build, band: float
) -> Iterator[Flip]:
    def ask(value: float) -> Build | None:
        return _best_with(question, "max_model_len", round(value))

    context = question.problem.context_tokens
    yield _flip("context_tokens", context, ask, chosen, band)


def _best_with(question: ServingQuestion, option: str, value: float) -> Build | None:
    return question.edited(Edit({option: value})).best()


def _of_speed(question: ServingQuestion, chosen: Build, band: float) -> Iterator[Flip]:
    """Say how much slower than predicted it may be, and what would be bought then."""
    problem = question.problem
    speed = chosen.tokens_per_second_per_user
    slowest = problem.target / speed if speed else 1.0
    if not problem.target or slowest < 1 - band:
        yield Flip(name="predicted_speed", value=1.0)
        return
    other = _best_with(question, "target", speed * JUST_MORE)
    yield Flip(
        name="predicted_speed",
        value=1.0,
        low=slowest,
        low_choice="no plan" if other is None else other.summary,
    )


def _flip(
    name: str,
    value: float,
    ask: Callable[[float], Build | None],
    chosen: Build,
    band: float,
    *,
    most: float | None = None,
) -> Flip:
    low, low_choice = _end(value, value * (1 - band), ask, chosen)
    end = value * (1 + band) if most is None else min(most, value * (1 + band))
    high, high_choice = _end(value, end, ask, chosen)
    return Flip(
        name=name,
        value=value,
        low=low,
        high=high,
        low_choice=low_choice,
        high_choice=high_choice,
    )


def _end(
    inside: float,
    outside: float,
    ask: Callable[[float], Build | None],
    chosen: Build,
) -> tuple[float | None, str | None]:
    """Bisect for where the choice changes; none if it is the same at the end."""
    if inside == outside:
        return None, None
    other = ask(outside)
    if _same(other, chosen):
        return None, None
    for _ in range(BISECTIONS):
        middle = (inside + outside) / 2
        found = ask(middle)
        if _same(found, chosen):
            inside = middle
        else:
            outside, other = middle, found
    return outside, "no plan" if other is None else other.summary


def _same(build: Build | None, chosen: Build) -> bool:
    return build is not None and build.bill_of_materials == chosen.bill_of_materials


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
            return number * (1.0 if reserved else cost.paid_on_demand)
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
