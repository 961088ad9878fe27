"""How demand varies over a week, as a load duration curve of a few steps."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


STEPS = 8
"""Shares of the peak are rounded up to eighths: a plan has a little too much in an hour
rather than too little, and as few kinds of hours as a schedule of scaling has."""

WEEKDAYS = 5
WEEKEND_DAYS = 2
HOURS_OF_A_WEEK = 168

FLAT: tuple[tuple[Fraction, Fraction], ...] = ((Fraction(1), Fraction(1)),)
"""The same demand in every hour."""


def duration_curve(
    weekday: Sequence[float], weekend: Sequence[float]
) -> tuple[tuple[Fraction, Fraction], ...]:
    """Sort the hours of a week by demand."""
    most = max((*weekday, *weekend))
    hours: Counter[int] = Counter()
    for shares, days in ((weekday, WEEKDAYS), (weekend, WEEKEND_DAYS)):
        for share in shares:
            hours[math.ceil(Fraction(share) / Fraction(most) * STEPS)] += days
    return tuple(
        (Fraction(step, STEPS), Fraction(count, HOURS_OF_A_WEEK))
        for step, count in sorted(hours.items(), reverse=True)
        if step
    )
