"""Files of overlays: named by ids, inside their folder, TOML that reads as written."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planopt.catalog.open import open_catalog
from planopt.catalog.overlay import id_of, is_id, toml_value, write_overlay
from planopt.errors import InputError

if sys.version_info >= (3, 11):
    from tomllib import loads
else:
    from tomli import loads

if TYPE_CHECKING:
    from pathlib import Path


@given(st.text())
def test_toml_reads_every_text_as_it_was(text: str) -> None:
    assert loads(f"it = {toml_value(text)}") == {"it": text}


def test_what_no_unicode_has_is_spelt_out() -> None:
    name_of_a_file = b"caf\xe9".decode("utf-8", "surrogateescape")

    assert loads(f"it = {toml_value(name_of_a_file)}") == {"it": "caf\\udce9"}


@given(st.text())
def test_what_is_made_an_id_is_one_or_nothing(text: str) -> None:
    made = id_of(text)

    assert made == "" or is_id(made)
    assert not is_id(text) or made == text


@pytest.mark.parametrize("id_", ["aws", "llama-3.1-8b", "qwen2.5-7b", "4090"])
def test_ids_of_the_bundled_catalog_are_ids(id_: str) -> None:
    assert is_id(id_)


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "..", "../aws", "/etc/aws", "aws/offers", "a\\b", ".aws", "aws."),
        *("AWS", "a b", "a\0", "aws\n", "-aws", "a--b", "caf\xe9", "\u0663"),
    ],
)
def test_paths_and_other_texts_are_no_ids(text: str) -> None:
    assert not is_id(text)


@pytest.mark.parametrize("id_", ["../../victim", "/etc/victim", "..", "", "a/b"])
def test_nothing_is_written_elsewhere_whoever_made_the_name(
    id_: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="E114"):
        write_overlay(tmp_path / "mine", {f"offers/{id_}.toml": ""}, force=True)

    assert not any(tmp_path.iterdir())


def test_every_file_in_the_way_is_told_and_none_is_written(tmp_path: Path) -> None:
    (tmp_path / "offers").mkdir()
    for name in ("one", "two"):
        (tmp_path / "offers" / f"{name}.toml").write_text("mine", encoding="utf-8")
    files = {f"offers/{name}.toml": "theirs" for name in ("new", "one", "two")}

    with pytest.raises(InputError) as refused:
        write_overlay(tmp_path, files)

    problems = refused.value.diagnostics
    assert [each.code for each in problems] == ["E010", "E010"]
    assert [each.value for each in problems] == [
        str(tmp_path / "offers" / f"{name}.toml") for name in ("one", "two")
    ]
    assert all("--force" in (each.help or "") for each in problems)
    assert not (tmp_path / "offers" / "new.toml").exists()

    written = write_overlay(tmp_path, files, force=True)
    assert written == [str(tmp_path / name) for name in files]
    assert all((tmp_path / name).read_text("utf-8") == "theirs" for name in files)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("link", ["offers", "offers/aws.toml"])
@pytest.mark.parametrize("target", ["there", "nowhere"])
def test_no_link_below_the_folder_is_followed(
    target: str, link: str, force: bool, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (outside / "there").mkdir(parents=True)
    folder = tmp_path / "mine"
    (folder / link).parent.mkdir(parents=True)
    (folder / link).symlink_to(outside / target)

    with pytest.raises(InputError, match="is a link") as refused:
        write_overlay(folder, {"offers/aws.toml": "theirs"}, force=force)

    assert [each.code for each in refused.value.diagnostics] == ["E010"]
    assert [each.name for each in outside.rglob("*")] == ["there"]


def test_a_folder_that_is_a_link_itself_was_named_and_is_written(
    tmp_path: Path,
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "mine").symlink_to(tmp_path / "there")

    write_overlay(tmp_path / "mine", {"offers/aws.toml": "theirs"})

    assert (tmp_path / "there" / "offers" / "aws.toml").read_text("utf-8") == "theirs"


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_in_the_place_of_a_file_is_in_the_way(
    force: bool, tmp_path: Path
) -> None:
    (tmp_path / "offers" / "b.toml").mkdir(parents=True)

    with pytest.raises(InputError) as refused:
        write_overlay(tmp_path, {"offers/a.toml": "", "offers/b.toml": ""}, force=force)

    assert [each.code for each in refused.value.diagnostics] == ["E010"]
    assert not (tmp_path / "offers" / "a.toml").exists()


def test_a_folder_that_holds_no_catalog_is_told(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("none", encoding="utf-8")
    with pytest.raises(InputError) as refused:
        open_catalog([str(tmp_path)])
    (problem,) = refused.value.diagnostics
    assert (problem.code, problem.value) == ("E006", str(tmp_path))
