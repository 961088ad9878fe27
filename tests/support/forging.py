"""Plans with one field changed, which no verifier may take."""

from __future__ import annotations

import copy
from typing import Any


def forged(document: Any, field: str, value: object) -> Any:
    """Copy a document with another value in one place, such as ``runs[0].days``."""
    document = copy.deepcopy(document)
    set_leaf(document, field, value)
    return document


def set_leaf(document: Any, field: str, value: object) -> None:
    """Put another value into one place."""
    holder, key = located(document, field)
    holder[key] = value


def located(document: Any, field: str) -> tuple[Any, str | int]:
    """Find what holds a leaf, and its key there: keys may have dots of their own."""
    if not isinstance(document, dict):
        index, _, rest = field.removeprefix("[").partition("]")
        if not rest:
            return document, int(index)
        return located(document[int(index)], rest.removeprefix("."))
    if field in document:
        return document, field
    ends = [at for at, letter in enumerate(field) if letter in ".["]
    for end in reversed(ends):
        if field[:end] in document:
            rest = field[end:].removeprefix(".")
            return located(document[field[:end]], rest)
    raise KeyError(field)


def other_than(value: object, by: float = 1e-6) -> object:
    """Something else of the same type; a float off by this share and a little more."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * (1 + by) + by
    return f"{value}x" if isinstance(value, str) else ["something"]
