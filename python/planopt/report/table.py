"""Aligned text: reports are blocks, which say what is shown; here they become lines."""

import shutil
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Protocol

from planopt.report.style import PLAIN, Style, head, padded, seen

# Narrower and a table cannot be read; wider and the eye loses the line.
_NARROWEST, _WIDEST = 60, 120
_GAP = "  "
_INDENT = "  "
_NARROWEST_COLUMN = 16
_WANTED = 25
"""What a column of text is to keep before others are left out."""
_KINDS = "?+>="
_CUT = " ..."
_OPEN_END = " ,;:(+/·×"
"""What a text that is cut does not end with."""


class _Laid(Protocol):
    def lines(self) -> list[str]: ...


Block = str | _Laid
"""A line as it is, or something that becomes lines."""


class Report:
    """What a command answers: blocks, one below the other."""

    def __init__(self, *blocks: Block) -> None:
        self._blocks = blocks

    def text(self, style: Style) -> str:
        """Lay them out; the first has nothing to be apart from."""
        lines = laid(self._blocks)
        return style.painted("\n".join(lines[1:] if lines[:1] == [""] else lines))

    def __str__(self) -> str:
        """Lay them out without colour."""
        return self.text(PLAIN)


def laid(blocks: Iterable[Block]) -> list[str]:
    """Lay blocks out, one below the other."""
    return [
        line
        for block in blocks
        for line in ([block] if isinstance(block, str) else block.lines())
    ]


def width() -> int:
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

    def lines(self) -> list[str]:
        """Break it where the terminal ends."""
        broken = textwrap.wrap(
            self.text,
            width(),
            initial_indent=self.indent,
            subsequent_indent=self.indent if self.hanging is None else self.hanging,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return [*map(self.first, broken[:1]), *broken[1:]]


class Section:
    """Blocks apart from what is above, under a title if they have one; or nothing."""

    def __init__(self, title: str, *blocks: Block) -> None:
        self._title, self._blocks = title, blocks

    def lines(self) -> list[str]:
        """Put the heading over them."""
        below = laid(self._blocks)
        titled = [head(f" {self._title}")] if self._title else []
        return ["", *titled, *below] if below else []


@dataclass(frozen=True)
class Table:
    """Rows under titles; nothing where there are no rows.

    A title that begins with ``>`` is one of figures, which stand to the right. One with
    ``?`` before it all is left out where none of its cells says anything, one with
    ``+`` where there is no room. ``=`` keeps its cells whole; those of the others wrap
    where the table would leave the terminal, or are shortened where they may not.
    ``chosen`` marks the first row; with ``hyphens`` cells may break behind one.
    """

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    wraps: bool = True
    chosen: bool = False
    hyphens: bool = False

    def lines(self) -> list[str]:
        """Align the columns."""
        if not self.rows:
            return []
        columns = [
            _Column(title, (title.lstrip(_KINDS), *cells))
            for title, *cells in zip(self.titles, *self.rows, strict=True)
            if not title.startswith("?") or any(cells)
        ]
        for extra in [each for each in columns if "+" in each.title[:2]]:
            if _room(columns) < sum(min(each.width, each.wanted) for each in columns):
                columns.remove(extra)
        _narrow(columns)
        first, *rest = (
            _row(cells, columns, wraps=self.wraps, hyphens=self.hyphens)
            for cells in zip(*(each.cells for each in columns), strict=True)
        )
        if self.chosen and rest:
            rest[0] = [head(f"▸ {rest[0][0][2:]}")]
        return [*map(head, first), *(line for row in rest for line in row)]


class _Column:
    """Cells below their title, and how wide they are."""

    def __init__(self, title: str, cells: Sequence[str]) -> None:
        self.title, self.cells = title, cells
        self.side = ">" if ">" in title[:3] else "<"
        self.width = max(map(seen, cells))
        whole = self.side == ">" or "=" in title[:3]
        least = self.width if whole else _NARROWEST_COLUMN
        self.narrow = min(self.width, max(least, seen(cells[0])))
        self.wanted = self.width if whole else _WANTED


def listed(texts: Iterable[str]) -> list[Block]:
    """Break each text into lines that hang below its first."""
    return [Sentence(each, hanging="    ") for each in texts]


def shortened(text: str, room: int) -> str:
    """Cut a text between its words where it is longer than its room."""
    if len(text) <= room:
        return text
    words = text.split(" ")
    for kept in range(len(words) - 1, 0, -1):
        cut = " ".join(words[:kept]).rstrip(_OPEN_END) + _CUT
        if len(cut) <= room:
            return cut
    return text[: room - len(_CUT)] + _CUT


def beside(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> int:
    """Say how much room the columns of a table leave to one more."""
    columns = zip(titles, *rows, strict=True)
    return width() - len(_INDENT) - sum(max(map(len, e)) + len(_GAP) for e in columns)


def _room(columns: Sequence[_Column]) -> int:
    return width() - len(_INDENT) - len(_GAP) * (len(columns) - 1)


def _narrow(columns: Sequence[_Column]) -> None:
    """Make columns of text narrower, the widest first, until the table fits."""
    texts = [each for each in columns if each.side == "<" and each.width > each.narrow]
    while texts and sum(each.width for each in columns) > _room(columns):
        widest = max(texts, key=lambda each: each.width)
        if widest.width <= widest.narrow:
            return
        widest.width -= 1


def _row(
    cells: Sequence[str], columns: Sequence[_Column], *, wraps: bool, hyphens: bool
) -> list[str]:
    broken = [
        # A column in which nothing is said has no width, but its cells have lines.
        textwrap.wrap(cell, max(each.width, 1), break_on_hyphens=hyphens) or [""]
        if wraps
        else [cell if seen(cell) <= each.width else shortened(cell, each.width)]
        for cell, each in zip(cells, columns, strict=True)
    ]
    return [
        _INDENT
        + _GAP.join(
            padded(cell, each.width, each.side)
            for cell, each in zip(line, columns, strict=True)
        ).rstrip()
        for line in zip_longest(*broken, fillvalue="")
    ]
