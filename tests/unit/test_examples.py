"""What docstrings of public functions show is so."""

from __future__ import annotations

import doctest
import inspect
from typing import TYPE_CHECKING

import pytest
from small_study import STUDY

import planopt

if TYPE_CHECKING:
    from pathlib import Path

PUBLIC = [
    name for name in planopt.__all__ if inspect.isfunction(getattr(planopt, name))
]
# Measuring this machine is for `planopt calibrate`: what it reaches is of the moment.
SHOWN = sorted({*PUBLIC} - {"calibrate"})


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_is_so(
    name: str, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "sweep":
        pytest.importorskip("pyarrow")
    (tmp_path / "docs").symlink_to(repository / "docs")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    finder = doctest.DocTestFinder(recurse=False)
    for example in finder.find(getattr(planopt, name), name, globs={}):
        doctest.DocTestRunner().run(example, out=said.append)
    assert said == []


def test_each_function_has_one() -> None:
    for name in PUBLIC:
        said = inspect.getdoc(getattr(planopt, name)) or ""
        assert "Returns\n-------" in said, name
        assert doctest.DocTestParser().get_examples(said), name
