"""What a serving engine makes of kernels (catalogs.md, `[engines.<name>]`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from planopt_reference import units

__all__ = ["KERNELS", "Engine", "engine_from_table"]

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Engine:
    """Factors of what kernels reach, limits of it, and what a step takes besides."""

    arithmetic: float = 1.0
    attention: float = 1.0
    cache: float = 1.0
    bandwidth: float = 1.0
    overhead: float = 1.0
    experts: float = 1.0
    quantised: float = 1.0
    all_reduce: float = 1.0
    kernels: Table | None = None
    """Of its own, as the file has them."""
    prompt_chunk: int | None = None
    """Tokens of a prompt that go through the stages at once, if not all."""
    half_rows: float | None = None
    """Rows at half rate of its own kernels; none leaves those of the kernels' table."""
    hop_overhead: float = 0.0
    """Seconds of passing a micro-batch on to the next stage, besides its message."""
    step_overhead: float | None = None
    """Seconds; none leaves those of the kernels' table."""
    prompt_launch: float = 0.0
    """Seconds of each operation and message of a step that reads prompts, at least."""


KERNELS: Final = Engine()
"""No engine in particular: kernels as they were measured."""


def _as_it_is(figure: object) -> object:
    return figure


_READ: Final[Mapping[str, Callable[[object], object]]] = {
    "kernels": _as_it_is,
    "prompt_chunk": units.count,
    "hop_overhead": units.seconds,
    "step_overhead": units.seconds,
    "prompt_launch": units.seconds,
}


def engine_from_table(table: Table) -> Engine:
    """Read a table `[engines.<name>]`: what is not there is as without an engine.

    How it schedules and what a request takes outside of its steps is not of the time of
    a step, and left out.
    """
    stated: dict[str, Any] = {
        each.name: _READ.get(each.name, units.share)(table[each.name])
        for each in fields(Engine)
        if each.name in table
    }
    return Engine(**stated)
