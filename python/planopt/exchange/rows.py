"""Rows as files: Parquet and Arrow in chunks, CSV, JSON."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TypeAlias

from planopt.errors import InputError, needing
from planopt.files import replacing

Rows: TypeAlias = Sequence[Mapping[str, object]]

CHUNK = 65_536
"""Rows that are in memory as a table at one time."""


def write_rows(path: Path, rows: Rows) -> None:
    """Write rows in the form that the file's name asks for."""
    writers: dict[str, Callable[[IO[bytes], Rows], None]] = {
        ".parquet": partial(_tables, form="parquet"),
        ".arrow": partial(_tables, form="arrow"),
        ".csv": _csv,
        ".json": _json,
    }
    write = writers.get(path.suffix)
    if write is None:
        raise InputError.of(
            "E001",
            "no rows can be written in this form",
            field="--out",
            value=str(path),
            accepted="a file that ends in " + ", ".join(writers),
        )
    told = {"field": "--out", "value": str(path)}
    accepted = ".csv or .json, which need no package"
    needed = needing("pyarrow", "arrow", accepted=accepted, **told)
    with needed, replacing(path, field="--out") as file:
        write(file, rows)


def _tables(file: IO[bytes], rows: Rows, form: str) -> None:
    """Write rows chunk by chunk, as Parquet or in Arrow's own form."""
    import pyarrow
    import pyarrow.parquet

    forms = {"parquet": pyarrow.parquet.ParquetWriter, "arrow": pyarrow.ipc.new_file}
    schema = pyarrow.Table.from_pylist(list(rows[:CHUNK])).schema
    with forms[form](file, schema) as writer:
        for start in range(0, len(rows), CHUNK):
            chunk = list(rows[start : start + CHUNK])
            writer.write_table(pyarrow.Table.from_pylist(chunk, schema=schema))


def _csv(file: IO[bytes], rows: Rows) -> None:
    text = io.TextIOWrapper(file, newline="", encoding="utf-8")
    writer = csv.DictWriter(text, list(rows[0]) if rows else [])
    writer.writeheader()
    writer.writerows(rows)
    text.detach()


def _json(file: IO[bytes], rows: Rows) -> None:
    file.write((json.dumps(list(rows), indent=1) + "\n").encode())
