"""Plans with one field changed, which no verifier may take."""

from __future__ import annotations

import copy
from typing import Any


def forged(document: Any, field: str, value: object) -> Any:
    """Copy a document with another value in one place, such as ``runs[0].days``."""
    document = copy.deepcopy(document)
    part = document
    *path, last = [_step(name) for name in field.replace("[", ".[").split(".")]
    for step in path:
        part = part[step]
    part[last] = value
    return document


def _step(name: str) -> str | int:
    return int(name[1:-1]) if name.startswith("[") else name


def other_than(value: object, by: float = 1e-6) -> object:
    """Something else of the same type; a float off by this share and a little more."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * (1 + by) + by
    return f"{value}x" if isinstance(value, str) else ["something"]
