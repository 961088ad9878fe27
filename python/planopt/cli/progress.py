"""How far long work is, on one line of a terminal."""

from __future__ import annotations

import sys
import time

_SHOWN_AFTER = 0.5
"""Seconds: what is over sooner needs no line."""
_BAR = 30
"""Characters of the bar."""


class Progress:
    """A bar with rate and time left on stderr, only where that is a terminal."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._started = time.monotonic()
        self._shown = False
        self._terminal = sys.stderr.isatty()

    def __call__(self, done: int, of: int) -> None:
        """Show that so many of so many are done."""
        elapsed = time.monotonic() - self._started
        if not self._terminal or done <= 0 or elapsed < _SHOWN_AFTER:
            return
        rate = done / elapsed
        bar = "#" * round(_BAR * done / of)
        line = (
            f"[{bar:<{_BAR}}] {done / of:4.0%}  {rate:.3g} {self._what}/s, "
            f"{(of - done) / rate:.0f} s left"
        )
        print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)
        self._shown = True

    def close(self) -> None:
        """Clear the line, for what is printed next."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._shown = False
