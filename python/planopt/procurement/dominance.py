"""Units that no best purchase needs."""

from __future__ import annotations

from collections import defaultdict
from operator import le
from typing import TYPE_CHECKING

from planopt.procurement.model import exact
from planopt.procurement.problem import by_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.procurement.problem import Unit

__all__ = ["undominated"]


def undominated(units: Sequence[Unit]) -> list[Unit]:
    """Drop every unit that another one replaces without loss.

    Unit j replaces i if both are of one accelerator, j needs no more of anything that
    is paid or limited (price, running cost, purchase money, power, rack units,
    accelerators) and gives no less of anything that is asked for (users, replicas,
    throughput, speed). A unit that equals another in price, running cost, power and
    throughput must also have the later name.

    Proof that no optimum is lost. Put a j in place of each i. Needs do not rise, so
    upper limits hold, and since the accelerator is the same, so does its stock.
    Throughput and the slowest speed do not fall. Users after the loss of the N largest
    replicas do not fall: they are the most, over m >= 0, that the sum of
    ``replicas * min(replica_users, m)`` exceeds ``N m`` by (proof in
    `planopt.procurement.programme`), and no term is smaller for j. For m up to the
    smaller of both replica sizes it is ``replicas * m``, and j has no fewer replicas.
    Beyond, if j has the larger replicas, it is at least
    ``replicas_j * min(replica_users_i, m)``, no less than that of i; and otherwise it
    is all users of j, no fewer than those of i. Price and power do not rise, and nor
    does $/Mtok, a smaller sum over a larger one; where all of them stay, j has the
    earlier name. So the new purchase comes no later in any order that `buy` uses. The
    relation is transitive and has no cycles, so each unit dropped is replaced by one
    that is kept.

    Across accelerators nothing is dropped: limited stock makes the dear one useful.
    """
    groups: defaultdict[str, list[Unit]] = defaultdict(list)
    for unit in sorted(units, key=by_name):
        groups[unit.accelerator].append(unit)
    kept: list[Unit] = []
    for group in groups.values():
        kept += _front(group)
    return sorted(kept, key=by_name)


def _front(group: Sequence[Unit]) -> list[Unit]:
    """Units of one accelerator that none of the others replaces.

    One that replaces another sorts before it, so looking at those kept is enough.
    """
    kept: list[tuple[Unit, tuple[float, ...]]] = []
    for unit in sorted(group, key=lambda unit: (_ordered(unit), by_name(unit))):
        figures = _ordered(unit) + _other(unit)
        if not any(all(map(le, better, figures)) for _, better in kept):
            kept.append((unit, figures))
    return [unit for unit, _ in kept]


def _plain(value: float) -> float:
    """Take binary noise off a figure; floats compare faster than fractions."""
    return float(exact(value))


def _ordered(unit: Unit) -> tuple[float, ...]:
    """Figures that every order of `buy` looks at; less is better."""
    return (
        _plain(unit.price_micro_usd),
        _plain(unit.usd_per_hour),
        _plain(unit.power_watts),
        -_plain(unit.tokens_per_second),
    )


def _other(unit: Unit) -> tuple[float, ...]:
    """Figures that only limits and one objective look at; less is better."""
    return (
        _plain(unit.capital_micro_usd),
        _plain(unit.rack_units),
        _plain(unit.accelerators),
        _plain(-unit.users),
        _plain(-unit.replicas),
        -_plain(unit.tokens_per_second_per_user),
    )
