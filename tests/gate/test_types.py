"""Types say what is there: nothing is imported by a text, nor called what it is not."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PUBLIC_NAMES = "__init__.py"
"""The one file that imports by name: names of planopt are loaded when asked for."""


def sources(repository: Path) -> dict[str, str]:
    folder = repository / "python" / "planopt"
    return {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
        for file in folder.rglob("*.py")
        if file.is_file()
    }


def refused(text: str) -> Iterator[str]:
    """Name what hides an import or a type from those who check them."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{each.name}" for each in node.names]
        elif isinstance(node, ast.Name | ast.Attribute):
            names = [node.id if isinstance(node, ast.Name) else node.attr]
        else:
            continue
        for name in names:
            if (
                name.split(".")[0] == "importlib"
                or name in {"__import__", "import_module"}
                or re.fullmatch(r"(typing|typing_extensions)\.cast", name)
            ):
                yield name
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == "__getattr__":
            yield node.name


def test_nothing_is_imported_by_a_text_or_cast(repository: Path) -> None:
    found = {file: list(refused(text)) for file, text in sources(repository).items()}

    assert len(found) > 100
    assert found.pop(PUBLIC_NAMES)
    assert {file: names for file, names in found.items() if names} == {}


def test_what_is_refused_is_found() -> None:
    planted = """
import importlib.util
from importlib import import_module
from typing import cast
def __getattr__(name): return __import__(name)
class Reader:
    def __getattr__(self, name): return None
"""

    assert sorted(set(refused(planted))) == [
        "__getattr__",
        "__import__",
        "importlib.import_module",
        "importlib.util",
        "typing.cast",
    ]


def test_any_goes_down(repository: Path, ratchets: dict[str, int]) -> None:
    stub = repository / "python" / "planopt" / "_native.pyi"
    found = {
        "any": sum(count(text) for text in sources(repository).values()),
        "any_in_stub": count(stub.read_text(encoding="utf-8")),
    }

    assert found == {name: min(found[name], ratchets[name]) for name in found}


def count(text: str) -> int:
    return len(re.findall(r"\bAny\b", text))
