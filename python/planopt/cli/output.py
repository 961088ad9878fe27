"""The two streams: the answer on stdout, messages on stderr, colour only where seen."""

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

from planopt.errors import Diagnostic, InputError
from planopt.report.style import COLOUR, PLAIN, Style


def style_of(stream: TextIO) -> Style:
    """Colour for a terminal, unless NO_COLOR or TERM=dumb ask for none."""
    wanted = (
        stream.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )
    return COLOUR if wanted else PLAIN


def answer(text: str) -> None:
    """Write the answer to stdout; a reader that has left is no error."""
    try:
        sys.stdout.write(_speakable(text, sys.stdout) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes stdout once more at exit, which must not fail either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show(
    to_json: Callable[[], str], to_text: Callable[[Style], str], *, json: bool
) -> None:
    """Write the answer in the form that was asked for."""
    answer(to_json() if json else to_text(style_of(sys.stdout)))


def write_file(path: Path, content: str) -> None:
    """Write a file that the user named."""
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise InputError.of(
            "E006",
            f"cannot write the file: {error.strerror or error}",
            field="--out",
            value=str(path),
            accepted="a file in a folder that exists and can be written to",
        ) from error


def tell(diagnostics: Iterable[Diagnostic]) -> None:
    """Write messages to stderr, with one line on how to learn more."""
    style = style_of(sys.stderr)
    problems = list(diagnostics)
    for problem in problems:
        paint = style.bad if problem.severity == "error" else style.warn
        text = str(problem).replace(problem.headline, paint(problem.headline), 1)
        print(_speakable(text, sys.stderr), file=sys.stderr)
    if codes := sorted({problem.code for problem in problems}):
        hint = style.faint(f"`planopt explain {codes[0]}` says more")
        print(f"  = note: {hint}", file=sys.stderr)


def note(line: str) -> None:
    """Write a line on how far a command is to stderr."""
    style = style_of(sys.stderr)
    print(style.faint(_speakable(line, sys.stderr)), file=sys.stderr, flush=True)


def _speakable(text: str, stream: TextIO) -> str:
    """Text with characters that the stream's encoding lacks replaced."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, errors="replace").decode(encoding)
