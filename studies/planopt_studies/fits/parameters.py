"""What a fit may move: named figures of an assumptions file, each with a prior."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Parameter", "plain", "sections", "with_block"]


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A figure of the assumptions that is fitted.

    It is fitted as a logarithm (or as it is, in units of `scale`, where it may be 0),
    drawn towards `start` as if that had been measured with the relative error `spread`
    (or so many `scale`).
    """

    table: str
    """Table of the file, such as ``frameworks.megatron``."""
    key: str
    start: float
    low: float
    high: float
    spread: float
    unit: str = ""
    linear: bool = False
    in_place: bool = False
    """Whether its table stands elsewhere in the file, with a source of its own."""
    scale: float = 1.0
    pool: Parameter | None = None
    """Figure of its kind that it is drawn to in place of `start`, fitted beside it.

    So others of the kind speak for one that has no rows.
    """

    @property
    def name(self) -> str:
        """Name in a report."""
        return f"{self.table}.{self.key}"

    def coordinate(self, value: float) -> float:
        """Return what the optimizer moves."""
        return value / self.scale if self.linear else log(value)

    def value(self, coordinate: float) -> float:
        """Return the figure of a coordinate."""
        return coordinate * self.scale if self.linear else exp(coordinate)

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the bounds of the coordinate."""
        return (self.coordinate(self.low), self.coordinate(self.high))

    def pull(self, coordinate: float, pool: float | None = None) -> float:
        """Return how far the coordinate is from where it is drawn, in spreads.

        That is the coordinate `pool`, if it has one, else that of `start`.
        """
        centre = self.coordinate(self.start) if pool is None else pool
        return (coordinate - centre) / self.spread

    def put(self, text: str, value: float) -> str:
        """Put the figure in its place in the text of a file."""
        place = re.compile(
            rf"(?m)^(\[{re.escape(self.table)}\]\n(?:(?!\[).*\n)*?"
            rf"{self.key} = (?:\{{ value = )?)[0-9.e-]+"
        )
        return place.sub(rf"\g<1>{self.text(value)}", text, count=1)

    def text(self, value: float) -> str:
        """Write the figure as TOML."""
        return f'"{value:.6g} {self.unit}"' if self.unit else f"{value:.6g}"


def sections(
    values: Mapping[Parameter, float],
    switches: Mapping[str, Mapping[str, float | bool]],
    source: str | None = None,
) -> str:
    """Write the tables of an assumptions file that hold the figures and switches."""
    tables: dict[str, list[str]] = {}
    for table, own in switches.items():
        for key, value in own.items():
            text = str(value).lower()
            tables.setdefault(table, []).append(f"{key} = {text}")
    for parameter, value in values.items():
        text = parameter.text(value)
        figure = (
            text if source is None else f'{{ value = {text}, source = "{source}" }}'
        )
        tables.setdefault(parameter.table, []).append(f"{parameter.key} = {figure}")
    return "\n".join(
        "\n".join((f"[{table}]", *lines, "")) for table, lines in tables.items()
    )


_CITED: Final = re.compile(r'\{ value = ([^,]*), source = "[^"]*" \}')
_APART: Final = ("[sources.", "[engines.")


def plain(text: str) -> str:
    """Return assumptions without where they are from, and without serving engines.

    A fit reads them thousands of times, and those parts take most of it.
    """
    tables = re.split(r"(?m)^(?=[\[#])", text)
    kept = (table for table in tables if not table.startswith(_APART))
    return _CITED.sub(r"\1", "".join(kept))


def with_block(text: str, mark: str, block: str) -> str:
    """Put a block between the lines of a file that mark its place.

    Raises
    ------
    ValueError
        If the file has no such lines.
    """
    start, end = f"# fitted: {mark}", f"# end of fitted: {mark}"
    lines = text.splitlines()
    first, last = _line_with(lines, start), _line_with(lines, end)
    return "\n".join((*lines[: first + 1], block, *lines[last:], ""))


def _line_with(lines: Iterable[str], start: str) -> int:
    for number, line in enumerate(lines):
        if line.startswith(start):
            return number
    message = f"the file has no line `{start}`"
    raise ValueError(message)
