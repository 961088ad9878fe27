"""How a terminal shows what matters: as little as bold, red, yellow, green and grey.

Text is marked where it is written, and painted or stripped of its marks when it is laid
out: only who knows the terminal has to know of colours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MARKS = re.compile(r"\x1b\[[\d;]*m")


def head(text: str) -> str:
    """Mark a heading."""
    return f"\x1b[1m{text}\x1b[0m"


def good(text: str) -> str:
    """Mark what the reader hoped for."""
    return f"\x1b[1;32m{text}\x1b[0m"


def bad(text: str) -> str:
    """Mark what went wrong."""
    return f"\x1b[1;31m{text}\x1b[0m"


def warn(text: str) -> str:
    """Mark what needs care."""
    return f"\x1b[1;33m{text}\x1b[0m"


def faint(text: str) -> str:
    """Mark what can be skipped."""
    return f"\x1b[2m{text}\x1b[0m"


@dataclass(frozen=True)
class Style:
    """Paints what is marked, or leaves the marks out."""

    colour: bool

    def painted(self, text: str) -> str:
        """Return the text as it is written to a stream."""
        return text if self.colour else _MARKS.sub("", text)


PLAIN = Style(colour=False)
COLOUR = Style(colour=True)
