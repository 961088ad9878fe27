"""Rows of measurements: strict columns, and everything wrong with a file at once.

A kind of row is a struct. Its fields are the columns of a file, units in their names; a
field without a default has to be filled. Nothing is read out of words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

import msgspec
from msgspec import Meta, Struct

from planopt._native import formats
from planopt.catalog.rows import Row, Table, table_of
from planopt.errors import Diagnostic, InputError, meant

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

Kind = TypeVar("Kind", bound=Struct)

_HELP = (
    "docs/reference/measurements.md lists the columns; tables of other sources are "
    "brought into them by `python -m planopt_studies.prepare` of a checkout"
)


def read_rows(path: Path, kinds: Sequence[type[Kind]]) -> list[Kind]:
    """Read a file of one of some kinds of row, or tell all that is wrong with it."""
    problems: list[Diagnostic] = []
    place = {"field": "--data", "value": str(path)}
    table = table_of(path, problems, "the measurements", **place)
    columns = set(table.header)
    kind = next((kind for kind in kinds if _needed(kind) <= columns), None)
    if kind is None:
        raise InputError(_misheaded(table, kinds))
    types: dict[str, Any] = get_type_hints(kind, include_extras=True)
    needed = _needed(kind)
    found = [
        {name: _value(row, name, types[name], needed) for name in columns}
        for row in table.rows(sorted(needed), [*types], inf)
    ]
    if problems:
        raise InputError(problems)
    filled = (
        {name: each for name, each in row.items() if each is not None} for row in found
    )
    return [kind(**row) for row in filled]


def _misheaded(table: Table, kinds: Sequence[type[Struct]]) -> Iterator[Diagnostic]:
    """Tell which kind of row a header is nearest to, and what it lacks."""
    columns = set(table.header)
    nearest = max(kinds, key=lambda kind: len(_needed(kind) & columns))
    missing = sorted(_needed(nearest) - columns)
    told = f"nearest are {_called(nearest)}, without {', '.join(missing)}"
    yield Diagnostic(
        code="E007",
        message="the header is that of no measurements planopt knows",
        field="--data",
        value=str(table.file),
        accepted="; ".join(
            f"{_called(kind)} with {', '.join(sorted(_needed(kind)))}" for kind in kinds
        ),
        help=f"{told}; {_HELP}" if len(missing) < len(_needed(nearest)) else _HELP,
    )
    names = nearest.__struct_fields__
    for column in filter(None, columns.difference(names)):
        if whole := [name for name in names if name.rpartition("_")[0] == column]:
            yield Diagnostic(
                code="E113",
                message=f"column `{column}` has no unit",
                file=str(table.file),
                line=1,
                field=column,
                value=column,
                accepted=", ".join(whole),
            )


def _called(kind: type[Struct]) -> str:
    return f"rows of {kind.__name__.removesuffix('Row').lower()}"


@cache
def _needed(kind: type[Struct]) -> frozenset[str]:
    fields = msgspec.structs.fields(kind)
    return frozenset(field.name for field in fields if field.required)


def _value(row: Row, column: str, asked: Any, needed: Collection[str]) -> Any:
    """Read a cell as its column has it; what is wrong with it is remembered."""
    text = (row.cells[column] or "").strip()
    if not text and column not in needed:
        return None
    near, accepted = None, "a value"
    try:
        value = msgspec.convert(text, asked, strict=False)
        if not isinstance(value, float) or isfinite(value):
            return value
        accepted = "a finite number"
    except ValueError as error:
        words = _words(asked)
        near = meant(text, words)
        accepted = ", ".join(words) or str(error).removeprefix("Expected ")
    accepted = accepted if text else "a value"
    row.wrong(
        column, "E113", f"`{text}` is no {column.replace('_', ' ')}", accepted, near
    )
    return None


def _words(asked: Any) -> list[str]:
    """Return the words that a column accepts, where it accepts words alone."""
    if isinstance(asked, str):
        return [asked]
    return [word for each in getattr(asked, "__args__", ()) for word in _words(each)]
