"""One module writes files and one prints: nothing goes past them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WRITERS = {
    "files.py",
}
PRINTERS = {
    "cli/output.py",
    "cli/progress.py",  # Figures on one line of a terminal.
}


def writes(tree: ast.AST) -> Iterator[str]:
    """Name the calls that write files: open for writing, write_text."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func).rpartition(".")[2]
        given = [*node.args, *(each.value for each in node.keywords)]
        texts = [each.value for each in given if isinstance(each, ast.Constant)]
        modes = {text for text in texts if isinstance(text, str) and len(text) < 4}
        if name in ("write_text", "write_bytes", "mkstemp") or (
            name in ("open", "fdopen") and modes & {"w", "wb", "x", "xb", "a", "ab"}
        ):
            yield name


def prints(tree: ast.AST) -> Iterator[str]:
    """Name the uses of the streams: print, echo, sys.stdout, sys.stderr."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in ("print", "echo"):
            yield node.id
        elif isinstance(node, ast.Attribute) and node.attr in ("echo", "secho"):
            yield node.attr
        elif isinstance(node, ast.Attribute) and node.attr in ("stdout", "stderr"):
            yield from (["sys"] if ast.unparse(node.value) == "sys" else [])


def found_in(repository: Path, finder: Callable[[ast.AST], Iterator[str]]) -> set[str]:
    folder = repository / "python" / "planopt"
    return {
        file.relative_to(folder).as_posix()
        for file in folder.rglob("*.py")
        if file.is_file() and any(finder(ast.parse(file.read_text(encoding="utf-8"))))
    }


def test_one_module_writes_files(repository: Path) -> None:
    # The solver process answers into its pipe.
    assert found_in(repository, writes) - {"procurement/child.py"} == WRITERS


def test_one_module_prints(repository: Path) -> None:
    # It makes the streams that are printed to.
    assert found_in(repository, prints) - {"cli/streams.py"} == PRINTERS


@pytest.mark.parametrize(
    "line",
    ["path.write_text(text)", "open(path, 'w')", "path.open(mode='xb')"],
)
def test_a_planted_writer_is_found(line: str) -> None:
    assert list(writes(ast.parse(line)))


@pytest.mark.parametrize("line", ["print(1)", "typer.echo(1)", "f(file=sys.stderr)"])
def test_a_planted_printer_is_found(line: str) -> None:
    assert list(prints(ast.parse(line)))
