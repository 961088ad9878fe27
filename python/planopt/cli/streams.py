"""Standard streams that do not fail.

Whatever prints (planopt, the parser, a library, the interpreter when it flushes at its
end) may print: what cannot be written is lost, and the command asks once what that was.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer


class _Raw(io.FileIO):
    """A descriptor that takes what it is given, whether or not it can be written."""

    lost: OSError | None = None

    def write(self, data: Buffer) -> int:
        """Write, until that fails."""
        if self.lost is None:
            try:
                return super().write(data)
            except OSError as error:
                self.lost = error
        return memoryview(data).nbytes


class Outlet(io.TextIOWrapper):
    """A standard stream that does not fail; without an encoding it is closed."""

    def __init__(self, descriptor: int, encoding: str | None) -> None:
        self._raw = _Raw(descriptor, "w", closefd=False)
        if encoding is None:
            self._raw.lost = OSError(errno.EBADF, os.strerror(errno.EBADF))
        super().__init__(
            io.BufferedWriter(self._raw),
            encoding=encoding or "utf-8",
            errors="replace",
            line_buffering=True,
        )

    @property
    def lost(self) -> OSError | None:
        """Why something was not written; a reader that has left missed nothing."""
        lost = self._raw.lost
        return None if isinstance(lost, BrokenPipeError) else lost


def take_over() -> None:
    """Make the standard streams of the interpreter ones that do not fail."""
    # Closed descriptors are given out again: what is printed would be in a plan.
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(opened)
    sys.stdout = Outlet(1, getattr(sys.stdout, "encoding", None))
    sys.stderr = Outlet(2, getattr(sys.stderr, "encoding", None))
