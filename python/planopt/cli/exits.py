"""From what a command does, or fails with, to messages on stderr and an exit code."""

import os
import traceback
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import typer

from planopt.cli.output import say, tell
from planopt.errors import Diagnostic, InputError, PlanoptError, meant

OK = 0
NO_PLAN = 1
WRONG_INPUT = 2
INTERNAL_ERROR = 70
INTERRUPTED = 130

# The parser's classes are private to typer, but the base of a public one is theirs too.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


# What the parser calls its findings. A plain UsageError is an unknown command or an
# argument too many.
_CODES = {
    "UsageError": "E001",
    "NoSuchOption": "E001",
    "MissingParameter": "E005",
    "BadOptionUsage": "E005",
    "BadArgumentUsage": "E005",
}


def exit_code_of(command: Callable[[], Any]) -> int:
    """Return the exit code of a command, 0 unless it says; tell what it raises."""
    try:
        return command() or OK
    except PlanoptError as error:
        tell(error.diagnostics)
        return error.exit_code
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            say(str(error))
            return WRONG_INPUT
        tell([_diagnostic_of(error)])
        return WRONG_INPUT
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except SystemExit:
        raise
    except BaseException as error:  # a panic of the core is not an Exception
        tell([_fault(error)])
        return INTERNAL_ERROR


def _diagnostic_of(error: Exception) -> Diagnostic:
    """Say what the parser found wrong with the options in our own form."""
    message = str(getattr(error, "message", error)).rstrip(".")
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "planopt"
    parameter = getattr(error, "param", None)
    field = getattr(error, "option_name", None)
    kind = type(error).__name__
    if kind == "NoSuchOption" and " " in path:
        from planopt.options import unknown

        return unknown(path.partition(" ")[2], str(field))
    if field is None and parameter is not None:
        named = parameter.param_type_name == "argument" and parameter.metavar
        field = named or max(parameter.opts, key=len)
    if kind == "MissingParameter":
        message = f"`{field}` is missing"
    near = meant(field or "", getattr(error, "possibilities", None) or ())
    return Diagnostic(
        code=_CODES.get(kind, "E002"),
        message=message[:1].lower() + message[1:],
        field=field,
        help=near or f"see `{path} --help`",
    )


def _fault(error: BaseException) -> Diagnostic:
    if os.environ.get("PLANOPT_TRACEBACK"):
        say("".join(traceback.format_exception(error)))
    return Diagnostic(
        code="E901",
        message=f"planopt has failed: {type(error).__name__}: {error}",
        help="this is a fault of planopt; please report the command. "
        "PLANOPT_TRACEBACK=1 shows where it happened",
    )


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
