"""Pages that show what is printed: each command runs, and prints that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pages import COLUMNS, PAGES, commands, files, run, shown, timeless

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_its_commands_print(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", COLUMNS)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795305600")  # 2026-11-22
    printed = shown(page)
    assert printed
    for command in commands(page):
        text = run(command)
        if command in printed:
            assert timeless(text) == timeless(printed[command]), command


def test_what_a_clock_decides_is_left_out() -> None:
    one = "  52% hold · ~$1,200 at 50% · ~$2,600 at 95%\n  184 candidates in 0.3 s   --"
    other = "  52% hold · ~$1,200 at 50%\n  184 candidates in 12.30 s  --"
    assert timeless(one) == timeless(other)
    assert timeless(one) != timeless(other.replace("184", "185"))
