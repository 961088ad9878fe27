"""How a terminal shows what matters: as little as bold, red, yellow, green and grey.

Text is marked where it is written, and painted or stripped of its marks when it is laid
out: only who knows the terminal has to know of colours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_MARKS = re.compile(r"\x1b\[[\d;]*m")


def _mark(code: str) -> Callable[[str], str]:
    return lambda text: f"\x1b[{code}m{text}\x1b[0m"


head = _mark("1")
good = _mark("1;32")
"""Mark what the reader hoped for."""
bad = _mark("1;31")
"""Mark what went wrong."""
warn = _mark("1;33")
"""Mark what needs care."""
faint = _mark("2")
"""Mark what can be skipped."""


@dataclass(frozen=True)
class Style:
    """Paints what is marked, or leaves the marks out."""

    colour: bool

    def painted(self, text: str) -> str:
        """Return the text as it is written to a stream."""
        return text if self.colour else _MARKS.sub("", text)


PLAIN = Style(colour=False)
COLOUR = Style(colour=True)
