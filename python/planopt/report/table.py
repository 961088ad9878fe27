"""Aligned text: reports are blocks, which say what is shown; here they become lines."""

from __future__ import annotations

import shutil
import textwrap
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Protocol

from planopt.report.style import PLAIN, head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from planopt.report.style import Style

# Narrower and a table cannot be read; wider and the eye loses the line.
_NARROWEST, _WIDEST = 60, 120
_GAP = "  "
_INDENT = "  "
_NARROWEST_COLUMN = 16
_BETWEEN_BLOCKS = 4


class _Laid(Protocol):
    def lines(self, style: Style) -> list[str]: ...


Block = str | _Laid
"""A line as it is, or something that becomes lines."""


class Report:
    """What a command answers: blocks, one below the other."""

    def __init__(self, *blocks: Block) -> None:
        self._blocks = blocks

    def text(self, style: Style) -> str:
        """Lay them out; the first has nothing to be apart from."""
        lines = _lines(self._blocks, style)
        return "\n".join(lines[1:] if lines[:1] == [""] else lines)

    def __str__(self) -> str:
        """Lay them out without colour."""
        return self.text(PLAIN)


def _lines(blocks: Iterable[Block], style: Style) -> list[str]:
    return [
        line
        for block in blocks
        for line in (
            [style.painted(block)] if isinstance(block, str) else block.lines(style)
        )
    ]


def _width() -> int:
    """Columns to write in: those of the terminal or COLUMNS, 100 where unknown."""
    columns = shutil.get_terminal_size(fallback=(100, 24)).columns
    return min(max(columns, _NARROWEST), _WIDEST)


@dataclass(frozen=True)
class Sentence:
    """A text that is broken into lines; ``first`` marks the first of them."""

    text: str
    indent: str = _INDENT
    hanging: str | None = None
    first: Callable[[str], str] = str

    def lines(self, style: Style) -> list[str]:
        """Break it where the terminal ends."""
        broken = textwrap.wrap(
            style.painted(self.text),
            _width(),
            initial_indent=self.indent,
            subsequent_indent=self.indent if self.hanging is None else self.hanging,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return [*(style.painted(self.first(line)) for line in broken[:1]), *broken[1:]]


class Section:
    """Blocks apart from what is above, under a title if they have one.

    Where they come to nothing, nothing is shown.
    """

    def __init__(self, title: str, *blocks: Block) -> None:
        self._title, self._blocks = title, blocks

    def lines(self, style: Style) -> list[str]:
        """Put the heading over them."""
        below = _lines(self._blocks, style)
        titled = [style.painted(head(f" {self._title}"))] if self._title else []
        return ["", *titled, *below] if below else []


@dataclass(frozen=True)
class SideBySide:
    """Two blocks of plain lines side by side, or one below the other."""

    left: Sequence[str]
    right: Sequence[str]

    def lines(self, style: Style) -> list[str]:  # noqa: ARG002 - every block has it
        """Put them side by side where the terminal has room."""
        left = max(map(len, self.left), default=0) + _BETWEEN_BLOCKS
        if left + max(map(len, self.right), default=0) > _width():
            return [*self.left, "", *self.right]
        rows = zip_longest(self.left, self.right, fillvalue="")
        return [f"{one:<{left}}{other}".rstrip() for one, other in rows]


@dataclass(frozen=True)
class Table:
    """Rows under titles; nothing where there are no rows.

    A title that begins with ``>`` is one of figures, which stand to the right; cells of
    the others wrap where the table would leave the terminal. One with ``?`` before it
    all is left out where none of its cells says anything.
    """

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]

    def lines(self, style: Style) -> list[str]:
        """Align the columns."""
        if not self.rows:
            return []
        kept = [
            (title.removeprefix("?"), cells)
            for title, *cells in zip(self.titles, *self.rows, strict=True)
            if not title.startswith("?") or any(cells)
        ]
        sides = [">" if title.startswith(">") else "<" for title, _ in kept]
        columns = [(title.removeprefix(">"), *cells) for title, cells in kept]
        widths = [max(map(len, cells)) for cells in columns]
        _narrow(widths, sides)
        first, *rest = (
            _row(cells, sides, widths) for cells in zip(*columns, strict=True)
        )
        titled = [style.painted(head(line)) for line in first]
        return [*titled, *(line for row in rest for line in row)]


def listed(texts: Iterable[str]) -> list[Block]:
    """Break each text into lines that hang below its first."""
    return [Sentence(each, hanging="    ") for each in texts]


def _narrow(widths: list[int], sides: Sequence[str]) -> None:
    """Make columns of text narrower, the widest first, until the table fits."""
    room = _width() - len(_INDENT) - len(_GAP) * (len(widths) - 1)
    texts = [index for index, side in enumerate(sides) if side == "<"]
    while sum(widths) > room:
        widest = max(texts, key=lambda index: widths[index])
        if widths[widest] <= _NARROWEST_COLUMN:
            return
        widths[widest] -= 1


def _row(
    cells: Sequence[str], sides: Sequence[str], widths: Sequence[int]
) -> list[str]:
    broken = [
        # A column in which nothing is said has no width, but its cells have lines.
        textwrap.wrap(cell, max(size, 1), break_on_hyphens=False) or [""]
        for cell, size in zip(cells, widths, strict=True)
    ]
    return [
        _INDENT
        + _GAP.join(
            f"{cell:{side}{size}}"
            for cell, side, size in zip(line, sides, widths, strict=True)
        ).rstrip()
        for line in zip_longest(*broken, fillvalue="")
    ]
