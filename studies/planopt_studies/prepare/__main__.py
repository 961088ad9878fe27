"""``python -m planopt_studies.prepare FILE ... --out FOLDER``: sources in our schema.

Which source a file is of, its header tells. What every rule left out or changed is
printed; with ``--page`` it is written into a page of docs, behind the columns.
"""

from __future__ import annotations

import argparse
import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from planopt.accuracy.serving import known_models
from planopt.catalog.open import DEFAULT_ASSUMPTIONS
from planopt.errors import InputError
from planopt.files import write
from planopt_studies.prepare import inference, microbench, silicon, training
from planopt_studies.prepare.groups import grouped
from planopt_studies.prepare.page import page, prepared
from planopt_studies.prepare.rules import Ledger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.accuracy.validate import Measured

__all__ = ["as_csv", "prepare"]


class _Raw(dict[str, str]):
    """A row: a column that the file does not have is as good as an empty cell."""

    def __missing__(self, column: str) -> str:
        return ""


def prepare(path: Path) -> tuple[Sequence[Measured], Ledger]:
    """Bring the rows of a file into the schema; whatever rules do is counted."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows: list[dict[str, str]] = [
            _Raw({name: (text or "").strip() for name, text in row.items() if name})
            for row in csv.DictReader(file, restval="")
        ]
    ledger = Ledger(path.name)
    ledger.rows = len(rows)
    columns = set(rows[0]) if rows else set()
    models = known_models(DEFAULT_ASSUMPTIONS)
    found: Sequence[Measured]
    if columns >= silicon.COLUMNS:
        found = silicon.prepare_silicon(rows, models, ledger)
    elif columns >= inference.COLUMNS:
        found = inference.prepare_inference(rows, models, ledger)
    elif columns >= microbench.COLUMNS:
        found = microbench.prepare_microbench(rows, ledger)
    elif columns >= training.COLUMNS:
        found = training.prepare_training(rows, ledger)
    else:
        raise InputError.of(
            "E007", "the header is that of no source that is known", value=str(path)
        )
    ledger.kept = len(found)
    return grouped(found), ledger


def as_csv(rows: Sequence[Measured]) -> str:
    """Write rows; columns that no row fills are left out, but for those needed."""
    fields = msgspec.structs.fields(type(rows[0]))
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    names = [
        field.name
        for field in fields
        if field.required
        or any(getattr(row, field.name) != field.default for row in rows)
    ]
    table.writerow(names)
    for row in rows:
        table.writerow([_cell(getattr(row, name)) for name in names])
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def main() -> None:
    """Prepare files, and print what became of their rows."""
    parser = argparse.ArgumentParser(prog="planopt_studies.prepare")
    parser.add_argument("files", type=Path, nargs="+", help="tables of sources")
    parser.add_argument("--out", type=Path, required=True, help="folder")
    parser.add_argument("--page", type=Path, help="of docs, with columns and rules")
    parser.add_argument(
        "--floor", type=Path, nargs="*", default=(), help="more, for the floor alone"
    )
    arguments = parser.parse_args()
    ledgers = []
    everything: list[Measured] = []
    for path in arguments.files:
        rows, ledger = prepare(path)
        write(arguments.out / path.name, as_csv(rows))
        ledgers.append(ledger)
        everything += rows
    for path in arguments.floor:
        everything += prepare(path)[0]
    print("\n".join(prepared(ledgers)))
    if arguments.page is not None:
        write(arguments.page, page(ledgers, everything))


if __name__ == "__main__":
    main()
