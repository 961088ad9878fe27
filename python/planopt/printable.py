"""Texts that others wrote, on their way to a screen, a picture or a page."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, TypeVar

Shown = TypeVar("Shown")

# What a terminal obeys (C0, DEL, C1), what ends a line elsewhere, what turns the
# direction of writing, and halves of characters, which no encoding has.
_OBEYED = r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_IN_A_TEXT = re.compile(f"[{_OBEYED}]")

# Ends of lines, tabulators and the colours of `Style` are planopt's own.
_ON_A_SCREEN = re.compile(rf"(?!\n|\t|\x1b\[(?:0|1|2|1;31|1;32|1;33)m)[{_OBEYED}]")


def printable(value: Shown) -> Shown:
    """Spell out what is not to be obeyed, in a text or all texts of a document.

    A text stays on its line: ends of lines are spelt out too.
    """
    spelt: Shown = _printable(value)
    return spelt


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return _IN_A_TEXT.sub(_escaped, value)
    if isinstance(value, dict):
        return {_printable(key): _printable(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_printable, value))
    if fields := _fields(value):
        spelt = {name: _printable(getattr(value, name)) for name in fields}
        return type(value)(**spelt)
    return value


def _fields(value: object) -> tuple[str, ...]:
    """Names of what a document is made of, a dataclass or a struct of msgspec."""
    if dataclasses.is_dataclass(value):
        return tuple(each.name for each in dataclasses.fields(value))
    return getattr(value, "__struct_fields__", ())


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def screened(text: str) -> str:
    r"""Spell out what is left to obey in a finished text, lines and colours apart.

    JSON stays JSON of the same meaning: it is spelt ``\u009b``, and only inside of
    texts can it have been.
    """
    return _ON_A_SCREEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
