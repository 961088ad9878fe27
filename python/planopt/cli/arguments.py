"""Arguments as a shell hands them over: bytes, of which planopt reads text."""

from collections.abc import Sequence
from itertools import pairwise

from planopt.errors import Diagnostic, InputError


def text_of(arguments: Sequence[str]) -> list[str]:
    """Return the arguments, or refuse all those that are not text.

    Python keeps bytes that are no UTF-8 as lone surrogates, which no terminal and no
    other language can take; and no file has a NUL in its name.
    """
    problems = [
        _not_text(argument, before)
        for before, argument in pairwise(["", *arguments])
        if not _is_text(argument)
    ]
    if problems:
        raise InputError(problems)
    return list(arguments)


def _is_text(argument: str) -> bool:
    return not any(
        character == "\0" or "\ud800" <= character <= "\udfff" for character in argument
    )


def _not_text(argument: str, before: str) -> Diagnostic:
    """Say so of an argument, by the option that it is the value of."""
    option, equals, value = argument.partition("=")
    if not (equals and option.startswith("--") and _is_text(option)):
        option, value = before, argument
    return Diagnostic(
        code="E002",
        message="an argument is not text",
        field=option if option.startswith("-") and _is_text(option) else None,
        value=value.encode("utf-8", "backslashreplace").decode("utf-8"),
        accepted="text in UTF-8 without NUL, the names of files too",
    )
