"""Writing an integer programme row by row, and reading its solution."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from planopt.errors import InternalError
from planopt.procurement.model import MAX_ACTIVITY, Model, SparseRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from planopt.fleet.problem import Fleet

__all__ = ["Using", "Writer"]


class Writer:
    """Collects variables and rows of a programme."""

    def __init__(self) -> None:
        self._uppers: list[int] = []
        self._costs: list[int] = []
        self._rows: list[SparseRow] = []

    @property
    def uppers(self) -> Sequence[int]:
        """Largest value of each variable."""
        return self._uppers

    def variable(self, upper: int, cost: int = 0) -> int:
        """Add a whole variable from 0 to `upper`."""
        self._uppers.append(upper)
        self._costs.append(cost)
        return len(self._uppers) - 1

    def row(
        self,
        group: str,
        terms: Mapping[int, int] | Iterable[tuple[int, int]],
        *,
        lower: int | None = None,
        upper: int | None = None,
    ) -> int | None:
        """Add a row and return its place; what always holds is left out."""
        known = dict(terms)
        known = {place: factor for place, factor in known.items() if factor}
        ends = [factor * self._uppers[place] for place, factor in known.items()]
        if sum(map(abs, ends)) >= MAX_ACTIVITY:
            raise InternalError.of("E903", f"the row {group} exceeds the solver")
        if upper is not None and sum(end for end in ends if end > 0) <= upper:
            upper = None
        if lower is not None and sum(end for end in ends if end < 0) >= lower:
            lower = None
        if lower is None and upper is None:
            return None
        self._rows.append(
            SparseRow(group, tuple(known), tuple(known.values()), lower, upper)
        )
        return len(self._rows) - 1

    def model(self) -> Model:
        """Return the programme written so far."""
        return Model(tuple(self._uppers), tuple(self._rows), tuple(self._costs))


class Using:
    """Adds up what every variable uses of each limited thing in each period."""

    def __init__(self, fleet: Fleet, writer: Writer) -> None:
        self._fleet = fleet
        self._writer = writer
        self._terms: dict[tuple[str, int], Counter[int]] = {}

    def add(
        self, uses: Mapping[str, int], variable: int, period: int, times: int = 1
    ) -> None:
        """Note that a variable uses these things in a period."""
        for name, amount in uses.items():
            if name in self._fleet.limits:
                terms = self._terms.setdefault((name, period), Counter())
                terms[variable] += amount * times

    def containers(self) -> list[int]:
        """Add a variable for the number of each container, and what it gives."""
        periods = self._fleet.periods
        places = []
        for container in self._fleet.containers:
            place = self._writer.variable(container.most, container.charge_cents)
            places.append(place)
            for period in periods:
                self.add(container.uses, place, period)
                for name, amount in container.gives.items():
                    self.add({name: -amount}, place, period)
        return places

    def rows(self) -> dict[tuple[str, int], int]:
        """Write a row for each limit, and tell their places; of equal ones, one."""
        written: set[tuple[str, frozenset[tuple[int, int]]]] = set()
        places = {}
        for (name, period), terms in sorted(self._terms.items()):
            known = name, frozenset(terms.items())
            if known not in written:
                written.add(known)
                row = self._writer.row(name, terms, upper=self._fleet.limits[name])
                if row is not None:
                    places[name, period] = row
        return places
