"""The TOML reader of the standard library, and what stands in for it before 3.11."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["loads", "tomllib"]


def loads(text: str) -> dict[str, Any]:
    """Read a text; what is nested beyond any sense is no TOML either.

    Raises
    ------
    tomllib.TOMLDecodeError
        The text is none.
    """
    try:
        read: dict[str, Any] = tomllib.loads(text)
    except RecursionError:
        message = "values in values in values, too deep to be read"
        raise tomllib.TOMLDecodeError(message) from None
    return read
