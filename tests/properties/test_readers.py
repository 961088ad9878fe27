"""What is written at random into files and options is read or refused, by a code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fuzzing import READERS, tried
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("read")


@settings(max_examples=25, deadline=None)
@given(number=st.integers(0, 10**9))
@pytest.mark.parametrize("name", READERS)
def test_no_reader_falls_over(name: str, number: int, folder: Path) -> None:
    text, fault = tried(name, number, folder)
    assert fault is None, text
