"""Sections of docstrings stand where somebody looks them up; a sentence elsewhere."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import planopt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOOKED_UP = {
    "Diagnostic",
    *(getattr(getattr(planopt, name), "__name__", name) for name in planopt.__all__),
}
_SECTION = re.compile(r"\n\s*(?:Parameters|Returns|Raises|Attributes)\n\s*-{4,}\n")


def sectioned(source: str) -> Iterator[str]:
    """Name what has sections in its docstring."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and _SECTION.search(
            ast.get_docstring(node, clean=False) or ""
        ):
            yield node.name


def test_sections_stand_in_the_public_api_and_the_documents(repository: Path) -> None:
    folder = repository / "python" / "planopt"
    assert {
        f"{file.relative_to(folder)}: {name}"
        for file in folder.rglob("*.py")
        if "documents" not in file.parts
        for name in sectioned(file.read_text(encoding="utf-8"))
        if name not in LOOKED_UP
    } == set()


def test_a_section_is_found() -> None:
    written = (
        'def inner(x):\n    """Do.\n\n    Parameters\n    ----------\n    x\n    """'
    )
    assert [*sectioned(written)] == ["inner"]
