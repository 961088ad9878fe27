"""The process of the command line: Ctrl-C is quiet, and streams do not fail.

Whatever prints (planopt, the parser, a library, the interpreter when it flushes at its
end) may print: what cannot be written is lost, and the command asks once what that was.
"""

from __future__ import annotations

import errno
import io
import os
import sys

TYPE_CHECKING = False  # To import typing takes longer than all the rest.
if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

__all__ = ["Outlet", "take_over"]


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
    """A standard stream that does not fail.

    Parameters
    ----------
    descriptor : int
        Of the stream.
    encoding : str, optional
        Characters that it lacks are replaced; none where the stream is closed.
    """

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
    """Make the streams and hooks of the interpreter those of the command line."""
    sys.excepthook = _quiet(sys.excepthook)
    sys.unraisablehook = _quiet(sys.unraisablehook)
    # Closed descriptors are given out again: what is printed would be in a plan.
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(opened)
    sys.stdout = Outlet(1, getattr(sys.stdout, "encoding", None))
    sys.stderr = Outlet(2, getattr(sys.stderr, "encoding", None))


def _quiet(shown: Callable[..., object]) -> Callable[..., object]:
    """Leave at once where a hook would show that the user has interrupted.

    Where Python cannot raise (in a destructor, a callback, at its end), it shows the
    interruption and goes on. The solver process leaves when its parent does.
    """

    def hook(*arguments: object) -> None:
        kind = getattr(arguments[0], "exc_type", arguments[0])
        if isinstance(kind, type) and issubclass(kind, KeyboardInterrupt):
            os._exit(130)
        shown(*arguments)

    return hook
