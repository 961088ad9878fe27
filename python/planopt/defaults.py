"""``planopt.toml``: what options are where nobody says otherwise.

It stands in the folder that one works in, or in the home directory; what the folder
says goes first. Only options whose entry of the table names it can be set.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import msgspec
from msgspec import Struct

from planopt._native import read_defaults
from planopt.errors import Diagnostic, InputError

FILE = "planopt.toml"


class Default(Struct, frozen=True, kw_only=True):
    """An option as a file says it."""

    argument: str
    value: object
    line: int
    column: int
    file: str = ""

    @property
    def text(self) -> str:
        """The value, as messages show it."""
        if isinstance(self.value, dict):
            return ", ".join(f"{name}={value}" for name, value in self.value.items())
        if isinstance(self.value, list):
            return ", ".join(map(str, self.value))
        return str(self.value)

    def under(self, given: object) -> object:
        """Return it below what is given: names with a value each are laid over it."""
        own = self.value
        if given is None or not isinstance(own, dict):
            return own if given is None else given
        if isinstance(given, dict):
            return {**own, **given}
        said = given if isinstance(given, list) else str(given).split(",")
        return [*(f"{name}={value}" for name, value in own.items()), *said]

    def at(self, problem: Diagnostic) -> Diagnostic:
        """Return a problem of its value with its place."""
        return dataclasses.replace(
            problem, file=self.file, line=self.line, column=self.column
        )


def defaults() -> dict[str, Default]:
    """Read the files that there are: options by their arguments."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - where there is none, it is `~`
    folders = dict.fromkeys((home.resolve(), Path.cwd().resolve()))
    found: dict[str, Default] = {}
    problems: list[Diagnostic] = []
    for file in (folder / FILE for folder in folders):
        if not file.is_file():
            continue
        try:
            read = msgspec.json.decode(read_defaults(str(file)), type=list[Default])
        except InputError as error:
            problems += error.diagnostics
            continue
        found |= {each.argument: _of(file, each) for each in read}
    if problems:
        raise InputError(problems)
    return found


def _of(file: Path, default: Default) -> Default:
    """Take folders to be beside the file that names them."""
    value = default.value
    if default.argument == "catalog":
        folders = value if isinstance(value, list) else [value]
        value = [str(file.parent / str(each)) for each in folders]
    return msgspec.structs.replace(default, file=str(file), value=value)
