"""The first screen: lines that end where the terminal does, no more than it has."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from planopt.report.numbers import rate
from planopt.report.style import UNKNOWN, head, seen, warn
from planopt.report.table import Block, Sentence, Table, beside, laid, shortened, width

HEIGHT, TALL = 24, 40
"""Lines of a terminal, and of what has a table of its own more to show."""
_LABEL = 8
_FEWEST = 2
"""Rows of the table that gives way."""


@dataclass(frozen=True)
class Ends:
    """A line with something at either end; the left one is shortened."""

    left: str
    right: str = ""
    mark: Callable[[str], str] = str

    def lines(self) -> list[str]:
        """Put the right one where the terminal ends."""
        room = width() - (seen(self.right) + 2 if self.right else 0)
        left = shortened(self.left, room)
        blanks = " " * (width() - seen(self.right) - len(left)) if self.right else ""
        return [f"{self.mark(left)}{blanks}{self.right}"]


@dataclass(frozen=True)
class Parts:
    """What is said in short: the parts that a line has room for, the rest counted."""

    label: str
    parts: Sequence[str]
    mark: Callable[[str], str] = str
    indent: str = "  "

    def lines(self) -> list[str]:
        """Say as many as there is room for."""
        start = self.indent + (f"{self.label:<{_LABEL}}  " if self.label else "")
        more = f" · {len(self.parts)} more"
        shown: list[str] = []
        for place, part in enumerate(self.parts, start=1):
            last = place == len(self.parts) == len(shown) + 1
            line = start + " · ".join([*shown, part]) + ("" if last else more)
            shown += [part] if len(line) <= width() else []
        if not shown:
            return [
                self.mark(shortened(start + each, width())) for each in self.parts[:1]
            ]
        rest = len(self.parts) - len(shown)
        said = start + " · ".join([*shown, *([f"{rest} more"] if rest else [])])
        return [self.mark(said)]

    def whole(self) -> Block:
        """Say all of them, on as many lines as that takes."""
        if not self.parts:
            return self
        said = f"{self.label:<{_LABEL}}  {' · '.join(self.parts)}"
        return Sentence(said, self.indent, " " * (len(self.indent) + _LABEL + 2))


def some(label: str, parts: Sequence[str]) -> list[Parts]:
    """Say parts where there are any."""
    return [Parts(label, parts)] if parts else []


class Screen:
    """Blocks on so many lines at most: the rows of the table amid them give way."""

    def __init__(
        self, height: int, above: Iterable[Block], best: Table, below: Iterable[Block]
    ) -> None:
        self._height, self._best = height, best
        self._above, self._below = above, below

    def whole(self) -> list[Block]:
        """Say all of what is above the table, which stands elsewhere then."""
        return [*whole(self._above), "", *self._below]

    def lines(self) -> list[str]:
        """Lay them out."""
        above, below = laid(self._above), laid(self._below)
        room = self._height - len(above) - len(below) - len(("", "titles", ""))
        rows = self._best.rows[: max(room, _FEWEST)]
        amid = replace(self._best, rows=rows).lines()
        return [*above, *(["", *amid] if amid else []), "", *below]


def whole(blocks: Iterable[Block]) -> list[Block]:
    """Say all parts of each."""
    return [each.whole() if isinstance(each, Parts) else each for each in blocks]


def flagged(mark: str, colour: Callable[[str], str]) -> Callable[[str], str]:
    """Return what paints a line that begins with a sign."""
    return lambda line: colour(line[: len(mark)]) + head(line[len(mark) :])


def doubt(said: str) -> Ends:
    """Say what could change the decision."""
    return Ends(f"! {said}", mark=warn)


class Prediction(NamedTuple):
    """A figure, the interval that it is expected in, and what was asked of it."""

    name: str
    predicted: float | None
    ends: tuple[float, float] | None = None
    asked: float | None = None
    told: Callable[[float | None], str] = rate
    sign: str = "≥"

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Say them."""
        ends = " – ".join(map(self.told, self.ends)) if self.ends else UNKNOWN
        if self.ends and self.ends[0] == self.ends[1]:
            ends = "exact"
        asked = "" if self.asked is None else f"{self.sign} {self.told(self.asked)}"
        return self.name, asked, self.told(self.predicted), ends

    def bar(self, room: int) -> str:
        """Draw them on an axis that begins at 0."""
        if self.predicted is None or self.ends is None or room < _SHORTEST_BAR:
            return ""
        (low, high), asked = self.ends, self.asked
        if low == high:
            return ""
        most = max(high, asked or 0.0) * _BEYOND
        drawn = []
        for place in range(room):
            value = (place + 0.5) / room * most
            kept = asked is None or (value >= asked) == (self.sign == "≥")
            drawn.append(("━" if kept else warn("╍")) if low <= value <= high else "·")
        if asked is not None:
            drawn[int(asked / most * room)] = "│"
        drawn[int(self.predicted / most * room)] = head("●")
        return "".join(drawn)


_BEYOND = 1.1
"""How much of an axis is right of the largest figure on it."""
_SHORTEST_BAR, _LONGEST_BAR = 8, 30


def predictions(title: str, rows: Sequence[Prediction]) -> Table:
    """Put asked, predicted and interval of each in a row, and draw them."""
    cells = [row.cells for row in rows]
    titles = (title, "ASKED", "PREDICTED", "80% INTERVAL")
    room = min(beside(titles, cells), _LONGEST_BAR)
    drawn = [(*each, row.bar(room)) for each, row in zip(cells, rows, strict=True)]
    heads = (title, "?>ASKED", *(f">{each}" for each in titles[2:]), "?=")
    return Table(heads, drawn, wraps=False)
