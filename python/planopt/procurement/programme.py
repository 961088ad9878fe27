"""From an offer to the rows of integer programmes.

All limits are linear but one: that any N replicas may be lost. With r the users of a
replica, or its tokens per second, what is left after the worst loss is

    users - (sum of the N largest r)  =  max over m >= 0 of
                                         (sum over replicas of min(r, m)) - N m.

Proof. Each of the N largest is at most m plus what it has beyond m, so their sum is at
most N m plus all that replicas have beyond m, whatever m; and it equals that where m
is the N-th largest r (or 0 where there are fewer than N replicas). Take both sides
from the users, and ``r - max(0, r - m) = min(r, m)``.

So the loss is borne if and only if, for some m among the distinct values of r,

    sum of  replicas * min(r, m) * count  >=  demand + N m,

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
from itertools import product
from typing import TYPE_CHECKING

from planopt.errors import InputError
from planopt.procurement.model import Row, at_least, at_most, exact

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt.procurement.problem import Offer


@dataclass(frozen=True, slots=True)
class Programme:
    """Rows over the counts of what is offered; a purchase satisfies one of the sets."""

    uppers: tuple[int, ...]  # Most copies of each that a best purchase has
    # All limits, once per size of replica that failures are measured at.
    row_sets: tuple[tuple[Row, ...], ...]

    @classmethod
    def of(cls, offer: Offer) -> Programme:
        """State the programme of an offer."""
        if offer.unlimited is not None:
            raise InputError.of(
                "E320",
                f"nothing limits how many {offer.unlimited} the most throughput takes",
                field="--objective",
                value="throughput",
                accepted="a budget, or a limit of power, racks or accelerators",
                help="add `--budget`, or `--stock` for every accelerator",
            )
        uppers = offer.uppers
        limited = tuple(
            at_most(need.group, [*map(exact, need.each)], Fraction(need.limit), uppers)
            for need in offer.needs
        )
        ways = product(_users(offer), _throughput(offer))
        return cls(uppers, tuple(limited + users + tokens for users, tokens in ways))


def _users(offer: Offer) -> Iterator[tuple[Row, ...]]:
    """Rows of the demand for users, one tuple per way to satisfy it."""
    demand = offer.demand
    if demand.users <= 0:
        yield ()
    elif demand.redundancy == 0:
        users = [*map(Fraction, offer.users)]
        yield (at_least("concurrency", users, Fraction(demand.users), offer.uppers),)
    else:
        users = [*map(Fraction, offer.replica_users)]
        yield from _left(offer, "concurrency", users, Fraction(demand.users))


def _throughput(offer: Offer) -> Iterator[tuple[Row, ...]]:
    """Rows of the demand for tokens, likewise."""
    demand = exact(offer.demand.tokens_per_second)
    if demand <= 0:
        yield ()
    elif offer.demand.redundancy == 0:
        tokens = [*map(exact, offer.tokens_per_second)]
        yield (at_least("throughput", tokens, demand, offer.uppers),)
    else:
        tokens = [*map(exact, offer.replica_tokens)]
        yield from _left(offer, "throughput", tokens, demand)


def _left(
    offer: Offer, name: str, of_replica: Sequence[Fraction], demand: Fraction
) -> Iterator[tuple[Row, ...]]:
    """Rows of what is left when replicas fail, one for each size of replica."""
    replicas = tuple(zip(offer.replicas, of_replica, strict=True))
    for size in sorted({min(each, demand) for each in of_replica}):
        up_to = [count * min(each, size) for count, each in replicas]
        needed = demand + offer.demand.redundancy * size
        yield (at_least(name, up_to, needed, offer.uppers),)
