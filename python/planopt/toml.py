"""The TOML reader of the standard library, and what stands in for it before 3.11."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["loads", "tomllib"]


def loads(text: str) -> dict[str, object]:
    """Read a text; what is nested beyond any sense is a ``TOMLDecodeError`` too."""
    try:
        read: dict[str, object] = tomllib.loads(text)
    except RecursionError:
        message = "values in values in values, too deep to be read"
        raise tomllib.TOMLDecodeError(message) from None
    return read
