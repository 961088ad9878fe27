"""Options as people write them: the one table, and values read as it says.

The table is data of the core (``options.toml``). The name of an option is the keyword
of the API: ``--max-power`` is ``max_power``. What options are where nobody says
otherwise stands in a ``planopt.toml`` of the folder that one works in, or of the home
directory; what the folder says goes first. Only options whose entry of the table names
it can be set.
"""

from __future__ import annotations

import copy
import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from planopt._native import Catalog, options_json, read_defaults, read_options
from planopt.errors import Diagnostic, InputError

# --- planopt.toml ---------------------------------------------------------------------


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


# --- The table ------------------------------------------------------------------------


TextOrNumber: TypeAlias = "str | int | float"

_YES_NO = ("yes", "no")
LARGEST_NUMBER = 2**63 - 1  # What JSON is sure to carry whole

T = TypeVar("T")


class Taken(Struct, frozen=True, kw_only=True):
    """How a command takes an option: what is said here goes before the option's own."""

    refuse: str | None = None
    required: str | None = None
    panel: str | None = None
    kind: str | None = None
    keyword: str | None = None
    metavar: str | None = None
    help: str | None = None
    most: float | None = None
    choices: tuple[str, ...] | None = None
    default: str | None = None
    default_text: str | None = None
    aliases: tuple[str, ...] | None = None
    repeat: bool | None = None


class Option(Struct, frozen=True, kw_only=True):
    """An option; `planopt.options.taken_by` has it as a command takes it."""

    name: str
    path: str | None = None
    panel: str
    kind: str
    unit: str | None = None
    of: str | None = None
    metavar: str = ""
    help: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    example: str | None = None
    default: str | None = None
    default_text: str | None = None
    keyword: str | None = None
    aliases: tuple[str, ...] = ()
    switches: dict[str, str] = {}
    spelled: dict[str, str] = {}
    endings: dict[str, str] = {}
    also: tuple[str, ...] = ()
    repeat: bool = False
    unnamed: str | None = None  # The name of a number that is given alone
    toml: dict[str, tuple[str, ...]] = {}
    commands: dict[str, Taken] = {}
    required: str | None = None
    """What is asked where a command needs it and it is missing."""

    @property
    def flag(self) -> str:
        """As it is typed."""
        return f"--{self.name}"

    @property
    def argument(self) -> str:
        """Keyword of the API."""
        return self.keyword or self.name.replace("-", "_")

    @property
    def says(self) -> str:
        """The sentence of its help."""
        default = self.default_text or (self.kind != "switch" and self.default)
        return (
            self.help
            + ("; repeatable" if self.repeat or self.kind == "files" else "")
            + (f" [default: {default}]" if default else "")
        ).strip()

    @property
    def hidden(self) -> tuple[str, ...]:
        """Flags that stand for it, too, and are not told of."""
        return (*self.aliases, *self.switches, *self.endings)

    @property
    def other_names(self) -> tuple[str, ...]:
        """Keywords that mean it, too."""
        own = (self.argument,) if self.spelled else ()
        return (*own, *(name.replace("-", "_") for name in self.hidden))

    def said(self, name: str, value: object) -> tuple[str, object]:
        """Return its keyword and value where it is given by another name."""
        if name in self.switches:
            value = self.switches[name]
        elif name in self.endings:
            unit = "" if isinstance(value, str) else "s"
            value = f"{value}{unit}{self.endings[name]}"
        return self.argument, self.spelled.get(str(value), value)

    def taken(self, command: str) -> Option:
        """Return it as a command takes it."""
        own = self.commands[command]
        said = {name: getattr(own, name) for name in own.__struct_fields__}
        known = {name: value for name, value in said.items() if value is not None}
        if own.default_text is not None or own.default is not None:
            known |= {"default": own.default, "default_text": own.default_text}
        known.pop("refuse", None)
        return msgspec.structs.replace(self, **known)


class Table(Struct, frozen=True, kw_only=True):
    """Every option of every command."""

    commands: tuple[str, ...]
    panels: tuple[str, ...]
    options: tuple[Option, ...]


