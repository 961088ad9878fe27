"""Cleaning: rules by name, and a count of the rows that each left out or changed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

__all__ = ["Ledger", "Raw", "kept"]

Raw = dict[str, str]
"""A row as its source has it."""


class Ledger:
    """What became of the rows of one source, rule by rule."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.rows = 0
        self.kept = 0
        self.left_out: Counter[str] = Counter()
        self.changed: Counter[str] = Counter()

    def lines(self) -> list[str]:
        """Return the lines of a Markdown table."""
        counts = [f"| {self.file} | rows | {self.rows} |"]
        counts += [f"| | left out: {rule} | {n} |" for rule, n in self.left_out.items()]
        counts += [f"| | changed: {rule} | {n} |" for rule, n in self.changed.items()]
        return [*counts, f"| | kept | {self.kept} |"]


def repeats(content: Callable[[Raw], Hashable]) -> Callable[[Raw], bool]:
    """Return the rule that leaves out what an earlier row has said."""
    seen: set[Hashable] = set()

    def repeats_another_row(row: Raw) -> bool:
        known = content(row) in seen
        seen.add(content(row))
        return known

    return repeats_another_row


def kept(
    rows: Iterable[Raw], rules: Iterable[Callable[[Raw], bool]], ledger: Ledger
) -> list[Raw]:
    """Leave out rows of which a rule is true; the first one counts."""
    rules = list(rules)
    found = []
    for row in rows:
        broken = next((rule for rule in rules if rule(row)), None)
        if broken is None:
            found.append(row)
        else:
            ledger.left_out[broken.__name__.replace("_", " ")] += 1
    return found
