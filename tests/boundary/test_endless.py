"""Files that are none, never end or are beyond any sense are refused, and soon."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from planopt.cli import main

if TYPE_CHECKING:
    from pathlib import Path

if sys.platform == "win32":
    pytest.skip("pipes and devices of Unix", allow_module_level=True)

DEEP = 100_000


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A folder of odd files."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "deep.toml").write_text(f"a = {'[' * DEEP}{']' * DEEP}")
    (tmp_path / "deep.json").write_text("[" * DEEP + "]" * DEEP)
    tables = "".join(f"[t{number}]\nx = 1\n" for number in range(20_000))
    (tmp_path / "tables.toml").write_text(tables)
    (tmp_path / "line.toml").write_text(f'a = "{"x" * 1_000_000}" 1')
    return tmp_path


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "command",
    [
        ["verify", "pipe"],
        ["verify", "/dev/zero"],
        ["verify", "deep.json"],
        ["report", "/dev/urandom", "--md", "out.md"],
        ["diff", "pipe", "pipe"],
        ["fleet", "pipe"],
        ["fleet", "/dev/zero"],
        ["fleet", "deep.toml"],
        ["fleet", "tables.toml"],
        ["fleet", "line.toml"],
        ["sweep", "pipe", "--out", "parts"],
        ["sweep", "deep.toml", "--out", "parts"],
        ["sweep", "/dev/zero", "--out", "parts"],
        ["solve", "--traffic", "/dev/zero", "--target", "5tok/s"],
        ["validate", "--data", "/dev/zero"],
        ["import", "--from", "vllm", "deep.toml"],
    ],
    ids=" ".join,
)
def test_what_is_no_input_is_refused(
    command: list[str],
    odd: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(odd)
    with pytest.raises(SystemExit) as left:
        main(command)
    said = capsys.readouterr().err
    assert left.value.code == 2, said[:500]
    assert "error[E" in said
    assert len(said) < 100_000


def test_what_is_piped_in_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # Nobody can write before somebody may read.
    writer = os.open(pipe, os.O_RDWR)
    os.write(writer, b"{}")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    os.close(writer)
    with pytest.raises(SystemExit) as left:
        main(["verify", f"/dev/fd/{reader}"])
    os.close(reader)
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert "E301" in said
    assert "truncated" not in said  # As it would be of nothing.
