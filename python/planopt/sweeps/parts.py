"""Finished chunks on disk: one Parquet file each, there as a whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, structs
from msgspec.json import decode

from planopt.errors import InputError, needing
from planopt.files import replacing, unwritable, write
from planopt.sweeps.study import Chunk, Study

MANIFEST = "manifest.json"
TALLY = b"planopt"
"""Key of the counts and the checksum of a chunk, in the metadata of its file."""


Row: TypeAlias = dict[str, object]
"""A candidate of a front: what it is and its figures, with the case that it is of."""


class Tally(Struct, frozen=True):
    """What was gone through in a chunk."""

    chunk: int
    covered: int
    evaluated: int
    rejected: int
    checksum: str
    fingerprint: str


class Evaluated(Struct, frozen=True):
    """The front of a chunk, and what was gone through to find it."""

    covered: int
    evaluated: int
    rejected: int
    checksum: str
    rejected_by: tuple[tuple[str, int], ...]
    pruned: int
    seconds: float
    interrupted: bool
    rows: list[Row]


class _Manifest(Struct, frozen=True):
    fingerprint: str


@dataclass(frozen=True)
class Parts:
    """The folder of a study."""

    folder: Path  # Where it is

    @classmethod
    def of(cls, study: Study, out: str) -> Parts:
        """Open the folder of a study, or make it."""
        accepted = "an installation with the extra `sweep`"
        told = {"field": "--out", "value": "pyarrow"}
        with needing("pyarrow", "sweep", accepted=accepted, **told):
            import pyarrow.parquet  # noqa: F401 - later steps need it
        parts = cls(Path(out))
        with unwritable(out, field="--out"):
            parts.folder.mkdir(parents=True, exist_ok=True)
            known = parts._fingerprint()
        if known is None:
            parts._write_manifest(study)
        elif known != study.fingerprint():
            raise InputError.of(
                "E008",
                "the folder holds parts of another study",
                field="--out",
                value=out,
                accepted="a new folder, or that of this very study",
                help="a changed study, catalog or chunk needs a folder of its own",
            )
        return parts

    def path(self, index: int) -> Path:
        """Where a chunk is written."""
        return self.folder / f"part-{index:06}.parquet"

    def is_there(self, chunk: Chunk) -> bool:
        """Whether a chunk is finished."""
        return self.path(chunk.index).exists()

    def write(self, chunk: Chunk, found: Evaluated) -> None:
        """Write a finished chunk."""
        import pyarrow
        import pyarrow.parquet

        shared = {"case": chunk.case.index, **chunk.case.values}
        rows = [{**shared, **row} for row in found.rows]
        empty = pyarrow.table({"case": pyarrow.array([], pyarrow.int64())})
        table = pyarrow.Table.from_pylist(rows) if rows else empty
        tally = structs.asdict(found) | shared
        del tally["rows"]
        tally |= {"chunk": chunk.index, "start": chunk.start, "end": chunk.end}
        tally["fingerprint"] = self._fingerprint()
        table = table.replace_schema_metadata({TALLY: json.dumps(tally).encode()})
        with replacing(self.path(chunk.index), field="--out") as file:
            pyarrow.parquet.write_table(table, file)

    def tallies(self) -> Iterator[Tally]:
        """Read counts and checksum of each finished chunk of this study."""
        import pyarrow.parquet

        mine = self._fingerprint()
        for path in sorted(self.folder.glob("part-*.parquet")):
            with _as_written(path):
                metadata = pyarrow.parquet.read_schema(path).metadata
                tally = decode(metadata[TALLY], type=Tally)
                if (tally.fingerprint, self.path(tally.chunk)) != (mine, path):
                    message = "it is of another study"
                    raise ValueError(message)
            yield tally

    def rows(self) -> Iterator[Row]:
        """Read the rows of all finished chunks, in their order."""
        import pyarrow.parquet

        for path in sorted(self.folder.glob("part-*.parquet")):
            with _as_written(path):
                rows = pyarrow.parquet.read_table(path).to_pylist()
            yield from rows

    def write_front(self, rows: list[Row]) -> Path:
        """Write the front of each case, of all its chunks."""
        import pyarrow
        import pyarrow.parquet

        path = self.folder / "front.parquet"
        with replacing(path, field="--out") as file:
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
        return path

    def _fingerprint(self) -> str | None:
        """Read what the folder was made for, if anything."""
        path = self.folder / MANIFEST
        if not path.exists():
            return None
        with _as_written(path):
            return decode(path.read_bytes(), type=_Manifest).fingerprint

    def _write_manifest(self, study: Study) -> None:
        told = {
            "schema": "planopt.sweeps/1",
            "about": study.about,
            "kind": study.kind,
            "fingerprint": study.fingerprint(),
            "candidates": study.candidates,
            "chunk": study.chunk,
            "cases": [
                {
                    "case": case.index,
                    "candidates": case.candidates,
                    "catalog_digest": case.digest,
                    **case.values,
                }
                for case in study.cases
            ],
            "chunks": [
                {
                    "part": self.path(chunk.index).name,
                    "case": chunk.case.index,
                    "start": chunk.start,
                    "end": chunk.end,
                }
                for chunk in study.chunks()
            ],
        }
        text = json.dumps(told, indent=1) + "\n"
        write(self.folder / MANIFEST, text, field="--out")


@contextmanager
def _as_written(path: Path) -> Iterator[None]:
    """Tell of a file that it is not what this study wrote."""
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError.of(
            "E008",
            f"the folder holds what the study did not write: {error}",
            field="--out",
            value=path,
            accepted="files as the study wrote them",
            help="remove that file: the sweep makes what is missing",
        ) from error
