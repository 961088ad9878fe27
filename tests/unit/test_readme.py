"""README promises two commands; what it shows of the first one is what it prints."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

from pages import timeless

if TYPE_CHECKING:
    from pathlib import Path

README_DATE = 1795305600
"""The day README shows the output of, 2026-11-22: prices age."""


def _told_by_readme(repository: Path, what: str) -> str:
    return subprocess.run(
        [
            sys.executable,
            "-c",
            f"from readme_commands import *; print({what}, end='')",
        ],
        cwd=repository / "tests",
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_readme_promises_two_commands(repository: Path) -> None:
    said = _told_by_readme(repository, r"'\n'.join(promised_commands())")

    first, second = said.splitlines()
    assert first == "pip install . && planopt solve --target 5tok/s --budget 20000"
    assert second == "pip install '.[test]' && pytest -n auto --dist loadfile"


def test_readme_shows_what_its_first_command_prints(repository: Path) -> None:
    command = _told_by_readme(repository, "promised_commands()[0]")
    shown = _told_by_readme(repository, "shown_output()")
    _, _, planopt = command.partition(" && ")

    ran = subprocess.run(
        [sys.executable, "-m", "planopt.cli", *shlex.split(planopt)[1:]],
        capture_output=True,
        text=True,
        check=True,
        env={"COLUMNS": "100", "PATH": "", "SOURCE_DATE_EPOCH": str(README_DATE)},
    )

    assert timeless(ran.stdout) == timeless(shown)