@cache
def table() -> Table:
    """Return the table of the core."""
    return msgspec.json.decode(options_json(), type=Table)


@cache
def taken_by(command: str) -> dict[str, Option]:
    """Return the options of a command by keyword, each as it takes it."""
    taken = (
        option.taken(command)
        for option in table().options
        if command in option.commands and option.commands[command].refuse is None
    )
    return {option.argument: option for option in taken}


def flag(name: str) -> str:
    """Option as it is typed: ``max_power`` is ``--max-power``."""
    known = (each for each in table().options if name in (each.name, each.argument))
    return next((each.flag for each in known), "--" + name.replace("_", "-"))


def given(command: str, keywords: Mapping[str, object]) -> dict[str, object]:
    """Return what is given, by the names of the table."""
    taken = taken_by(command)
    other = {name: each for each in taken.values() for name in each.other_names}
    said: dict[str, object] = {}
    by: dict[str, str] = {}
    problems = []
    for name, value in keywords.items():
        if value is None or (name in other and value is False):
            continue
        argument, meant = (
            other[name].said(name, value) if name in other else (name, value)
        )
        if argument in said and said[argument] != meant:
            problems.append(_said_twice(by[argument], name))
        said[argument], by[argument] = meant, name
    problems += [unknown(command, name) for name in said if name not in taken]
    if problems:
        raise InputError(problems)
    return said


def _said_twice(one: str, other: str) -> Diagnostic:
    flags = ["--" + name.replace("_", "-") for name in (one, other)]
    return Diagnostic(
        code="E004",
        message=f"{flags[0]} and {flags[1]} are names of one option",
        field=flags[1],
        accepted="one of the two",
    )


def only(command: str, keywords: Mapping[str, object]) -> dict[str, object]:
    """Return what a command takes of what is given to another one."""
    return {name: keywords[name] for name in taken_by(command) if name in keywords}


def unknown(command: str, name: str) -> Diagnostic:
    """Say of an option that a command does not take it, and who does."""
    typed = name.lstrip("-").replace("_", "-")
    own = [each.name for each in taken_by(command).values()]
    meant = [each.name for each in taken_by(command).values() if typed in each.also]
    meant += [each for each in own if f"{each}s" == typed or f"{typed}s" == each]
    for option in table().options:
        if typed in (option.name, option.keyword):
            return _refused(command, option, meant)
    from difflib import get_close_matches

    names = {
        name: each.name
        for each in taken_by(command).values()
        for name in (each.name, *each.aliases)
    }
    meant += [names[near] for near in get_close_matches(typed, names, n=1)]
    return Diagnostic(
        code="E001",
        message=f"no such option: --{typed}",
        field=f"--{typed}",
        help=_offer(meant) or f"see `planopt {command} --help`",
    )


def _refused(command: str, option: Option, meant: list[str]) -> Diagnostic:
    own = option.commands.get(command, Taken())
    others = [
        f"`planopt {each}`"
        for each in table().commands
        if each in option.commands and option.commands[each].refuse is None
    ]
    return Diagnostic(
        code="E004",
        message=f"`planopt {command}` does not take {option.flag}"
        + (f": {own.refuse}" if own.refuse else ""),
        field=option.flag,
        accepted=f"with {', '.join(others)}",
        help=_offer(meant),
    )


def _offer(meant: list[str]) -> str | None:
    return f"did you mean `--{meant[0]}`?" if meant else None


def completed(option: Option, start: str, names: Iterable[str] = ()) -> list[str]:
    """Return the values of an option that begin so; `names` are of what it names."""
    words = option.choices or names
    if option.kind == "truth":
        words = _YES_NO
    before, comma, last = start.rpartition(",")
    return [f"{before}{comma}{word}" for word in words if word.startswith(last)]


@dataclass(frozen=True)
class Edit:
    """A question in other words of the command line."""

    options: Mapping[str, object]
    """As they are typed, by their arguments; empty ones are left out."""
    note: str | None = None
    without: tuple[str, ...] = ()
    """Options that have nothing to say any more: left out in silence."""

    @property
    def told(self) -> dict[str, str]:
        """The options as a plan names them."""
        return {name: str(value) for name, value in self.options.items()}


