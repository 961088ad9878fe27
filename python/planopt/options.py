"""Options as people write them, read into numbers: all problems are told at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from planopt._native import parse_quantity
from planopt.errors import Diagnostic, InputError

__all__ = ["Number", "OptionReader", "TextOrNumber"]

Number: TypeAlias = "int | float"
TextOrNumber: TypeAlias = "str | int | float"

_CODES = {"malformed": "E002", "range": "E003"}

Choice = TypeVar("Choice", bound=str)

LARGEST_COUNT = 2**31
LARGEST_QUANTITY = 1e12
"""A trillion dollars, watts or tokens per second: beyond anything there is, and its
millionths are still a 64-bit integer."""
SMALLEST_QUANTITY = 1e-6
"""A millionth of a dollar, a second or a token per second: what amounts are counted in.
What is divided by less than that may leave the range of floating-point numbers."""

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


def flag(name: str) -> str:
    """Option as it is typed: ``max_power`` is ``--max-power``."""
    return "--" + name.replace("_", "-")


class OptionReader:
    """Reads options one by one and remembers what is wrong with them."""

    def __init__(self) -> None:
        self._problems: list[Diagnostic] = []

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
        self._problems.append(
            Diagnostic(
                code=code,
                message=message,
                field=flag(option),
                value=None if value is None else str(value),
                accepted=accepted,
                help=help,
            )
        )

    def refuse(self, option: str, error: InputError) -> None:
        """Remember what was found wrong elsewhere with the value of an option."""
        self._problems.extend(
            replace(problem, field=flag(option)) for problem in error.diagnostics
        )

    def out_of_place(
        self, options: Mapping[str, object], why: str, *, accepted: str
    ) -> None:
        """Remember each of these options that is given: here it has nothing to say."""
        for option, value in options.items():
            if value is not None:
                self.problem(
                    "E004",
                    f"{flag(option)} {why}",
                    option=option,
                    value=value,
                    accepted=accepted,
                )

    def quantity(
        self,
        option: str,
        value: TextOrNumber | None,
        dimension: str,
        *,
        least: float = SMALLEST_QUANTITY,
        most: float = LARGEST_QUANTITY,
    ) -> float | None:
        """Read a quantity from `least` to `most`; numbers are SI units."""
        if value is None:
            return None
        text = value if isinstance(value, str) else repr(value)
        try:
            number = (
                parse_quantity(value, dimension)
                if isinstance(value, str)
                else float(value)
            )
        except OverflowError:
            number = math.inf
        except ValueError as error:
            kind, message, accepted = error.args
            self.problem(
                _CODES[kind], message, option=option, value=text, accepted=accepted
            )
            return None
        if not least <= number <= most:
            self.problem(
                "E003",
                f"{flag(option)} must be at least {least:g} and at most {most:g}",
                option=option,
                value=text,
                accepted=f"{least:g} to {most:g}{_UNITS.get(dimension, '')}",
            )
            return None
        return number

    def money(self, option: str, value: TextOrNumber | None) -> tuple[float, bool]:
        """Read money, or money per time: dollars, and whether they are per hour."""
        if isinstance(value, str) and "/" in value:
            return self.quantity(option, value, "usd_per_hour") or 0.0, True
        return self.quantity(option, value, "usd") or 0.0, False

    def count(
        self, option: str, value: TextOrNumber | None, *, minimum: int = 1
    ) -> int | None:
        """Read a whole number of at least `minimum`."""
        if value is None:
            return None
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = math.nan
        if not (minimum <= number <= LARGEST_COUNT) or number != int(number):
            self.problem(
                "E003",
                f"{flag(option)} must be a whole number from {minimum}",
                option=option,
                value=value,
                accepted=f"{minimum}, {minimum + 1}, {minimum + 2} ... {LARGEST_COUNT}",
            )
            return None
        return int(number)

    def choice(
        self, option: str, value: str | None, choices: Sequence[Choice]
    ) -> Choice | None:
        """Read one of a few words."""
        if value is None:
            return None
        for choice in choices:
            if choice == value:
                return choice
        from difflib import get_close_matches

        near = get_close_matches(value, choices, n=1)
        self.problem(
            "E001",
            f"unknown {option.replace('_', ' ')} `{value}`",
            option=option,
            value=value,
            accepted=", ".join(choices),
            help=f"did you mean `{near[0]}`?" if near else None,
        )
        return None

    def names(self, option: str, value: str | Sequence[str] | None) -> tuple[str, ...]:
        """Read names between commas, or a list of them; at least one."""
        if value is None:
            return ()
        parts = value.split(",") if isinstance(value, str) else value
        names = tuple(name.strip() for name in parts if name.strip())
        if parts and not names:
            self.problem(
                "E002",
                f"{flag(option)} names nothing",
                option=option,
                value=value,
                accepted="names between commas",
            )
        return names

    def stock(
        self, value: Mapping[str, int] | Sequence[str] | str | None
    ) -> dict[str, int]:
        """Read how many of each part there are: ``rtx-4090=8``."""
        read = {
            name: self.count("stock", number, minimum=0)
            for name, number in self.pairs("stock", value, "rtx-4090=8")
        }
        return {name: number for name, number in read.items() if number is not None}

    def pairs(
        self,
        option: str,
        value: Mapping[str, TextOrNumber] | Sequence[str] | str | None,
        example: str,
    ) -> list[tuple[str, TextOrNumber]]:
        """Read parts with a number each: ``rtx-4090=8``, or a list of such."""
        if isinstance(value, Mapping):
            return list(value.items())
        pairs: list[tuple[str, TextOrNumber]] = []
        for text in self.names(option, value):
            name, equals, number = text.partition("=")
            if equals and name.strip():
                pairs.append((name.strip(), number.strip()))
                continue
            self.problem(
                "E002",
                f"`{text}` says no number",
                option=option,
                value=text,
                accepted=f"ID=N, such as {example}",
            )
        return pairs
