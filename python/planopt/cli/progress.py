"""How far long work is, on one line of stderr that is gone when it is done."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from typing import TYPE_CHECKING

from planopt.cli.output import note
from planopt.printable import printable
from planopt.report.numbers import many
from planopt.steps import Step

if TYPE_CHECKING:
    from typing_extensions import Self

_SHOWN_AFTER = 1.0  # Seconds: what is over sooner needs no line
_AGAIN = 0.1  # Seconds between two lines
_BAR = 16  # Characters of the bar
_IN_SECONDS, _SECONDS_PER_MINUTE = 120.0, 60.0  # Up to when seconds are told


class Progress:
    """What is done, for how long, at what rate, and how long it takes yet."""

    def __init__(self, doing: str, *, stages: bool = False) -> None:
        self._step = Step(doing)
        self._stages = stages
        self._started = time.monotonic()
        self._began = 0.0
        """Seconds after the start at which the step began."""
        self._over = threading.Event()
        self._terminal = sys.stderr.isatty()
        self.shown = False

    def __enter__(self) -> Self:
        """Begin to show it, beside the work, where somebody looks on."""
        if self._terminal:
            threading.Thread(target=self._show, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Clear the line, for what is printed next."""
        self._over.set()
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def at(self, step: Step) -> None:
        """Take what is being done now; in a file each stage may be kept."""
        if step.doing != self._step.doing or step.done < self._step.done:
            self._began = time.monotonic() - self._started
            if self._stages and not self._terminal:
                note(printable(step.doing))
        self._step = step

    def _show(self) -> None:
        wait = _SHOWN_AFTER
        while not self._over.wait(wait):
            line = self.line(time.monotonic() - self._started)
            line = line[: shutil.get_terminal_size().columns - 1]
            print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)
            self.shown, wait = True, _AGAIN

    def line(self, elapsed: float) -> str:
        """Say how far it is so many seconds after the start."""
        step, parts = self._step, []
        taken = max(elapsed - self._began, _AGAIN)
        left = f"{_lasting(step.left)} left at most" if step.left else ""
        if step.done and step.of:
            share, rate = step.done / step.of, step.done / taken
            bar = "━" * round(_BAR * share)
            left = f"{_lasting(taken * (1 / share - 1))} left"
            parts = [f"{bar:<{_BAR}} {share:.0%}", f"{many(rate)} {step.what}/s"]
        elif step.done:
            parts = [f"{step.done:,} {step.what}, {many(step.done / taken)}/s"]
        if step.gap is not None:
            parts.append(f"gap {step.gap:.1%}")
        said = " · ".join(filter(None, (*parts, left))) or f"{elapsed:.0f} s"
        return f"{printable(step.doing)}  {said}"


def _lasting(seconds: float) -> str:
    """Say how long something lasts: minutes where they are many seconds."""
    if seconds < _IN_SECONDS:
        return f"{seconds:.0f} s"
    return f"{seconds / _SECONDS_PER_MINUTE:.0f} min"
