"""Rows of measurements: strict columns, and everything wrong with a file at once.

A kind of row is a struct. Its fields are the columns of a file, units in their names; a
field without a default has to be filled. Nothing is read out of words.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

import msgspec
from msgspec import Meta, Struct

from planopt._native import formats
from planopt.errors import Diagnostic, InputError
from planopt.files import read, unreadable

Name = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=1, le=10**8)]
"""A whole number; at most a hundred million, so that products stay whole numbers."""
Tokens = Annotated[int, Meta(ge=0, le=10**8)]
"""Of a prompt or an answer, of which there may be none."""
Figure = Annotated[float, Meta(ge=1e-9, le=1e15)]
"""What was measured or published, which is never 0."""
Share = Annotated[float, Meta(ge=0, le=1)]
if TYPE_CHECKING:
    Format = str
else:
    Format = Literal[tuple(formats())]
"""Formats that the core has; any other word is refused, never taken for 16 bits."""

Cell = str
"""What a cell of a file holds."""
Row = TypeVar("Row", bound=Struct)

_HELP = (
    "docs/reference/measurements.md lists the columns; tables of other sources are "
    "brought into them by `python -m planopt_studies.prepare` of a checkout"
)


def read_rows(path: Path, kinds: Sequence[type[Row]]) -> list[Row]:
    """Read a file of one of some kinds of row, or tell all that is wrong with it."""
    columns, lines = _table(path)
    fits = [kind for kind in kinds if _needed(kind) <= set(columns)]
    if not fits:
        nearest = max(kinds, key=lambda kind: len(_needed(kind) & set(columns)))
        problems = list(_unitless(path, nearest, columns))
        missing = sorted(_needed(nearest) - set(columns))
        told = f"nearest are {_called(nearest)}, without {', '.join(missing)}"
        header = Diagnostic(
            code="E007",
            message="the header is that of no measurements planopt knows",
            field="--data",
            value=str(path),
            accepted="; ".join(
                f"{_called(kind)} with {', '.join(sorted(_needed(kind)))}"
                for kind in kinds
            ),
            help=f"{told}; {_HELP}" if len(missing) < len(_needed(nearest)) else _HELP,
        )
        raise InputError([header, *problems])
    return _rows(path, fits[0], columns, lines)


def _called(kind: type[Struct]) -> str:
    return f"rows of {kind.__name__.removesuffix('Row').lower()}"


def _needed(kind: type[Struct]) -> set[str]:
    fields = msgspec.structs.fields(kind)
    return {field.name for field in fields if field.required}


def _table(path: Path) -> tuple[list[str], list[tuple[int, list[Cell]]]]:
    accepted = "a CSV file with a header"
    with unreadable("the measurements", accepted, field="--data", value=path):
        lines = io.StringIO(read(path).decode("utf-8-sig"), newline="")
        reader = csv.reader(lines, strict=True)
        columns = [name.strip() for name in next(reader, [])]
        return columns, [(reader.line_num, row) for row in reader if row]


def _rows(
    path: Path,
    kind: type[Row],
    columns: Sequence[str],
    lines: Sequence[tuple[int, list[Cell]]],
) -> list[Row]:
    types: dict[str, Any] = get_type_hints(kind, include_extras=True)
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    problems = list(_unknown(path, kind, columns))
    wrong = partial(Diagnostic, code="E113", file=str(path))
    found = []
    for line, cells in lines:
        values: dict[str, Any] = {}
        if len(cells) > len(columns):
            what = f"the row has {len(cells)} cells"
            accepted = f"{len(columns)}, as the header"
            problems.append(wrong(message=what, line=line, accepted=accepted))
        for column, cell in zip(columns, cells, strict=False):
            field, text = fields.get(column), cell.strip()
            if field is None or (not text and not field.required):
                continue
            try:
                values[column] = _value(text, types[column])
            except ValueError as error:
                problems.append(_wrong(path, line, column, text, error, types[column]))
                values[column] = None
        short = (name for name in _needed(kind) if name not in values)
        problems += [
            _wrong(path, line, name, "", "nothing is there", types[name])
            for name in sorted(short)
        ]
        if not problems:
            found.append(kind(**values))
    if problems:
        raise InputError(problems)
    return found


def _value(text: Cell, asked: Any) -> Any:
    value = msgspec.convert(text, asked, strict=False)
    if isinstance(value, float) and not isfinite(value):
        message = "Expected a finite number"
        raise ValueError(message)
    return value


def _wrong(
    path: Path, line: int, column: str, text: Cell, why: object, asked: Any
) -> Diagnostic:
    accepted = str(why).removeprefix("Expected ") if text else "a value"
    words = _words(asked)
    near = get_close_matches(text, words, 1, 0.4)
    return Diagnostic(
        code="E113",
        message=f"`{text}` is no {column.replace('_', ' ')}",
        file=str(path),
        line=line,
        field=column,
        value=text,
        accepted=", ".join(words) or accepted,
        help=f"the nearest is `{near[0]}`" if near else None,
    )


def _words(asked: Any) -> list[str]:
    """Return the words that a column accepts, where it accepts words alone."""
    arguments = getattr(asked, "__args__", ())
    found = [each for each in arguments if isinstance(each, str)]
    for each in arguments:
        found += _words(each) if not isinstance(each, str) else []
    return found


def _unknown(
    path: Path, kind: type[Struct], columns: Sequence[str]
) -> Iterator[Diagnostic]:
    names = [field.name for field in msgspec.structs.fields(kind)]
    unitless = list(_unitless(path, kind, columns))
    yield from unitless
    told = {each.field for each in unitless}
    for place, column in enumerate(columns):
        if column in told or (column in names and column not in columns[:place]):
            continue
        twice = column in names
        near = get_close_matches(column, names, 1)
        yield Diagnostic(
            code="E113",
            message=f"column `{column}` is there twice"
            if twice
            else f"no column is called `{column}`",
            file=str(path),
            line=1,
            field=column,
            value=column,
            accepted="once" if twice else ", ".join(near or names),
            help=_HELP,
        )


def _unitless(
    path: Path, kind: type[Struct], columns: Sequence[str]
) -> Iterator[Diagnostic]:
    """Tell of columns whose names are those of ours without their units."""
    names = [field.name for field in msgspec.structs.fields(kind)]
    for column in columns:
        whole = [name for name in names if name.rpartition("_")[0] == column]
        if column and column not in names and whole:
            yield Diagnostic(
                code="E113",
                message=f"column `{column}` has no unit",
                file=str(path),
                line=1,
                field=column,
                value=column,
                accepted=", ".join(whole),
            )
