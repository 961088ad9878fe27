"""Files of ours that the documents name are there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OURS = ("benchmarks", "catalogs", "python", "rust", "studies", "tests")
OF_OTHERS = {"parallel_state.py", "tensor_parallel/layers.py"}  # Of Megatron-LM
_SOURCE = re.compile(r"[\w./-]*\w\.(?:rs|py|pyi)\b")
_PLACE = re.compile(rf"(?<![\w./-])(?:{'|'.join(OURS)})/[\w./-]*\w")
_LEFT_OUT = {"target", "__pycache__", ".venv"}


@pytest.fixture
def places(repository: Path) -> set[str]:
    """Paths of all files and folders of ours."""
    return {
        path.relative_to(repository).as_posix()
        for folder in OURS
        for path in (repository / folder).rglob("*")
        if not _LEFT_OUT.intersection(path.parts)
    }


def gone(text: str, places: set[str]) -> Iterator[str]:
    """Name what a text names of ours that is not there.

    A file may be named by the end of its path. A name in capitals stands for others.
    """
    ends = {
        place[start:]
        for place in places
        for start in (0, *(found.end() for found in re.finditer("/", place)))
    }
    names = {*_SOURCE.findall(text), *_PLACE.findall(text)} - OF_OTHERS
    yield from (
        name
        for name in sorted(names)
        if name not in ends and not re.search(r"\b[A-Z]+\b", name)
    )


def test_files_that_documents_name_are_there(
    repository: Path, places: set[str]
) -> None:
    documents = [
        repository / "DESIGN.md",
        repository / "CONTRIBUTING.md",
        *sorted((repository / "docs").rglob("*.md")),
    ]
    assert {
        f"{document.relative_to(repository)}: {name}"
        for document in documents
        for name in gone(document.read_text(encoding="utf-8"), places)
    } == set()


def test_a_file_that_is_gone_is_found(places: set[str]) -> None:
    planted = (
        "`catalog/read.rs`, gone/read.rs, rust/planopt-core/src/gone, "
        "catalogs/models/ID.toml and (tests/gate/test_documents.py)."
    )
    assert [*gone(planted, places)] == ["gone/read.rs", "rust/planopt-core/src/gone"]
