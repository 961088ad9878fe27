"""An integer programme of a fleet: each of its variables stands for a purchase.

A variable costs what its purchase costs and uses what that uses; a solution is the sum
of the purchases. What a selection, the choice of covers and the free mix ask beyond
that, they write as rows of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.errors import InternalError
from planopt.fleets.purchase import Purchase, cost_cents, total, used
from planopt.procurement.model import MAX_ACTIVITY, Model, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from planopt.fleets.problem import Fleet


class Programme:
    """Variables with what they stand for, and rows, as they are written."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.uppers: list[int] = []
        self._costs: list[int] = []
        self._rows: list[Row] = []
        self._stands_for: dict[int, Purchase] = {}
        self._uses: dict[tuple[str, int], dict[int, int]] = {}

    def variable(self, upper: int, cost: int = 0) -> int:
        """Add a whole variable from 0 to `upper`."""
        self.uppers.append(upper)
        self._costs.append(cost)
        return len(self.uppers) - 1

    def choice(
        self, upper: int, purchase: Purchase, uses: Purchase | None = None
    ) -> int:
        """Add a variable for so many times a purchase; what it uses, unless said."""
        variable = self.variable(upper, cost_cents(self.fleet, purchase))
        self._stands_for[variable] = purchase
        self.use(variable, purchase if uses is None else uses)
        return variable

    def use(self, variable: int, purchase: Purchase) -> None:
        """Note that a variable uses what a purchase does."""
        for key, amount in used(self.fleet, purchase).items():
            self._uses.setdefault(key, {})[variable] = amount

    def acquisitions(self, kit: int, most: int) -> dict[tuple[int, int], int]:
        """Add a variable for the copies of a kit that are acquired in each period."""
        return {
            (kit, period): self.choice(most, Purchase(acquired={(kit, period): 1}))
            for period in self.fleet.periods
        }

    def containers(self) -> dict[int, int]:
        """Add a variable for the number of each container."""
        return {
            place: self.choice(container.most, Purchase(containers={place: 1}))
            for place, container in enumerate(self.fleet.containers)
        }

    def row(
        self,
        group: str,
        terms: Mapping[int, int],
        *,
        lower: int | None = None,
        upper: int | None = None,
    ) -> int | None:
        """Add a row and return its place; what always holds is left out."""
        known = {place: factor for place, factor in terms.items() if factor}
        ends = [factor * self.uppers[place] for place, factor in known.items()]
        if sum(map(abs, ends)) >= MAX_ACTIVITY:
            raise InternalError.of("E903", f"the row {group} exceeds the solver")
        if upper is not None and sum(end for end in ends if end > 0) <= upper:
            upper = None
        if lower is not None and sum(end for end in ends if end < 0) >= lower:
            lower = None
        if lower is None and upper is None:
            return None
        row = Row(group, tuple(known.values()), lower, upper, tuple(known))
        self._rows.append(row)
        return len(self._rows) - 1

    def hosts(
        self, kit: int, acquired: Iterable[int], at_work: Mapping[int, int]
    ) -> int | None:
        """Ask that what is at work of a kit was acquired until then."""
        terms = {**dict.fromkeys(acquired, 1), **{v: -n for v, n in at_work.items()}}
        return self.row(f"hosts of {self.fleet.kits[kit].name}", terms, lower=0)

    def limits(self) -> dict[tuple[str, int], int]:
        """Write a row for each limit, and tell their places; of equal ones, one."""
        written: set[tuple[str, frozenset[tuple[int, int]]]] = set()
        places = {}
        for name, period in sorted(self._uses):
            terms = self._uses[name, period]
            known = name, frozenset(terms.items())
            if known not in written:
                written.add(known)
                row = self.row(name, terms, upper=self.fleet.limits[name])
                if row is not None:
                    places[name, period] = row
        return places

    @property
    def model(self) -> Model:
        """The programme written so far."""
        return Model(tuple(self.uppers), tuple(self._rows), tuple(self._costs))

    def purchase(self, values: Sequence[int]) -> Purchase:
        """Read a solution."""
        return total(
            (purchase, values[place])
            for place, purchase in self._stands_for.items()
            if values[place]
        )
