"""Rows of measurements, and what became of each."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from planopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = [
    "Comparison",
    "Missing",
    "Outcome",
    "Row",
    "Schema",
    "Standing",
    "Table",
    "read_table",
]

Standing = Literal["counted", "searched", "outside"]
"""Whether a comparison counts towards thresholds: its layout was published in full
(``counted``), had to be searched (``searched``), or the row is marked as one that
nothing should be judged by (``outside``)."""

Row = dict[str, str]
"""A line of a file by the names of its columns; what is not there is empty."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A measured figure beside the predicted one."""

    row: str
    """Id of the row."""
    source: str
    metric: str
    measured: float
    predicted: float
    unit: str
    accelerator: str
    model: str
    engine: str
    """Framework or serving engine, without its version."""
    standing: Standing = "counted"
    precision: str = ""
    """Format of the arithmetic, where it tells hardware classes apart."""
    layout: str = ""
    """How the model was spread: what choices are compared by."""
    why: Mapping[str, float | str] = field(default_factory=dict)
    """Where the prediction comes from: parts of a step, or of memory."""

    @property
    def error(self) -> float:
        """What is predicted too much, as a share of what was measured."""
        return self.predicted / self.measured - 1.0

    @property
    def group(self) -> tuple[str, str, str]:
        """What is left out as a whole when predictions are judged."""
        return (self.source, self.accelerator, self.model)


@dataclass(frozen=True, kw_only=True)
class Missing:
    """Figures of a row that are not predicted."""

    row: str
    reason: str
    metrics: tuple[str, ...] = ()
    """Figures that the row has and that would have counted."""


Outcome = Comparison | Missing


class Schema(Protocol):
    """A kind of file: how it is recognised, and how its rows are predicted."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def columns(self) -> frozenset[str]:
        """Columns that tell this kind of file from the others."""

    @property
    def needed(self) -> frozenset[str]:
        """Columns of numbers that every row has."""

    def predict(self, rows: Sequence[Row], assumptions: str) -> Iterable[Outcome]:
        """Predict every row, or say why not."""
        ...


@dataclass(frozen=True)
class Table:
    """A file of measurements."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    lines: tuple[int, ...]
    """Lines of the file that rows end in, counted from 1."""


class _Cells(dict[str, str]):
    """A row: a column that the file does not have is as good as an empty cell."""

    def __missing__(self, column: str) -> str:
        return ""


def read_table(path: Path) -> Table:
    """Read a CSV file with a header."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restval="")
            rows, lines = [], []
            for row in reader:
                cells = ((name, text) for name, text in row.items() if name)
                rows.append(
                    _Cells((name, (text or "").strip()) for name, text in cells)
                )
                lines.append(reader.line_num)
            columns = tuple(reader.fieldnames or ())
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError.of(
            "E006",
            f"cannot read the measurements: {why}",
            field="--data",
            value=str(path),
            accepted="a CSV file with a header",
        ) from error
    return Table(path, columns, tuple(rows), tuple(lines))
