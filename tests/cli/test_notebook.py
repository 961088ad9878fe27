"""The notebook of the documentation runs, and what it shows is drawn."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "how-to" / "notebook.ipynb"


def test_every_cell_runs_and_shows_what_it_asks_for() -> None:
    pytest.importorskip("pyarrow")
    names: dict[str, Any] = {}
    drawn = [_shown(cell, names) for cell in json.loads(NOTEBOOK.read_text())["cells"]]
    pages = [each._repr_html_() for each in drawn if hasattr(each, "_repr_html_")]
    plan, drawings, evaluation, front, comparison = pages
    assert all(each.startswith("<iframe") for each in pages)
    assert "as text" in plan
    assert "as text" not in drawings
    assert "tok/s" in evaluation
    assert "that no other beats, of" in front
    assert "cheapest: " in comparison


def _shown(cell: dict[str, Any], names: dict[str, Any]) -> object:
    """Run a cell as a notebook does: its last expression is what it shows."""
    if cell["cell_type"] != "code":
        return None
    *body, last = ast.parse("".join(cell["source"])).body
    assert isinstance(last, ast.Expr)
    exec(compile(ast.Module(body, []), NOTEBOOK.name, "exec"), names)
    return eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names)
