"""Files that are written as a whole or not at all."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from planopt import files
from planopt.catalog.overlay import write_overlay
from planopt.errors import InputError
from planopt.exchange.rows import write_rows

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that says only at the end that it has no room."""

    def fsync(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_a_text_is_written(tmp_path: Path) -> None:
    files.write(tmp_path / "new", "caf\xe9\n")
    files.write(tmp_path / "new", "caf\xe9s\n")

    assert (tmp_path / "new").read_bytes() == b"caf\xc3\xa9s\n"
    assert names(tmp_path) == ["new"]


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "json"])
def test_a_full_disk_leaves_what_was_there(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"front.{suffix}"
    path.write_text("old", encoding="utf-8")

    with pytest.raises(InputError, match="cannot write: No space left") as refused:
        write_rows(path, [{"price": 1}])

    assert [each.code for each in refused.value.diagnostics] == ["E006"]
    assert path.read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == [path.name]


@pytest.mark.usefixtures("full")
def test_an_overlay_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    mine = tmp_path / "offers" / "b.toml"
    mine.parent.mkdir()
    mine.write_text("mine", encoding="utf-8")
    theirs = dict.fromkeys(("offers/a.toml", "offers/b.toml"), "theirs")

    with pytest.raises(InputError, match="E006"):
        write_overlay(tmp_path, theirs, force=True)

    assert mine.read_text(encoding="utf-8") == "mine"
    assert names(mine.parent) == ["b.toml"]


def test_an_interruption_of_the_writer_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "plan"
    files.write(path, "old")

    def interrupted() -> None:
        with files.replacing(path) as file:
            file.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert path.read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == ["plan"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664])
def test_permissions_are_kept(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "plan"
    path.touch()
    path.chmod(mode)

    files.write(path, "new")

    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_permissions_that_new_files_have(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()

    files.write(tmp_path / "new", "")

    usual = (tmp_path / "usual").stat().st_mode
    assert (tmp_path / "new").stat().st_mode == usual


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_one(there: bool, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "plan"
    target.parent.mkdir()
    if there:
        target.touch()
    (tmp_path / "link").symlink_to(target)

    files.write(tmp_path / "link", "new")

    assert (tmp_path / "link").readlink() == target
    assert target.read_text(encoding="utf-8") == "new"
    assert names(target.parent) == ["plan"]


def test_links_in_a_circle_are_told(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "other")
    (tmp_path / "other").symlink_to(tmp_path / "one")

    with pytest.raises(InputError, match="E006"):
        files.write(tmp_path / "one", "new")

    assert (tmp_path / "one").is_symlink()


def test_what_is_no_file_of_a_disk_is_not_replaced(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    files.write(f"/dev/fd/{writer}", "new")
    os.close(writer)
    assert os.read(reader, 10) == b"new"
    os.close(reader)

    (tmp_path / "null").symlink_to("/dev/null")
    files.write(tmp_path / "null", "new")
    assert (tmp_path / "null").is_char_device()


@pytest.mark.parametrize("path", ["/dev/full", "", "nowhere/plan", "folder"])
def test_what_cannot_be_written_is_told(path: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()

    with pytest.raises(InputError, match=r"^error\[E006\]: cannot write: "):
        files.write(tmp_path / path, "new", field="--out")

    assert names(tmp_path) == ["folder"]


def test_a_file_that_must_not_be_written_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plan"
    files.write(path, "old")
    path.chmod(0o400)
    if os.access(path, os.W_OK):  # Root may write it all the same.
        real = os.open

        def checked(name: str, flags: int) -> int:
            if flags & os.O_WRONLY:
                raise PermissionError(13, "Permission denied")
            return real(name, flags)

        monkeypatch.setattr(os, "open", checked)

    with pytest.raises(InputError, match="cannot write: Permission denied"):
        files.write(path, "new")

    assert path.read_text(encoding="utf-8") == "old"


def test_a_name_may_be_as_long_as_names_can_be(tmp_path: Path) -> None:
    files.write(tmp_path / ("x" * 255), "new")

    assert names(tmp_path) == ["x" * 255]
