"""Which assumption flips the choice: each moved within the band, and asked again.

Prices have lines of their own (`price_ranges`). Here it is what the plan assumes of the
world and of its own predictions: cost per hour where anything may be rented, the tokens
that each user has cached, and how fast the choice really is.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from planopt.documents.explanations import Flip
from planopt.options import Edit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    low, low_choice = _limit(value, value * (1 - band), ask, chosen)
    end = value * (1 + band) if most is None else min(most, value * (1 + band))
    high, high_choice = _limit(value, end, ask, chosen)
    return Flip(
        name=name,
        value=value,
        low=low,
        high=high,
        low_choice=low_choice,
        high_choice=high_choice,
    )


def _limit(
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
