"""Options as people write them: the one table, and values read as it says.

The table is data of the core (``options.toml``). The name of an option is the keyword
of the API: ``--max-power`` is ``max_power``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from planopt._native import options_json, parse_quantity
from planopt.errors import Diagnostic, InputError

__all__ = [
    "Asked",
    "Option",
    "Table",
    "TextOrNumber",
    "completed",
    "flag",
    "given",
    "only",
    "table",
    "taken_by",
    "unknown",
]

TextOrNumber: TypeAlias = "str | int | float"

_CODES = {"malformed": "E002", "range": "E003"}
_YES_NO = ("yes", "no")

Choice = TypeVar("Choice", bound=str)

_UNITS = {
    "bytes": " B",
    "requests_per_second": "/s",
    "seconds": " s",
    "tokens_per_second": " tok/s",
    "usd": " dollars",
    "usd_per_hour": " dollars per hour",
    "usd_per_kwh": " dollars per kWh",
    "watts": " W",
}
"""Units that the limits of a quantity are told in."""


class Taken(Struct, frozen=True, kw_only=True):
    """How a command takes an option: what is said here goes before the option's own."""

    refuse: str | None = None
    required: str | None = None
    excludes: dict[str, str] = {}
    kind: str | None = None
    metavar: str | None = None
    help: str | None = None
    most: float | None = None
    choices: tuple[str, ...] | None = None
    default: str | None = None
    default_text: str | None = None
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
    default_value: float | None = None
    """The default of a quantity, in SI units."""
    default_text: str | None = None
    keyword: str | None = None
    aliases: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    repeat: bool = False
    toml: dict[str, tuple[str, ...]] = {}
    commands: dict[str, Taken] = {}
    required: str | None = None
    """What is asked where a command needs it and it is missing."""
    excludes: dict[str, str] = {}

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

    def taken(self, command: str) -> Option:
        """Return it as a command takes it."""
        own = self.commands[command]
        said = {name: getattr(own, name) for name in own.__struct_fields__}
        known = {name: value for name, value in said.items() if value is not None}
        if own.default_text is not None:
            known["default"] = own.default
        if "default" in known:
            known["default_value"] = None
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
    return {
        option.argument: option.taken(command)
        for option in table().options
        if command in option.commands and option.commands[command].refuse is None
    }


def flag(name: str) -> str:
    """Option as it is typed: ``max_power`` is ``--max-power``."""
    known = (each for each in table().options if name in (each.name, each.argument))
    return next((each.flag for each in known), "--" + name.replace("_", "-"))


