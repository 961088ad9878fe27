"""Spaces of candidates that ship with planopt, or that a file of the user defines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planopt.door import question
from planopt.errors import InputError, meant
from planopt.files import read, unreadable
from planopt.toml import loads, tomllib

SPACES = Path(__file__).parent.parent / "spaces"


@dataclass(frozen=True)
class Space:
    """Candidates of one kind, ``training`` or ``serving``: every value of each axis."""

    name: str
    kind: str
    about: str
    axes: dict[str, Any]

    @property
    def request(self) -> dict[str, Any]:
        """As the core reads it."""
        request = {"kind": self.kind, **self.axes}
        if self.kind == "training":
            request["run"] = question("evaluate_training", self.axes["run"])
        return request


def read_space(name: str) -> Space:
    """Read a space by its name, or from a file ``NAME.toml``."""
    path = Path(name) if name.endswith(".toml") else SPACES / f"{name}.toml"
    known = sorted(each.stem for each in SPACES.glob("*.toml"))
    accepted, near = ", ".join(known) + ", or a file NAME.toml", meant(name, known)
    told = {"field": "--space", "value": name, **({"help": near} if near else {})}
    with unreadable(f"the space `{name}`", accepted, **told):
        text = read(path).decode("utf-8")
    return space_of_tables(name, read_toml(name, text))


def space_of_tables(name: str, tables: dict[str, Any]) -> Space:
    """Make a space of the tables of its file."""
    tables = dict(tables)
    kind = tables.pop("kind", None)
    if kind not in ("training", "serving"):
        raise InputError.of(
            "E104",
            "a space is of one kind of candidates",
            field="kind",
            value=str(kind),
            accepted="training, serving",
        )
    if kind == "training" and not isinstance(tables.get("run"), dict):
        raise InputError.of(
            "E102",
            "a space of training needs a run",
            field="run",
            value=str(tables.get("run", "nothing")),
            accepted="a table [run], or [space.run] in a study",
        )
    return Space(name, kind, str(tables.pop("about", name)), tables)


def read_toml(name: str, text: str) -> dict[str, Any]:
    """Read the text of a file."""
    try:
        return loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError.of(
            "E101",
            f"not TOML: {error}",
            field="space",
            value=name,
            accepted="a TOML file, as those in benchmarks/spaces",
        ) from error
