"""Files and packages import in one direction: the contracts hold, and see a circle."""

from __future__ import annotations

import graphlib
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import grimp
import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from pathlib import Path

KEPT = "no circle of files or packages KEPT"
BROKEN = "no circle of files or packages BROKEN"

INSIDE_A_FUNCTION = """

def _planted() -> object:
    from planopt.{module} import {name}

    return {name}
"""

FOR_TYPES_ALONE = """

if TYPE_CHECKING:
    from planopt.{module} import {name}
"""


@pytest.fixture
def copy(repository: Path, tmp_path: Path) -> Path:
    """Python files of the packages that the contracts are about, and the contracts."""
    shutil.copy(repository / "pyproject.toml", tmp_path)
    for package in contracts(repository)["root_packages"]:
        (source,) = repository.glob(f"*/{package}")
        for file in source.rglob("*.py"):
            target = tmp_path / package / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
    return tmp_path


def contracts(repository: Path) -> dict[str, Any]:
    with (repository / "pyproject.toml").open("rb") as file:
        settings: dict[str, Any] = tomllib.load(file)["tool"]["importlinter"]
    return settings


def linted(folder: Path) -> tuple[int, str]:
    """Exit code and output of import-linter on the packages of a folder."""
    code = "from importlinter.cli import lint_imports_command as lint; lint()"
    ran = subprocess.run(
        [sys.executable, "-c", code, "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout + ran.stderr


def test_the_contracts_hold(copy: Path) -> None:
    code, told = linted(copy)

    assert KEPT in told
    assert code == 0, told


@pytest.mark.parametrize("planted", [INSIDE_A_FUNCTION, FOR_TYPES_ALONE])
@pytest.mark.parametrize(
    ("file", "module", "name"),
    [
        ("documents/parts.py", "documents.plan", "Plan"),  # two files of a package
        ("documents/plan.py", "report.numbers", "money"),  # two packages
    ],
)
def test_a_circle_is_noticed(
    planted: str, file: str, module: str, name: str, copy: Path
) -> None:
    with (copy / "planopt" / file).open("a", encoding="utf-8") as text:
        text.write(planted.format(module=module, name=name))

    code, told = linted(copy)

    assert BROKEN in told
    assert code == 1, told


def test_no_package_is_in_a_circle_with_its_own_files(repository: Path) -> None:
    # A package and what is in it are no siblings: the contract does not look at them.
    graph = grimp.build_graph(*contracts(repository)["root_packages"], cache_dir=None)

    graphlib.TopologicalSorter(
        {file: graph.find_modules_directly_imported_by(file) for file in graph.modules}
    ).prepare()


def test_contracts_ignore_no_more_than_they_did(
    repository: Path, ratchets: dict[str, int]
) -> None:
    ignored = sum(
        len(contract.get("ignore_imports", ()))
        + len(contract.get("skip_descendants", ()))
        for contract in contracts(repository)["contracts"]
    )

    assert ignored <= ratchets["ignored_imports"]
