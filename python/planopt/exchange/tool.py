"""What planopt says in the words of a tool: a table for each, read as data.

Writing and reading go by the same rows. A *term* is what planopt says (``tp``, ``kv``);
a flag is what the tool says: a word of its command line, or a dotted key of its file.
"""

from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from planopt.toml import read_table

TOOLS = Path(__file__).parent / "tools"

Value: TypeAlias = "str | int | float | bool | None"
Terms: TypeAlias = "dict[str, Value]"
Options: TypeAlias = dict[str, object]
"""Of a command of planopt, by their names."""


class Term(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a term is, as `terms.toml` says it."""

    held: str | None = None
    told: str | None = None
    kind: Literal["number", "count", "text"] = "number"
    neutral: Value = None


@cache
def _terms() -> dict[str, Term]:
    return read_table(TOOLS.parent / "terms.toml", dict[str, Term])


def term(name: str) -> Term:
    """Return what a term is; one that the table does not name is a number."""
    return _terms().get(name) or Term()


def is_neutral(name: str, value: Value) -> bool:
    """Whether a tool does so anyway."""
    return value is None or value == term(name).neutral


class Flag(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a tool says a term."""

    flag: str
    """As it is written; none for the argument without a flag."""
    term: str
    aliases: tuple[str, ...] = ()
    place: Literal["launcher", "command", "file"] | None = None
    """Where it stands, if not where the tool's table says."""
    values: dict[str, str] = {}
    """planopt's word, and the tool's."""
    reads: dict[str, str] = {}
    """Further words of the tool; an empty one is the tool's own choice."""
    write: str = "{value}"
    shell: str | None = None
    """What stands in a script in place of the value, such as the rank of a host."""
    only: dict[str, tuple[str, ...]] = {}
    """Terms, and the values of them that it is written for."""
    equals: str | None = None
    """The term whose value the tool gives it: there is no other."""
    several: bool = False
    """Whether its value is words."""
    switch: bool = False
    means: str | None = None
    """What a switch says of its term."""
    says: tuple[str, ...] = ()
    """Terms that it says too."""
    always: bool = False
    default: str | None = None
    """What the tool takes where nothing is said."""
    why: str | None = None
    """Why the tool has no other."""

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every way to write it."""
        return (self.flag, *self.aliases)


class Takes(Struct, frozen=True, kw_only=True):
    """What a flag takes, as the tool's source has it."""

    switch: bool = False
    choices: tuple[str, ...] = ()
    at: str | None = None


class Listed(Struct, frozen=True, kw_only=True):
    """Every flag of a release."""

    tool: str
    version: str
    date: str
    flags: dict[str, Takes]


class Tool(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool of one version."""

    tool: str
    name: str
    version: str
    date: str
    source: str
    subject: Literal["serving", "training", "load"] = "serving"
    shape: Literal["command", "yaml"] = "command"
    framework: str | None = None
    """What trains, by its name in the assumptions."""
    start: tuple[str, ...] = ()
    program: tuple[str, ...] = ()
    """Words behind the flags of the launcher."""
    launcher: str | None = None
    begins: tuple[str, ...] = ()
    """Words that a command line of it has in this order."""
    image: str | None = None
    command: tuple[str, ...] = ()
    """What a container of the image is told to run before the flags."""
    port: int = 8000
    checkpoint: tuple[str, ...] = ()
    """Formats that the weights have to be saved in."""
    flags: tuple[Flag, ...]
    extra: tuple[str, ...] = ()
    """Words of a script on several hosts that no term says."""
    ignored: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    """Flags that change neither memory nor layout."""
    refused: dict[str, str] = {}
    """Flags that do, and that planopt has no term for: why, or what to say instead."""

    @property
    def listed(self) -> Listed:
        """What the release takes."""
        return _listed(self.tool)


@cache
def tool(name: str) -> Tool:
    """Return the table of a tool."""
    return read_table(TOOLS / f"{name}.toml", Tool)


def count_of(terms: Terms, name: str, usual: int = 1) -> int:
    """Return a term that counts, and what is usual where it is not said."""
    value = terms.get(name)
    return usual if value is None else int(str(value))


@cache
def _listed(name: str) -> Listed:
    content = (TOOLS / f"{name}.flags.json").read_bytes()
    return msgspec.json.decode(content, type=Listed)
