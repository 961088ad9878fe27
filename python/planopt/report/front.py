"""Choices as letters on two axes, those that no other beats as capitals."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import log
from string import ascii_uppercase
from typing import NamedTuple

from planopt.report.numbers import many, rate
from planopt.report.screen import Parts
from planopt.report.table import width

Row = Mapping[str, object]
_HIGH = 9
"""Lines of a plot."""
_STEPS = (1, 1.5, 2, 3, 5, 7)
"""Where an axis that is logarithmic has its labels, in each decade."""


class Axes(NamedTuple):
    """What a choice is judged by."""

    says: str
    x: Callable[[Row], float]
    y: Callable[[Row], float]
    more: bool
    """Whether more of both is better, else less of both."""

    def front(self, rows: Iterable[Row]) -> list[Row]:
        """Return those that no other one beats, from left to right."""
        sign = 1 if self.more else -1
        kept: list[Row] = []
        for row in sorted(
            rows, key=lambda row: (-sign * self.x(row), -sign * self.y(row))
        ):
            if not kept or sign * self.y(row) > sign * self.y(kept[-1]):
                kept.append(row)
        return kept[::-1] if self.more else kept


def _figure(row: Row, name: str) -> float:
    value = row[name]
    return float(value) if isinstance(value, int | float) else 0.0


def _per_thousand(row: Row) -> float:
    return _figure(row, "tokens_per_second") / (_figure(row, "price_usd") or 1.0) * 1000


SERVED = Axes(
    "more is better: to the right tok/s per user, upwards tok/s per $1,000",
    partial(_figure, name="tokens_per_second_per_user"),
    _per_thousand,
    more=True,
)
TRAINED = Axes(
    "less is better: to the right days of the run, upwards its price in $",
    partial(_figure, name="days"),
    partial(_figure, name="price_usd"),
    more=False,
)


class Plot:
    """Rows as letters of their accelerators, as wide as the terminal."""

    def __init__(self, rows: Sequence[Row], front: Sequence[Row], axes: Axes) -> None:
        self._rows, self._front, self._axes = rows, front, axes
        self._names = _letters(str(row["accelerator"]) for row in (*front, *rows))
        left = [axes.x(row) for row in rows]
        self._from, self._to = min(left), max(left)
        self._most = max(map(axes.y, rows))
        self._margin = max(len(many(self._most)), 4) + 2
        self._wide = width() - self._margin - 2

    def lines(self) -> list[str]:
        """Draw it."""
        drawn = [[" "] * self._wide for _ in range(_HIGH)]
        for rows, told in ((self._rows, str.lower), (self._front, str)):
            for row in rows:
                high = self._axes.y(row) / self._most
                line = _HIGH - 1 - int(high * (_HIGH - 1) + 0.5)
                letter = self._names.get(str(row["accelerator"]), ".")
                drawn[line][self._across(self._axes.x(row))] = told(letter)
        share = {0: 1.0, (_HIGH - 1) // 2: 0.5, _HIGH - 1: 0.0}
        label = {place: many(self._most * of) for place, of in share.items()}
        body = [
            f"{label.get(place, ''):>{self._margin}} "
            f"{'┤' if place in label else '│'}{''.join(line)}".rstrip()
            for place, line in enumerate(drawn)
        ]
        start = " " * self._margin
        names = [f"{letter} {name}" for name, letter in self._names.items()]
        return [
            *body,
            f"{start} └{'─' * (self._wide - 1)}",
            f"{start}  {self._ticks()}".rstrip(),
            *Parts("", names).lines(),
        ]

    def _across(self, value: float) -> int:
        span = log(self._to / self._from) or 1.0
        return int(log(value / self._from) / span * (self._wide - 1) + 0.5)

    def _ticks(self) -> str:
        line = ""
        for power in range(-3, 10):
            for step in _STEPS:
                value = step * 10.0**power
                if self._from <= value <= self._to:
                    place = self._across(value)
                    told = rate(value).removesuffix(".00").removesuffix(".0")
                    if place > len(line) + 1 or not line:
                        line = f"{line:<{place}}{told}"
        if len(line) > self._wide:
            return line[: self._wide].rpartition(" ")[0]
        return line


def _letters(names: Iterable[str]) -> dict[str, str]:
    """Give each name a letter of its own, one of its own letters if there is any."""
    letters: dict[str, str] = {}
    for name in names:
        if name in letters or len(letters) == len(ascii_uppercase):
            continue
        free = [each for each in ascii_uppercase if each not in letters.values()]
        own = [each for each in name.upper() if each in free]
        letters[name] = (own or free)[0]
    return letters
