"""What is being done, and how far it is: told to whoever waits for an answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from planopt.errors import InputError
from planopt.machine import held_bytes

MB = 1e6
AGAIN = 0.25  # Seconds between two figures of one step


class Step(NamedTuple):
    """What is being done, and how far it is."""

    doing: str
    done: int = 0
    of: int = 0  # How many there are; 0 where nobody knows
    what: str = ""  # What is counted
    gap: float | None = None
    """Share by which the best so far may be beaten, where that is known."""
    left: float | None = None  # Seconds until the time limit, where there is one

    def __str__(self) -> str:
        counted = f"{self.done:,}" + (f" of {self.of:,}" if self.of else "")
        parts = [f"{counted} {self.what}"] if self.done else []
        parts += [] if self.gap is None else [f"gap {self.gap:.1%}"]
        return self.doing + (f": {', '.join(parts)}" if parts else "")


class Steps:
    """Tells each step as it begins, and now and then how far it is."""

    def __init__(
        self, told: Callable[[Step], object] | None, doing: str = "searching"
    ) -> None:
        self._told = told
        self._doing, self._is_counted = doing, True
        self._ends: float | None = None
        self.of = ""
        """What the steps are about, where there are several answers."""
        self.most_bytes: float | None = None
        """What this process may hold, if that is limited."""
        self._before, self._of = 0, 0
        self._last = time.monotonic()

    def end_in(self, seconds: float) -> None:
        """Take that an answer is due in so many seconds."""
        self._ends = time.monotonic() + seconds

    def at(self, doing: str, *, is_counted: bool = True) -> None:
        """Begin a step; what asks many questions is not counted one by one."""
        self._doing, self._is_counted = f"{self.of}{doing}", is_counted
        self._tell(Step(self._doing))

    def among(self, of: int) -> None:
        """Take that what the core counts next is a part of so many."""
        self._before, self._of = 0, of

    def passed(self, what: str, done: int) -> None:
        """Take that a part of so many is done."""
        self._before += done
        self.far(what, 0, self._of, None)

    def far(self, what: str, done: int, of: int, gap: float | None) -> None:
        """Take from the core how far it is with it; more memory than may be ends it."""
        if self.most_bytes is not None:
            self._within(self.most_bytes)
        if self._is_counted and time.monotonic() - self._last >= AGAIN:
            done, of = self._before + done, self._of or of
            self._tell(Step(self._doing, done, of, what, gap))

    def _within(self, most: float) -> None:
        held = held_bytes()
        if held is not None and held > most:
            raise InputError.of(
                "E003",
                f"the search takes more than {most / MB:,.0f} MB of memory",
                field="--memory-limit",
                value=f"{most / MB:.0f}MB",
                accepted="as much as the search takes",
                help="leave hardware out (--accelerators, --host), or allow more",
            )

    def _tell(self, step: Step) -> None:
        self._last = time.monotonic()
        left = None if self._ends is None else max(self._ends - self._last, 0.0)
        if self._told is not None:
            self._told(step._replace(left=left))