class Asked:
    """Options of a command as they were given; the core reads them."""

    def __init__(self, command: str, keywords: Mapping[str, object]) -> None:
        self.command = command
        self.given = given(command, keywords)
        self.typed = {
            name: str(value)
            for name, value in self.given.items()
            if name not in ("assumptions", "catalog")
        }
        """As it was written, of what changes the question."""
        self.defaults: dict[str, Default] = {}
        """What `planopt.toml` says of the rest."""
        self.edit: dict[str, object] = {}
        """What is asked otherwise than it was given; empty options are left out."""
        self._problems: list[Diagnostic] = []

    @classmethod
    def by_user(cls, command: str, keywords: Mapping[str, object]) -> Asked:
        """Take what `planopt.toml` says where nobody does."""
        asked = cls(command, keywords)
        taken = taken_by(command)
        for name, default in defaults().items():
            own = asked.given.get(name)
            if name in taken and (own is None or isinstance(default.value, dict)):
                asked.given[name] = default.under(own)
                asked.defaults[name] = default
        return asked

    def edited(self, edit: Edit) -> Asked:
        """Return the same in other words."""
        other = copy.copy(self)
        left_out = dict.fromkeys(edit.without, "")
        other.edit = {**self.edit, **edit.options, **left_out}
        return other

    def problem(
        self,
        code: str,
        message: str,
        *,
        option: str,
        value: object = None,
        accepted: str | None = None,
    ) -> None:
        """Remember a problem that the core does not see."""
        self._problems.append(
            Diagnostic(
                code=code,
                message=message,
                field=flag(option),
                value=None if value is None else str(value),
                accepted=accepted,
            )
        )

    def out_of_place(self, names: Iterable[str], why: str, *, accepted: str) -> None:
        """Remember each of these options that is given: here it has nothing to say."""
        for name in names:
            if name in self.given:
                value = self.given[name]
                message = f"{flag(name)} {why}"
                self.problem(
                    "E004", message, option=name, value=value, accepted=accepted
                )

    def finish(self) -> None:
        """Raise what was found wrong, all of it."""
        if self._problems:
            raise InputError(self._problems)

    def values(self) -> dict[str, Any]:
        """Read the options of a command that asks nothing of a catalog."""
        (read,) = self._read(lambda: [read_options(self.command, self.json)], dict)
        return read

    def question(self, catalog: Catalog, of: type[T]) -> T:
        """Read the question that they ask of a catalog."""
        (read,) = self.questions(catalog, of, [self])
        return read

    def questions(
        self, catalog: Catalog, of: type[T], edited: Iterable[Asked]
    ) -> list[T]:
        """Read what they ask in the words of each of some edits of them, at once."""
        edits = [msgspec.json.encode(_plain(each.edit)) for each in edited]
        ask = catalog.read_questions
        return self._read(lambda: ask(self.command, self.json, edits), of)

    @property
    def json(self) -> bytes:
        """What was given, as the core takes it."""
        return msgspec.json.encode(_plain(self.given))

    def _read(self, read: Callable[[], Iterable[bytes]], of: type[T]) -> list[T]:
        try:
            told = read()
        except InputError as error:
            problems = [*map(self.placed, error.diagnostics), *self._problems]
            raise InputError(problems) from None
        self.finish()
        return [msgspec.json.decode(each, type=of) for each in told]

    def placed(self, problem: Diagnostic) -> Diagnostic:
        """Say of a problem of what `planopt.toml` says where that stands."""
        for name, default in self.defaults.items():
            if problem.field == flag(name) and problem.file is None:
                return default.at(problem)
        return problem


def _plain(value: object) -> object:
    """Put a value as JSON has it; numbers that it has not are written out."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_plain(each) for each in value]
    if isinstance(value, (int, float)) and not abs(value) <= LARGEST_NUMBER:
        return repr(value)
    return value if isinstance(value, (str, int, float)) else str(value)
