"""How a terminal shows what matters: as little as bold, red, yellow, green and grey.

Text is marked where it is written, and painted or stripped of its marks when it is laid
out: only who knows the terminal has to know of colours.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

UNKNOWN = "-"
"""What is not known is a dash, never a 0."""
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


def seen(text: str) -> int:
    """Characters of a text that stand on a screen."""
    return len(_MARKS.sub("", text))


def padded(text: str, room: int, side: str = "<") -> str:
    """Fill a text with blanks; ``>`` puts it to the right."""
    blanks = " " * (room - seen(text))
    return blanks + text if side == ">" else text + blanks


_IN_ASCII = str.maketrans("✔✘▸◂●━╍│┤└─█·×–≥≤", "+x><o=-||`-#.x-><")


@dataclass(frozen=True)
class Style:
    """Paints what is marked, or leaves the marks out."""

    colour: bool
    ascii: bool = False
    """Whether the stream takes nothing else."""

    def painted(self, text: str) -> str:
        """Return the text as it is written to a stream."""
        shown = text if self.colour else _MARKS.sub("", text)
        return shown.translate(_IN_ASCII) if self.ascii else shown


PLAIN = Style(colour=False)
