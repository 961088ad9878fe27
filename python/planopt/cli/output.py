"""The two streams: the answer on stdout, messages on stderr, colour only where seen."""

import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from planopt.cli.streams import Outlet
from planopt.errors import MOST_TOLD, Diagnostic
from planopt.printable import printable, screened
from planopt.report.style import Style, bad, faint, warn

if TYPE_CHECKING:
    from planopt.report.table import Report


class Answer(NamedTuple):
    """What a command answers, how that is laid out, and its exit code."""

    document: object
    render: "Callable[[Any], Report | str]"
    code: int = 0


def style_of(stream: TextIO) -> Style:
    """Colour for a terminal or FORCE_COLOR; NO_COLOR and TERM=dumb ask for none."""
    told = os.environ.get
    seen = stream.isatty() and told("TERM") != "dumb"
    forced = told("FORCE_COLOR", "0") not in ("", "0")
    ascii = not (stream.encoding or "utf-8").lower().startswith("utf")
    return Style(colour=(seen or forced) and not told("NO_COLOR"), ascii=ascii)


def answer(text: str) -> None:
    """Write the answer to stdout."""
    sys.stdout.write(screened(text) + "\n")
    sys.stdout.flush()


def show(answered: Answer, *, json: bool) -> None:
    """Write an answer in the form that was asked for."""
    if json:
        from planopt.documents.base import to_json

        own = getattr(answered.document, "to_json", None)
        text = to_json(answered.document) if own is None else own()
        if not sys.stdout.isatty():
            sys.stdout.write(text + "\n")
            return
        answer(text)
    else:
        told = answered.render(printable(answered.document))
        answer(told if isinstance(told, str) else told.text(style_of(sys.stdout)))


def is_delivered() -> bool:
    """Whether the answer was written; say so if not."""
    sys.stdout.flush()
    lost = sys.stdout.lost if isinstance(sys.stdout, Outlet) else None
    if lost is not None:
        say(f"error[E006]: cannot write the answer: {lost.strerror}")
    return lost is None


def tell(diagnostics: Iterable[Diagnostic]) -> None:
    """Write messages to stderr, with one line on how to learn more."""
    style = style_of(sys.stderr)
    problems = list(diagnostics)
    for problem in problems[:MOST_TOLD]:
        mark = bad if problem.severity == "error" else warn
        headline = style.painted(mark(problem.headline))
        say(str(problem).replace(problem.headline, headline, 1))
    if len(problems) > MOST_TOLD:
        say(f"and {len(problems) - MOST_TOLD} problems more")
    if codes := sorted({problem.code for problem in problems}):
        hint = style.painted(faint(f"`planopt explain {codes[0]}` says more"))
        say(f"  = note: {hint}")


def note(line: str) -> None:
    """Write a line on how far a command is to stderr."""
    say(style_of(sys.stderr).painted(faint(printable(line))))


def say(text: str) -> None:
    """Write lines to stderr."""
    sys.stderr.write(screened(text) + "\n")
    sys.stderr.flush()
