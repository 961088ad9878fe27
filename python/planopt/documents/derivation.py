"""How a figure came about: formulas with their inputs and sources."""

from __future__ import annotations

import msgspec


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of a catalog or of the assumptions.

    Parameters
    ----------
    name : str
        ``accelerator.memory_bandwidth``, ``compute.half_rows``.
    text : str
        Value with its unit, as the file has it.
    source : str or None
        Where it comes from, and how well it is known.
    """

    name: str
    text: str
    source: str | None = None


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One result, with its unit; its name where a formula gives several."""

    value: float
    unit: str = ""
    name: str = ""


class Derivation(msgspec.Struct, frozen=True, kw_only=True):
    """One formula, worked out; ``children`` are those it used.

    Parameters
    ----------
    name, formula : str
        What it computes, and how.
    page, section : str
        Where docs/reference says so.
    inputs : dict
        What it was given.
    facts : tuple of Fact
        What it looked up.
    result : tuple of Figure
        What came out.
    times : int
        How often the same came out of the same.
    children : tuple of Derivation
        Formulas used on the way.
    """

    name: str
    formula: str
    page: str
    section: str
    inputs: dict[str, float | int | str | bool]
    facts: tuple[Fact, ...]
    result: tuple[Figure, ...]
    times: int = 1
    children: tuple[Derivation, ...] = ()
