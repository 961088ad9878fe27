"""The command line: options in, one answer on stdout, everything else on stderr.

Nothing is imported here that Python has not loaded anyway, so that a Ctrl-C finds the
process prepared from the first moments on.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

TYPE_CHECKING = False  # To import typing takes longer than all the rest.
if TYPE_CHECKING:
    from collections.abc import Callable


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave the process with its exit code."""
    if arguments is None:
        sys.excepthook = _quiet(sys.excepthook)
        sys.unraisablehook = _quiet(sys.unraisablehook)
        from planopt.cli.streams import take_over

        take_over()
        # The process ends: what is left is not looked through for what to free.
        atexit.register(gc.freeze)
    given = sys.argv[1:] if arguments is None else arguments
    if not given:
        from planopt.cli.start import start

        sys.exit(start())
    from planopt.cli.program import run

    sys.exit(run(given))


def _quiet(shown: Callable[..., object]) -> Callable[..., object]:
    """Leave at once where a hook would show that the user has interrupted.

    Where Python cannot raise (in a destructor, a callback, at its end), it shows the
    interruption and goes on. The solver process leaves when its parent does.
    """

    def hook(*arguments: object) -> None:
        kind = getattr(arguments[0], "exc_type", arguments[0])
        if isinstance(kind, type) and issubclass(kind, KeyboardInterrupt):
            os._exit(130)  # As `exits.INTERRUPTED`, which is not loaded yet.
        shown(*arguments)

    return hook
