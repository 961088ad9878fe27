"""How a terminal shows what matters: as little as bold, red, yellow, green and grey."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["COLOUR", "PLAIN", "Style"]


@dataclass(frozen=True)
class Style:
    """Paints text, or leaves it as it is."""

    colour: bool

    def head(self, text: str) -> str:
        """Mark a heading."""
        return self._painted(text, "1")

    def good(self, text: str) -> str:
        """Mark what the reader hoped for."""
        return self._painted(text, "1;32")

    def bad(self, text: str) -> str:
        """Mark what went wrong."""
        return self._painted(text, "1;31")

    def warn(self, text: str) -> str:
        """Mark what needs care."""
        return self._painted(text, "1;33")

    def faint(self, text: str) -> str:
        """Mark what can be skipped."""
        return self._painted(text, "2")

    def _painted(self, text: str, attributes: str) -> str:
        return f"\x1b[{attributes}m{text}\x1b[0m" if self.colour else text


PLAIN = Style(colour=False)
COLOUR = Style(colour=True)
