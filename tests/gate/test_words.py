"""Words of 0.1 of which nothing is left: the glossary lists them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KINDS = {".py", ".pyi", ".rs", ".md", ".js"}
LEFT_OUT = {"target", "__pycache__", ".venv", "catalogs"}


@pytest.fixture
def old(repository: Path) -> re.Pattern[str]:
    """Any word that the glossary says is gone."""
    rows = (repository / "docs/glossary.md").read_text("utf-8").splitlines()
    cells = [row.strip("| ").split(" | ") for row in rows if row.endswith("|")]
    gone = [
        word for row in cells if row[-1] == "nothing" for word in row[0].split(", ")
    ]
    return re.compile(rf"\b_?({'|'.join(gone)})\b", re.IGNORECASE)


def written(repository: Path) -> Iterator[Path]:
    for folder in ("python", "rust", "studies", "docs"):
        for path in (repository / folder).rglob("*"):
            if path.suffix in KINDS and not LEFT_OUT.intersection(path.parts):
                yield path


def test_no_word_of_before_is_left(repository: Path, old: re.Pattern[str]) -> None:
    glossary = repository / "docs/glossary.md"
    left = {
        f"{path.relative_to(repository)}: {found.group()}"
        for path in written(repository)
        if path != glossary
        for found in old.finditer(path.read_text("utf-8"))
    }
    assert left == set()


def test_words_are_seen(old: re.Pattern[str]) -> None:
    assert old.search("the pessimism of it")
    assert old.search("fn _looked_at(")
    assert not old.search("an idea dealing with a ground_truth")
