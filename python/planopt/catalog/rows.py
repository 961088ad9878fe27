"""Tables of other people: their columns must be known, and every figure one."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from planopt.catalog.overlay import IDS, is_id
from planopt.errors import Diagnostic, meant
from planopt.files import read, unreadable
from planopt.printable import printable

MOST_PROBLEMS = 20
"""After so many wrong cells the rest is likely to be wrong in the same way."""


@dataclass(frozen=True)
class Row:
    """A row of a table; wrong cells are remembered with their place."""

    cells: Mapping[str, str]
    file: Path
    line: int
    problems: list[Diagnostic]

    def text(self, column: str) -> str:
        """Return a cell; empty where the table has no such column."""
        text = self._cell(column)
        if printable(text) != text:
            what = "a control character in a cell"
            self.wrong(column, "E113", what, "printable characters")
        return text

    def id(self, column: str) -> str:
        """Return a cell that names a file; empty as in `text`."""
        text = self.text(column)
        if text and not is_id(text):
            help = "mend it, or say whose offers all are with `--provider NAME`"
            self.wrong(column, "E114", f"`{text}` cannot be an id", IDS, help)
        return text

    def number(self, column: str) -> float | None:
        """Read a figure of 0 or more; none where the cell is empty."""
        text = self._cell(column)
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if math.isfinite(value) and value >= 0:
            return value
        accepted = "a number of 0 or more, or nothing"
        self.wrong(column, "E113", f"`{text}` is no figure", accepted)
        return None

    def count(self, column: str) -> int | None:
        """Read a figure that is a whole number."""
        value = self.number(column)
        if value is None or value == int(value):
            return None if value is None else int(value)
        what = f"`{self._cell(column)}` is no whole number"
        self.wrong(column, "E113", what, "a whole number, such as 8 or 8.0")
        return None

    def _cell(self, column: str) -> str:
        return (self.cells.get(column) or "").strip()

    def wrong(
        self, column: str, code: str, what: str, accepted: str, help: str | None = None
    ) -> None:
        """Remember that a cell is wrong."""
        problem = Diagnostic(
            code=code,
            message=what,
            file=str(self.file),
            line=self.line,
            field=column,
            value=self._cell(column),
            accepted=accepted,
            help=help,
        )
        self.problems.append(problem)


def provider_of(
    file: Path, named: str, given: str | None, problems: list[Diagnostic]
) -> str:
    """Whose offers a table has: as an option gives it, or else as the file is named."""
    provider = given or named
    problem = Diagnostic(
        code="E114",
        message=f"`{provider}` cannot be an id",
        file=None if given else str(file),
        field="--provider",
        value=provider,
        accepted=IDS,
        help="say whose offers they are with `--provider NAME`",
    )
    if not is_id(provider) and problem not in problems:
        problems.append(problem)
    return provider


class Table(NamedTuple):
    """A CSV file whose header is read, and what is wrong with it."""

    file: Path
    header: list[str]
    lines: Any  # The reader of the standard library, whose type it does not name
    problems: list[Diagnostic]

    def rows(
        self,
        required: Sequence[str],
        optional: Sequence[str],
        most: float = MOST_PROBLEMS,
    ) -> Iterator[Row]:
        """Read the rows, if all columns are known and those that are required there."""
        wrong = partial(Diagnostic, code="E113", file=str(self.file))
        misnamed = [*_wrong_columns(self, required, optional)]
        self.problems.extend(misnamed)
        try:
            for cells in () if misnamed else self.lines:
                line = self.lines.line_num
                if cells and len(cells) != len(self.header):
                    what = f"{len(cells)} cells under {len(self.header)} columns"
                    accepted = "one cell for each column"
                    problem = wrong(message=what, line=line, accepted=accepted)
                    self.problems.append(problem)
                elif cells:
                    row = dict(zip(self.header, cells, strict=True))
                    yield Row(row, self.file, line, self.problems)
                if len(self.problems) >= most:
                    return
        except csv.Error as error:
            what, line = f"this is no CSV: {error}", self.lines.line_num
            accepted = "cells between commas, those with commas in quotes"
            self.problems.append(wrong(message=what, line=line, accepted=accepted))


def table_of(
    file: Path, problems: list[Diagnostic], what: str = "the table", **place: str
) -> Table:
    """Open a CSV file, and read its header."""
    place = place or {"file": str(file)}
    with unreadable(what, "a CSV file with a header, in UTF-8", **place):
        lines = csv.reader(io.StringIO(read(file).decode("utf-8-sig"), newline=""))
        header = [name.strip() for name in next(lines, [])]
    return Table(file, header, lines, problems)


def read_rows(
    file: Path,
    required: Sequence[str],
    optional: Sequence[str],
    problems: list[Diagnostic],
) -> Iterator[Row]:
    """Read a CSV file with a header."""
    yield from table_of(file, problems).rows(required, optional)


def _wrong_columns(
    table: Table, required: Sequence[str], optional: Sequence[str]
) -> Iterator[Diagnostic]:
    wrong = partial(Diagnostic, code="E112", file=str(table.file), line=1)
    known = [*required, *optional]
    for place, column in enumerate(table.header, start=1):
        named = f"column {place}, `{column}`,"
        if column not in known:
            yield wrong(
                message=f"{named} is not known",
                field=column,
                accepted=", ".join(known),
                help=meant(column, known),
            )
        elif column in table.header[: place - 1]:
            yield wrong(message=f"{named} is there twice", field=column)
    for column in required:
        if column not in table.header:
            what = f"there is no column `{column}`"
            yield wrong(message=what, field=column, accepted=", ".join(required))
