"""How far long work is, on one line of stderr that is gone when it is done."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from typing import TYPE_CHECKING

from planopt.cli.output import note
from planopt.printable import printable

if TYPE_CHECKING:
    from typing_extensions import Self

_SHOWN_AFTER = 1.0
"""Seconds: what is over sooner needs no line."""
_AGAIN, _AGAIN_IN_A_FILE = 0.1, 10.0
"""Seconds between two lines on a terminal, and where each stays."""
_BAR = 24
"""Characters of the bar."""


class Progress:
    """What is done, for how long, at what rate, and how long it takes yet."""

    def __init__(
        self, doing: str, what: str = "", until: str = "", *, stages: bool = False
    ) -> None:
        self._doing, self._what, self._until = doing, what, until
        self._stages = stages
        self._started = time.monotonic()
        self._done, self._of = 0, 0
        self._over = threading.Event()
        self._terminal = sys.stderr.isatty()
        self.shown = False

    def __enter__(self) -> Self:
        """Begin to show it, beside the work."""
        threading.Thread(target=self._show, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Clear the line, for what is printed next."""
        self._over.set()
        if self.shown and self._terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def __call__(self, done: int, of: int) -> None:
        """Take that so many of so many are done."""
        self._done, self._of = done, of

    def at(self, stage: str) -> None:
        """Take what is being done now; in a file each stage may be kept."""
        self._doing = printable(stage)
        if self._stages and not self._terminal:
            note(self._doing)

    def _show(self) -> None:
        if self._over.wait(_SHOWN_AFTER if self._terminal else _AGAIN_IN_A_FILE):
            return
        while not self._over.is_set():
            line = self.line(time.monotonic() - self._started)
            line = line[: shutil.get_terminal_size().columns - 1]
            ends = ("\r", "\x1b[K") if self._terminal else ("", "\n")
            print(line.join(ends), end="", file=sys.stderr, flush=True)
            self.shown = True
            self._over.wait(_AGAIN if self._terminal else _AGAIN_IN_A_FILE)

    def line(self, elapsed: float) -> str:
        """Say how far it is after so many seconds."""
        if not self._of or not self._done:
            return f"{self._doing}  {elapsed:.0f} s{self._until}"
        share, rate = self._done / self._of, self._done / elapsed
        bar = "━" * round(_BAR * share)
        left = (self._of - self._done) / rate
        return (
            f"{self._doing}  {bar:<{_BAR}}  {share:.0%}  "
            f"{rate:.3g} {self._what}/s · {left:.0f} s left"
        )
