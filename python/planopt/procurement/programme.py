"""From units and limits to the rows of integer programmes.

All limits are linear but one: that any N replicas may be lost. With r the users of a
replica, the users left after the worst loss are

    users - (sum of the N largest r)  =  max over m >= 0 of
                                         (sum over replicas of min(r, m)) - N m.

Proof. Each of the N largest is at most m plus what it has beyond m, so their sum is at
most N m plus all that replicas have beyond m, whatever m; and it equals that where m
is the N-th largest r (or 0 where there are fewer than N replicas). Take both sides
from the users, and ``r - max(0, r - m) = min(r, m)``.

So the loss is borne if and only if, for some m among the distinct values of r,

    sum of  replicas * min(replica_users, m) * count  >=  users + N m,

one linear row. An m beyond the users asked for, U, is not needed: let some m > U have
at least U users left, and cut every replica down to U users. If one of the replicas
that are left has U or more, it serves them all; if not, none of those left was cut, and
they are as many as before. Either way U users are left of the cut replicas, which is to
say that some m <= U does. There is one programme per m; a purchase is possible if it is
in any of them, and the best is the best over them. (For N = 1 it would do to leave out
replicas larger than m; for more losses that is too strict: with replicas of 8, 1 and 1
users, two losses cost 9 users and not 16.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from planopt.errors import InputError
from planopt.procurement.model import SIGNIFICANT_DIGITS, Row, at_least, at_most, exact
from planopt.procurement.problem import by_name, copies_enough, copies_possible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt.procurement.problem import Limits, Objective, Unit

__all__ = ["Programme"]


@dataclass(frozen=True, slots=True)
class Programme:
    """Rows over the counts of units; a purchase satisfies one of the row sets.

    Parameters
    ----------
    units : tuple of Unit
        By name.
    uppers : tuple of int
        Most copies of each that a best purchase has.
    row_sets : tuple of tuple of Row
        All limits, once per size of replica that failures are measured at.
    """

    units: tuple[Unit, ...]
    uppers: tuple[int, ...]
    row_sets: tuple[tuple[Row, ...], ...]

    @classmethod
    def of(
        cls, units: Sequence[Unit], limits: Limits, objective: Objective
    ) -> Programme:
        """State the programme of a question."""
        named = tuple(sorted(_noticeable(units, limits), key=by_name))
        uppers = tuple(_uppers(named, limits, objective))
        limited = tuple(
            at_most(group, needs, limit, uppers)
            for group, (needs, limit) in limits.resources(named).items()
        )
        if limits.tokens_per_second > 0:
            speeds = [exact(unit.tokens_per_second) for unit in named]
            demand = exact(limits.tokens_per_second)
            limited += (at_least("throughput", speeds, demand, uppers),)
        row_sets = tuple(limited + users for users in _users(named, limits, uppers))
        return cls(named, uppers, row_sets)


def _noticeable(units: Sequence[Unit], limits: Limits) -> Iterator[Unit]:
    """Leave out units whose throughput is lost among the digits that count.

    Beside what is asked for, or what the best of them supplies, it is no more than the
    noise that `exact` takes off. As many copies as would make up for that are beyond
    what any solver counts to.
    """
    supplies = [exact(unit.tokens_per_second) for unit in units]
    most = max([*supplies, exact(limits.tokens_per_second)])
    for unit, supply in zip(units, supplies, strict=True):
        if supply * 10**SIGNIFICANT_DIGITS > most:
            yield unit


def _uppers(
    units: Sequence[Unit], limits: Limits, objective: Objective
) -> Iterator[int]:
    """Most copies of each unit.

    Unless throughput itself is sought, a best purchase needs no more copies of a unit
    than meet the demands alone, n. Leaving out those beyond n keeps every limit and
    demand and costs no more. Nor is anything lost for $/Mtok: if the unit's own is no
    better than the purchase's, leaving copies out does not worsen it; and if it were
    better, n copies alone would be possible, and better than the purchase.
    """
    for unit, possible in zip(units, copies_possible(units, limits), strict=True):
        if objective != "throughput":
            enough = copies_enough(unit, limits)
            yield enough if possible is None else min(possible, enough)
        elif possible is not None:
            yield possible
        else:
            raise InputError.of(
                "E320",
                f"nothing limits how many {unit.accelerator} the most throughput takes",
                field="--objective",
                value="throughput",
                accepted="a budget, or a limit of power, racks or accelerators",
                help="add `--budget`, or `--stock` for every accelerator",
            )


def _users(
    units: Sequence[Unit], limits: Limits, uppers: Sequence[int]
) -> Iterator[tuple[Row, ...]]:
    """Rows of the demand for users, one tuple per way to satisfy it."""
    if limits.users <= 0:
        yield ()
    elif limits.redundancy == 0:
        users = [Fraction(unit.users) for unit in units]
        yield (at_least("users", users, Fraction(limits.users), uppers),)
    else:
        sizes = {min(unit.replica_users, limits.users) for unit in units}
        for size in sorted(sizes):
            users = [Fraction(unit.users_up_to(size)) for unit in units]
            demand = Fraction(limits.users + limits.redundancy * size)
            yield (at_least("users", users, demand, uppers),)