def given(command: str, keywords: Mapping[str, object]) -> dict[str, object]:
    """Return what is given, by the names of the table."""
    taken = taken_by(command)
    names = {alias: name for name, each in taken.items() for alias in each.aliases}
    said = {
        names.get(name, name): value
        for name, value in keywords.items()
        if value is not None
    }
    if problems := [unknown(command, name) for name in said if name not in taken]:
        raise InputError(problems)
    return said


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

    return Diagnostic(
        code="E001",
        message=f"no such option: --{typed}",
        field=f"--{typed}",
        help=_offer(meant or get_close_matches(typed, own, n=1))
        or f"see `planopt {command} --help`",
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


class Asked:
    """Options of a command as they were given; all their problems are told at once."""

    def __init__(self, command: str, keywords: Mapping[str, object]) -> None:
        self.command = command
        self.given = given(command, keywords)
        self.typed = {
            name: str(value)
            for name, value in self.given.items()
            if name not in ("assumptions", "catalog")
        }
        """As it was written, of what changes the question."""
        self._taken = taken_by(command)
        self._problems: list[Diagnostic] = []
        for name in self.given:
            for other, both in self._option(name).excludes.items():
                if other in self.given:
                    self.contradiction(name, other, both)

    def finish(self) -> None:
        """Raise what was found wrong, all of it."""
        if self._problems:
            raise InputError(self._problems)

    def problem(
        self,
        code: str,
        message: str,
        *,
        option: str,
        value: object = None,
        accepted: str | None = None,
        help: str | None = None,
    ) -> None:
        """Remember a problem of an option."""
        problem = Diagnostic(
            code=code,
            message=message,
            field=flag(option),
            value=None if value is None else str(value),
            accepted=accepted,
            help=help,
        )
        if problem not in self._problems:
            self._problems.append(problem)

    def refuse(self, option: str, error: InputError) -> None:
        """Remember what was found wrong elsewhere with the value of an option."""
        self._problems.extend(
            replace(problem, field=flag(option)) for problem in error.diagnostics
        )

    def contradiction(self, name: str, other: str, both: str) -> None:
        """Remember that two options cannot be together."""
        self.problem(
            "E004",
            f"{flag(name)} and {flag(other)} {both}",
            option=name,
            value=self.given[name],
            accepted="one of the two",
        )

    def out_of_place(self, names: Iterable[str], why: str, *, accepted: str) -> None:
        """Remember each of these options that is given: here it has nothing to say."""
        for name in names:
            if name in self.given:
                self.problem(
                    "E004",
                    f"{flag(name)} {why}",
                    option=name,
                    value=self.given[name],
                    accepted=accepted,
                )

    def require(self, name: str, *, accepted: str) -> None:
        """Remember that an option is missing that the command needs."""
        if name not in self.given:
            question = self._option(name).required or f"{flag(name)} is missing"
            self.problem("E005", question, option=name, accepted=accepted)

    def text(self, name: str) -> str | None:
        """Read a text, or its default."""
        value = self._value(name)
        return None if value is None else str(value)

    def switch(self, name: str) -> bool:
        """Read what is there or not."""
        return bool(self.given.get(name, self._option(name).default == "yes"))

    def read(self, name: str) -> object:
        """Read an option as its kind says."""
        kinds: dict[str, Callable[[str], object]] = {
            "quantity": self.quantity,
            "count": self.count,
            "choice": self.word,
            "choices": self.choices,
            "names": lambda name: list(self.names(name)),
            "switch": self.switch,
            "truth": self.truth,
        }
        return kinds.get(self._option(name).kind, self.text)(name)

    def files(self, name: str) -> tuple[str, ...]:
        """Read files or folders."""
        value = self.given.get(name, ())
        return (value,) if isinstance(value, str) else tuple(_listed(value))

    def truth(self, name: str) -> bool:
        """Read yes or no."""
        value = self._value(name)
        if isinstance(value, bool):
            return value
        return self._word(name, value, _YES_NO) != "no"

    def choice(self, name: str, among: Sequence[Choice]) -> Choice | None:
        """Read one of a few words, which are those of the table."""
        return self._word(name, self._value(name), among)

    def word(self, name: str) -> str | None:
        """Read one of the words of the table."""
        return self.choice(name, self._option(name).choices)

    def choices(self, name: str) -> tuple[str, ...]:
        """Read some of the words of the table."""
        known = self._option(name).choices
        words = (self._word(name, each, known) for each in self.names(name))
        return tuple(word for word in words if word is not None)

    def among(self, name: str, value: str, words: Sequence[str]) -> None:
        """Remember a value that is none of some words."""
        self._word(name, value, words)

    def names(self, name: str) -> tuple[str, ...]:
        """Read names between commas, or a list of them; at least one."""
        value = self._value(name)
        if value is None:
            return ()
        parts = value.split(",") if isinstance(value, str) else _listed(value)
        names = tuple(part.strip() for part in parts if part.strip())
        if parts and not names:
            self.problem(
                "E002",
                f"{flag(name)} names nothing",
                option=name,
                value=value,
                accepted="names between commas",
            )
        return names

    def quantity(self, name: str, unit: str | None = None) -> float | None:
        """Read a quantity within its limits; numbers are SI units."""
        return self._quantity(name, self._value(name), unit or self._option(name).unit)

    def money(self, name: str) -> tuple[float, bool] | None:
        """Read money, or money per time: dollars, and whether they are per hour."""
        value = self._value(name)
        if value is None:
            return None
        hourly = isinstance(value, str) and "/" in value
        unit = "usd_per_hour" if hourly else "usd"
        return self._quantity(name, value, unit) or 0.0, hourly

    def count(self, name: str) -> int | None:
        """Read a whole number."""
        return self._count(name, self._value(name))

    def counts(self, name: str) -> dict[str, int]:
        """Read how many of each there are: ``rtx-4090=8``."""
        read = {each: self._count(name, number) for each, number in self.pairs(name)}
        return {each: number for each, number in read.items() if number is not None}

    def pairs(self, name: str) -> list[tuple[str, object]]:
        """Read names with a number each: ``rtx-4090=8``, or a list of such."""
        value = self._value(name)
        if isinstance(value, Mapping):
            return list(value.items())
        pairs: list[tuple[str, object]] = []
        for text in self.names(name):
            part, equals, number = text.partition("=")
            if equals and part.strip():
                pairs.append((part.strip(), number.strip()))
                continue
            self.problem(
                "E002",
                f"`{text}` says no number",
                option=name,
                value=text,
                accepted=f"ID=N, such as {self._option(name).example}",
            )
        return pairs

    def price(self, name: str, part: str, value: object) -> float | None:
        """Read dollars of a part, or of an hour of an offer."""
        hourly = "/" in part
        text = f"{value}/h" if hourly and "/" not in str(value) else value
        return self._quantity(name, text, "usd_per_hour" if hourly else "usd")

    def shares(self, name: str) -> list[tuple[str, int | None]]:
        """Read names with a number behind a colon: ``a100-sxm-80:32,h100-sxm:32``."""
        shares: list[tuple[str, int | None]] = []
        for text in self.names(name):
            part, colon, number = text.rpartition(":")
            if colon:
                shares.append((part.strip(), self._count(name, number)))
                continue
            self.problem(
                "E002",
                f"`{text}` says no number",
                option=name,
                value=text,
                accepted="ID:N between commas, such as a100-sxm-80:32,h100-sxm:32",
            )
        return shares

    def _option(self, name: str) -> Option:
        """Return the option as the command takes it, or as it is for others."""
        if name in self._taken:
            return self._taken[name]
        return next(each for each in table().options if each.argument == name)

    def _value(self, name: str) -> object:
        if name in self.given:
            return self.given[name]
        option = self._option(name)
        known = option.default_value
        return option.default if known is None else known

    def _word(self, name: str, value: object, words: Sequence[Choice]) -> Choice | None:
        if value is None:
            return None
        for word in words:
            if word == value:
                return word
        from difflib import get_close_matches

        near = get_close_matches(str(value), words, n=1)
        self.problem(
            "E001",
            f"unknown {name.replace('_', ' ')} `{value}`",
            option=name,
            value=value,
            accepted=", ".join(words),
            help=f"did you mean `{near[0]}`?" if near else None,
        )
        return None

    def _limits(self, name: str) -> tuple[float, float]:
        option = self._option(name)
        least, most = option.least, option.most
        return (
            -math.inf if least is None else least,
            math.inf if most is None else most,
        )

    def _quantity(self, name: str, value: object, unit: str | None) -> float | None:
        if value is None:
            return None
        text = value if isinstance(value, str) else repr(value)
        try:
            number = (
                parse_quantity(value, unit or "number")
                if isinstance(value, str)
                else float(value)  # type: ignore[arg-type] # what is no number is refused below
            )
        except OverflowError:
            number = math.inf
        except ValueError as error:
            kind, message, accepted = error.args
            self.problem(
                _CODES[kind], message, option=name, value=text, accepted=accepted
            )
            return None
        least, most = self._limits(name)
        if not least <= number <= most:
            self.problem(
                "E003",
                f"{flag(name)} must be at least {least:g} and at most {most:g}",
                option=name,
                value=text,
                accepted=f"{least:g} to {most:g}{_UNITS.get(unit or '', '')}",
            )
            return None
        return number

    def _count(self, name: str, value: object) -> int | None:
        if value is None:
            return None
        try:
            number = float(value)  # type: ignore[arg-type] # what is no number is refused below
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        least, most = self._limits(name)
        if not (least <= number <= most) or number != int(number):
            first = int(least)
            self.problem(
                "E003",
                f"{flag(name)} must be a whole number from {first}",
                option=name,
                value=value,
                accepted=f"{first}, {first + 1}, {first + 2} ... {int(most)}",
            )
            return None
        return int(number)


def _listed(value: object) -> list[str]:
    """Return the names of a list, or of any other value as one."""
    return (
        [str(each) for each in value] if isinstance(value, Iterable) else [str(value)]
    )
