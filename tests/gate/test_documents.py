"""Files and functions of ours that the documents name are there."""

from __future__ import annotations

import re
from pkgutil import resolve_name
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OURS = ("benchmarks", "catalogs", "python", "rust", "studies", "tests")
OF_OTHERS = {"parallel_state.py", "tensor_parallel/layers.py"}  # Of Megatron-LM
PAGES = {"planopt.html"}
_SOURCE = re.compile(r"[\w./-]*\w\.(?:rs|py|pyi)\b")
_PLACE = re.compile(rf"(?<![\w./-])(?:{'|'.join(OURS)})/[\w./-]*\w")
_DOTTED = re.compile(r"\bplanopt(?:_reference|_studies)?(?:\.[A-Za-z_]\w*)+(?!\w|/\d)")
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
    said = re.sub(r"https?://\S+", "", text)
    names = {*_SOURCE.findall(said), *_PLACE.findall(said)} - OF_OTHERS
    yield from (
        name
        for name in sorted(names)
        if name not in ends and not re.search(r"\b[A-Z]+\b", name)
    )


@pytest.fixture
def documents(repository: Path) -> dict[str, str]:
    """Texts that say where things are, by their paths."""
    files = [
        *(repository / name for name in ("DESIGN.md", "CONTRIBUTING.md", "README.md")),
        *sorted((repository / "docs").rglob("*.md")),
    ]
    return {
        file.relative_to(repository).as_posix(): file.read_text(encoding="utf-8")
        for file in files
    }


def test_files_that_documents_name_are_there(
    documents: dict[str, str], places: set[str]
) -> None:
    assert {
        f"{document}: {name}"
        for document, text in documents.items()
        for name in gone(text, places)
    } == set()


def test_functions_that_documents_name_are_there(documents: dict[str, str]) -> None:
    for text in documents.values():
        for name in set(_DOTTED.findall(text)) - PAGES:
            resolve_name(name)  # Raises where there is none of that name.


def test_a_file_that_is_gone_is_found(places: set[str]) -> None:
    planted = (
        "`catalog/read.rs`, gone/read.rs, rust/planopt-core/src/gone, "
        "catalogs/models/ID.toml and (tests/gate/test_documents.py)."
    )
    assert [*gone(planted, places)] == ["gone/read.rs", "rust/planopt-core/src/gone"]
