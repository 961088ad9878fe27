"""The neutral integer model that is sent to the solver.

Everything in it is a whole number, so that "optimal" means optimal and not optimal to
within a tolerance. Money, watts and tokens per second become whole numbers by
`scaled`: exactly wherever the solver's arithmetic has room for it, and otherwise
rounded to the safe side (costs up, supplies down), so that a plan of the model is
always a plan of the problem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_ACTIVITY = 2**53
"""What a row may add up to: MPSolver passes numbers to CP-SAT as doubles."""

ZERO = Fraction(0)

SIGNIFICANT_DIGITS = 12
"""Digits of a figure that count; those after them are noise of binary arithmetic."""


@dataclass(frozen=True, slots=True)
class Row:
    """One linear constraint, ``lower <= coefficients . x <= upper``."""

    # Name of the limit it stands for, such as ``budget`` or ``stock:rtx-4090``.
    group: str
    coefficients: tuple[int, ...]  # One per variable that takes part
    # Bounds; none where there is none.
    lower: int | None = None
    upper: int | None = None
    variables: tuple[int, ...] | None = None  # Places of those; none where all do


@dataclass(frozen=True, slots=True)
class Model:
    """Minimise ``objective . x`` over whole ``0 <= x <= uppers`` under the rows."""

    uppers: tuple[int, ...]  # Largest value of each variable
    rows: tuple[Row, ...]  # The constraints
    objective: tuple[int, ...]  # One coefficient per variable


@dataclass(frozen=True, slots=True)
class Scaled:
    """Whole numbers that stand for ``values * scale``."""

    values: tuple[int, ...]  # The whole numbers
    scale: Fraction  # Units per unit of the original
    # Largest share by which rounding changed one of them; 0 where it is exact.
    relative_error: Fraction

    def dot(self, counts: Sequence[int]) -> int:
        """Value of a purchase in scaled units."""
        return sum(map(int.__mul__, self.values, counts))


@lru_cache(maxsize=1 << 16)
def exact(value: float) -> Fraction:
    """Take a figure as the decimal it was written as, to twelve digits.

    So ``0.1 + 0.2`` watts fit a limit of 0.3 watts.
    """
    if isinstance(value, int):
        return Fraction(value)
    return Fraction(f"{value:.{SIGNIFICANT_DIGITS}g}")


def scaled(
    values: Sequence[Fraction],
    uppers: Sequence[int],
    rounded: Callable[[Fraction], int] = math.ceil,
) -> Scaled:
    """Make whole numbers of figures."""
    # A unit that cannot be bought has no say in how fine the numbers are.
    values = [v if upper else ZERO for v, upper in zip(values, uppers, strict=True)]
    if not any(values):
        return Scaled((0,) * len(values), Fraction(1), ZERO)
    finest = Fraction(
        math.lcm(*(value.denominator for value in values)),
        math.gcd(*(value.numerator for value in values)),
    )
    # The denominators' multiple and the numerators' divisor may share factors.
    finest /= math.gcd(*(int(value * finest) for value in values))
    activity = sum(abs(v) * upper for v, upper in zip(values, uppers, strict=True))
    if activity * finest < MAX_ACTIVITY:
        whole = tuple(int(value * finest) for value in values)
        return Scaled(whole, finest, ZERO)
    # Half the room, because rounding adds up to one per copy bought.
    scale = Fraction(MAX_ACTIVITY // 2) / math.ceil(activity)
    smallest = min(abs(value) for value in values if value)
    return Scaled(
        tuple(rounded(value * scale) for value in values), scale, 1 / (scale * smallest)
    )


def at_most(
    group: str, values: Sequence[Fraction], limit: Fraction, uppers: Sequence[int]
) -> Row:
    """Row that keeps what a purchase needs within a limit."""
    needs = scaled(values, uppers, math.ceil)
    return Row(group, needs.values, upper=math.floor(limit * needs.scale))


def at_least(
    group: str, values: Sequence[Fraction], demand: Fraction, uppers: Sequence[int]
) -> Row:
    """Row that makes a purchase supply a demand."""
    supply = scaled(values, uppers, math.floor)
    return Row(group, supply.values, lower=math.ceil(demand * supply.scale))
