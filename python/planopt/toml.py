"""The TOML reader of the standard library, and what stands in for it before 3.11."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TypeVar

import msgspec

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["loads", "read_table", "tomllib"]

T = TypeVar("T")


def loads(text: str) -> dict[str, object]:
    """Read a text; what is nested beyond any sense is a ``TOMLDecodeError`` too."""
    try:
        read: dict[str, object] = tomllib.loads(text)
    except RecursionError:
        message = "values in values in values, too deep to be read"
        raise tomllib.TOMLDecodeError(message) from None
    return read


def read_table(path: Path, of: type[T]) -> T:
    """Read a table that comes with planopt, or of its catalogs."""
    text = path.read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), of, strict=False)
