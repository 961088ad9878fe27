"""The neutral integer model that is sent to the solver.

Everything in it is a whole number, so that "optimal" means optimal and not optimal to
within a tolerance. Money, watts and tokens per second become whole numbers by
`scaled`: exactly wherever the solver's arithmetic has room for it, and otherwise
rounded to the safe side (costs up, supplies down), so that a plan of the model is
always a plan of the problem.

All limits are linear but one: that any N hosts may be lost, or devices, switches or
racks. A unit falls into parts of which each is lost whole. With r the users of a part,
or its tokens per second, what is left after the worst loss is

    users - (sum of the N largest r)  =  max over m >= 0 of
                                         (sum over parts of min(r, m)) - N m.

Proof. Each of the N largest is at most m plus what it has beyond m, so their sum is at
most N m plus all that parts have beyond m, whatever m; and it equals that where m is
the N-th largest r (or 0 where there are fewer than N parts). Take both sides from the
users, and ``r - max(0, r - m) = min(r, m)``. Units of which nothing fails count whole.

So the loss is borne if and only if, for some m among the distinct values of r (and 0,
where some units do not fail),

    sum of  parts * min(r, m) * count  >=  demand + N m,

one linear row. An m beyond the users asked for, U, is not needed: let some m > U have
at least U users left, and cut every part down to U users. If one of the parts that are
left has U or more, it serves them all; if not, none of those left was cut, and they are
as many as before. Either way U users are left of the cut parts, which is to say that
some m <= U does. There is one programme per m; a purchase is possible if it is in any
of them, and the best is the best over them. (For N = 1 it would do to leave out parts
larger than m; for more losses that is too strict: with parts of 8, 1 and 1 users, two
losses cost 9 users and not 16.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product

from msgspec import Struct

from planopt.errors import InputError
from planopt.procurement.problem import Offer

MAX_ACTIVITY = 2**53
"""What a row may add up to: MPSolver passes numbers to CP-SAT as doubles."""

ZERO = Fraction(0)

SIGNIFICANT_DIGITS = 12
"""Digits of a figure that count; those after them are noise of binary arithmetic."""


class Row(Struct, frozen=True):
    """One linear constraint, ``lower <= coefficients . x <= upper``."""

    # Name of the limit it stands for, such as ``budget`` or ``stock:rtx-4090``.
    group: str
    coefficients: tuple[int, ...]  # One per variable that takes part
    # Bounds; none where there is none.
    lower: int | None = None
    upper: int | None = None
    variables: tuple[int, ...] | None = None  # Places of those; none where all do


class Model(Struct, frozen=True):
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


def row_sets(offer: Offer) -> tuple[tuple[Row, ...], ...]:
    """State all limits of an offer, once per size of part that failures are told at.

    A purchase satisfies one of these sets.
    """
    if offer.unlimited is not None:
        raise InputError.of(
            "E320",
            f"nothing limits how many {offer.unlimited} the most throughput takes",
            field="--objective",
            value="throughput",
            accepted="a budget, or a limit of power, racks or accelerators",
            help="add `--budget`, or `--stock` for every accelerator",
        )
    limited = tuple(
        at_most(
            need.group, [*map(exact, need.each)], Fraction(need.limit), offer.uppers
        )
        for need in offer.needs
    )
    demand, failures = offer.demand, offer.failures
    users = _ways(
        offer,
        "concurrency",
        Fraction(demand.users),
        [*map(Fraction, offer.users)],
        [[*map(Fraction, each.part_users)] for each in failures],
    )
    tokens = _ways(
        offer,
        "throughput",
        exact(demand.tokens_per_second),
        [*map(exact, offer.tokens_per_second)],
        [[*map(exact, each.part_tokens)] for each in failures],
    )
    return tuple(limited + users + tokens for users, tokens in product(users, tokens))


def _ways(
    offer: Offer,
    name: str,
    demand: Fraction,
    supplied: Sequence[Fraction],
    of_part: Sequence[Sequence[Fraction]],
) -> Iterator[tuple[Row, ...]]:
    """Rows of a demand, one tuple per way to satisfy it, whatever fails."""
    if demand <= 0:
        yield ()
        return
    if not offer.failures:
        yield (at_least(name, supplied, demand, offer.uppers),)
        return

    def of_parts(up_to: Fraction, needed: Fraction) -> Row:
        """Row of what is supplied where no part counts for more than so much."""
        counted = [
            number * min(each, up_to) if number else whole
            for whole, number, each in parts
        ]
        return at_least(name, counted, needed, offer.uppers)

    left, carried = [], []
    for failure, of_each in zip(offer.failures, of_part, strict=True):
        parts = [*zip(supplied, failure.parts, of_each, strict=True)]
        sizes = {min(each, demand) if number else ZERO for _, number, each in parts}
        # What the largest costs soon rules the small ones out.
        largest_first = sorted(sizes, reverse=True)
        left.append(
            [of_parts(size, demand + failure.losses * size) for size in largest_first]
        )
        if failure.share:
            # None may take more of the demand away.
            carried.append([of_parts(exact(failure.share) * demand, demand)])
    yield from product(*left, *carried)
