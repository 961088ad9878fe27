"""What others read of the repository: the site, workflows, a citation."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from write_codes import page as diagnostics

from planopt_studies.wrong import PAGE, with_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def test_the_site_has_every_page(repository: Path) -> None:
    site = yaml.safe_load((repository / ".ci" / "mkdocs.yml").read_text())
    docs = repository / "docs"
    pages = {str(page.relative_to(docs)) for page in docs.rglob("*.md")}
    assert set(_pages(site["nav"])) == pages


def _pages(nav: list[dict[str, Any]]) -> Iterator[str]:
    for entry in nav:
        for page in entry.values():
            yield from [page] if isinstance(page, str) else _pages(page)


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.github-workflows", ".github/workflows/*.yml"),
        ("vendor.citation-file-format", "CITATION.cff"),
    ],
)
def test_files_for_others_are_as_they_read_them(
    schema: str, files: str, repository: Path
) -> None:
    found = [str(file) for file in repository.glob(files)]
    assert found
    checker = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    checked = subprocess.run(
        [*checker, *found], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout


def test_who_cites_names_this_version(repository: Path) -> None:
    cited = yaml.safe_load((repository / "CITATION.cff").read_text())["version"]
    assert f'version = "{cited}"' in (repository / "Cargo.toml").read_text()


def test_pages_of_our_own_data_are_as_it_is(repository: Path) -> None:
    page = repository / "docs" / "reference" / "diagnostics.md"
    assert page.read_text(encoding="utf-8") == diagnostics()
    biased = (repository / PAGE).read_text(encoding="utf-8")
    assert with_table(biased) == biased
