"""Aligned text: tables whose columns of text wrap, blocks side by side."""

from __future__ import annotations

import shutil
import textwrap
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.report.style import Style

__all__ = ["beside", "table", "wrapped"]

Align = Literal["<", ">"]

# Narrower and a table cannot be read; wider and the eye loses the line.
_NARROWEST, _WIDEST = 60, 120
_GAP = "  "
_NARROWEST_COLUMN = 16


def width() -> int:
    """Columns to write in: those of the terminal or COLUMNS, 100 where unknown."""
    columns = shutil.get_terminal_size(fallback=(100, 24)).columns
    return min(max(columns, _NARROWEST), _WIDEST)


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    align: str,
    *,
    style: Style,
    indent: str = "  ",
) -> list[str]:
    """Lay rows out under a header.

    Parameters
    ----------
    header : sequence of str
        Titles of the columns.
    rows : sequence of sequence of str
        Cells; those of text wrap where the table would leave the terminal.
    align : str
        One of ``<`` (text) and ``>`` (figures) for each column.
    """
    columns = list(zip(header, *rows, strict=True))
    widths = [max(map(len, cells)) for cells in columns]
    _narrow(widths, width() - len(indent) - len(_GAP) * (len(widths) - 1), align)

    def lines(cells: Sequence[str]) -> list[str]:
        broken = [
            # A column in which nothing is said has no width, but its cells have lines.
            textwrap.wrap(cell, max(size, 1), break_on_hyphens=False) or [""]
            for cell, size in zip(cells, widths, strict=True)
        ]
        return [
            indent
            + _GAP.join(
                f"{cell:{side}{size}}"
                for cell, side, size in zip(line, align, widths, strict=True)
            ).rstrip()
            for line in zip_longest(*broken, fillvalue="")
        ]

    return [
        *map(style.head, lines(header)),
        *(line for row in rows for line in lines(row)),
    ]


def _narrow(widths: list[int], room: int, align: str) -> None:
    """Make columns of text narrower, the widest first, until the table fits."""
    texts = [index for index, side in enumerate(align) if side == "<"]
    while sum(widths) > room:
        widest = max(texts, key=lambda index: widths[index])
        if widths[widest] <= _NARROWEST_COLUMN:
            return
        widths[widest] -= 1


def beside(left: Sequence[str], right: Sequence[str], *, gap: int = 4) -> list[str]:
    """Put two blocks of plain lines side by side, or one below the other."""
    widest = max(map(len, left), default=0)
    if widest + gap + max(map(len, right), default=0) > width():
        return [*left, "", *right]
    rows = max(len(left), len(right))
    blocks = ([*block, *[""] * (rows - len(block))] for block in (left, right))
    return [
        f"{one:<{widest + gap}}{other}".rstrip()
        for one, other in zip(*blocks, strict=True)
    ]


def wrapped(text: str, *, indent: str = "  ", hanging: str | None = None) -> list[str]:
    """Break a sentence into lines."""
    return textwrap.wrap(
        text,
        width(),
        initial_indent=indent,
        subsequent_indent=indent if hanging is None else hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
