"""Rows as files: Parquet and Arrow in chunks, CSV, JSON."""

from __future__ import annotations

import csv
import io
import json
from itertools import islice
from typing import IO, TYPE_CHECKING

from planopt.errors import InputError
from planopt.files import replacing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

CHUNK = 65_536
"""Rows that are in memory as a table at one time."""


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows in the form that the file's name asks for."""
    writers = {".parquet": _parquet, ".arrow": _arrow, ".csv": _csv, ".json": _json}
    write = writers.get(path.suffix)
    if write is None:
        raise InputError.of(
            "E001",
            "no rows can be written in this form",
            field="--out",
            value=str(path),
            accepted="a file that ends in " + ", ".join(writers),
        )
    try:
        with replacing(path, field="--out") as file:
            write(file, rows)
    except ImportError as error:
        raise InputError.of(
            "E905",
            "the package pyarrow is not installed",
            field="--out",
            value=str(path),
            accepted=".csv or .json, which need no package",
            help="pip install 'planopt[arrow]'",
        ) from error


def _chunks(
    rows: Iterable[Mapping[str, object]],
) -> Iterator[list[Mapping[str, object]]]:
    left = iter(rows)
    while chunk := list(islice(left, CHUNK)):
        yield chunk


def _parquet(file: IO[bytes], rows: Sequence[Mapping[str, object]]) -> None:
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.Table.from_pylist(list(rows[:CHUNK])).schema
    with pyarrow.parquet.ParquetWriter(file, schema) as writer:
        for chunk in _chunks(rows):
            writer.write_table(pyarrow.Table.from_pylist(chunk, schema=schema))


def _arrow(file: IO[bytes], rows: Sequence[Mapping[str, object]]) -> None:
    import pyarrow

    schema = pyarrow.Table.from_pylist(list(rows[:CHUNK])).schema
    with pyarrow.ipc.new_file(file, schema) as writer:
        for chunk in _chunks(rows):
            writer.write_table(pyarrow.Table.from_pylist(chunk, schema=schema))


def _csv(file: IO[bytes], rows: Sequence[Mapping[str, object]]) -> None:
    text = io.TextIOWrapper(file, newline="", encoding="utf-8")
    writer = csv.DictWriter(text, list(rows[0]) if rows else [])
    writer.writeheader()
    writer.writerows(rows)
    text.detach()


def _json(file: IO[bytes], rows: Sequence[Mapping[str, object]]) -> None:
    file.write((json.dumps(list(rows), indent=1) + "\n").encode())
