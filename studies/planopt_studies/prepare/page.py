"""The page of docs on measurements: columns of each kind of row, and what rules did."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, Final

import msgspec

from planopt.accuracy.validate import KINDS
from planopt_studies.floor import floors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from planopt.accuracy.validate import Measured
    from planopt_studies.prepare.rules import Ledger

__all__ = ["page", "prepared"]

_HEAD: Final = """# Measurements

What `planopt validate --data FILE.csv` reads, and what `catalogs/measurements` holds: a CSV file with a header, of one of three kinds of row. The header tells which. Units are in the names of columns. A column or a cell that is none of these is refused, all of a file at once, with file, line, column, value and what is accepted; columns that are not marked `needed` may be left out or empty. Nothing is read out of names or notes.

`make measurements SOURCES=FOLDER` writes this page and the bundled files. Tables of other sources are brought into the schema in a checkout: `PYTHONPATH=studies:python python -m planopt_studies.prepare FILE.csv --out FOLDER` knows the headers of training.csv, inference.csv, serving_silicon.csv and microbench.csv as they were published.
"""  # noqa: E501 - paragraphs of Markdown are lines

_FLOOR: Final = """## The floor

How far rows lie from the median of their `group`: rows that agree in every column but releases, dates and figures. No prediction is nearer to them, so `planopt validate` shows the median beside every error as `floor`. `one release` compares rows of one release only: what is left is repetition, and what no column tells. Sources that may not be passed on are among the rows.
"""  # noqa: E501 - paragraphs of Markdown are lines


def page(ledgers: Iterable[Ledger], rows: Iterable[Measured]) -> str:
    """Return the whole page."""
    parts = [_HEAD]
    for kind in KINDS:
        name = kind.__name__.removesuffix("Row").lower()
        parts.append(f"## Rows of {name}\n\n" + "\n".join(_columns(kind)) + "\n")
    parts.append("## What was left out of the bundled files, and changed\n")
    parts.append("\n".join(prepared(ledgers)) + "\n")
    parts.append(_FLOOR)
    parts.append("\n".join(floors(rows)) + "\n")
    return "\n".join(parts)


def prepared(ledgers: Iterable[Ledger]) -> list[str]:
    """Return the table of what rules did."""
    lines = ["| file | what | rows |", "|---|---|---:|"]
    return lines + [line for ledger in ledgers for line in ledger.lines()]


def _columns(kind: type[msgspec.Struct]) -> Iterator[str]:
    yield "| column | needed | holds | what |"
    yield "|---|---|---|---|"
    needed = {each.name: each.required for each in msgspec.structs.fields(kind)}
    body = ast.parse(inspect.getsource(kind)).body[0]
    statements = body.body if isinstance(body, ast.ClassDef) else []
    for statement, following in zip(statements, [*statements[1:], None], strict=True):
        if not isinstance(statement, ast.AnnAssign):
            continue
        told = ""
        if isinstance(following, ast.Expr) and isinstance(
            following.value, ast.Constant
        ):
            told = " ".join(str(following.value.value).split())
        column = ast.unparse(statement.target)
        holds = ast.unparse(statement.annotation).replace(" | None", "")
        yield (
            f"| `{column}` | {'yes' if needed[column] else ''} | "
            f"{_plain(holds)} | {told} |"
        )


def _plain(annotation: str) -> str:
    """Say what a column holds in words."""
    words = {
        "Name": "text",
        "str": "text",
        "bool": "true, false",
        "Count": "whole number from 1",
        "Tokens": "whole number from 0",
        "Figure": "number above 0",
        "float": "number",
        "Share": "share from 0 to 1",
        "Format": "format of weights",
    }
    parts = []
    for part in annotation.split(" | "):
        choices = part.removeprefix("Literal[").removesuffix("]").replace("'", "`")
        parts.append(words.get(part, choices.replace("``, ", "")))
    return " or ".join(parts)
