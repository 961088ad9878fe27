"""From what a command does, or fails with, to messages on stderr and an exit code."""

import os
import traceback
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

import typer

from planopt.cli.output import say, tell
from planopt.errors import Diagnostic, PlanoptError

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

# What other tools of the field call options of ours, which may have an `s` at the end.
_ELSEWHERE = {
    "--gpu": "--accelerator",
    "--gpus": "--accelerator",
    "--gpu-type": "--accelerator",
    "--device": "--accelerator",
    "--system": "--accelerator",
    "--num-gpus": "--max-accelerators",
    "--total-gpus": "--max-accelerators",
    "--isl": "--prompt",
    "--input-len": "--prompt",
    "--osl": "--output",
    "--output-len": "--output",
    "--concurrency": "--users",
    "--max-num-seqs": "--max-sequences",
    "--max-num-batched-tokens": "--token-budget",
    "--tpot": "--target",
    "--itl": "--target",
    "--qps": "--requests",
    "--rps": "--requests",
    "--request-rate": "--requests",
    "--tensor-parallel-size": "--tp",
    "--pipeline-parallel-size": "--pp",
    "--data-parallel-size": "--dp",
    "--dtype": "--weights",
    "--quantization": "--weights",
    "--kv-cache-dtype": "--kv",
    "--cost": "--budget",
    "--max-price": "--budget",
}


def exit_code_of(command: Callable[[], Any]) -> int:
    """Run a command.

    A command returns its exit code, or ``None`` for 0; whatever it raises becomes a
    message with a code.
    """
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
    if field is None and parameter is not None:
        field = max(parameter.opts, key=len)
    possible = getattr(error, "possibilities", None) or ()
    nearest = _of_other_tools(field, context) or get_close_matches(
        field or "", possible, n=1
    )
    help_ = f"see `{path} --help`"
    if nearest:
        help_ = f"did you mean `{nearest[0]}`?"
    kind = type(error).__name__
    if kind == "MissingParameter":
        message = f"`{field}` is missing"
    return Diagnostic(
        code=_CODES.get(kind, "E002"),
        message=message[:1].lower() + message[1:],
        field=field,
        help=help_,
    )


def _of_other_tools(field: str | None, context: Any) -> list[str]:
    """Return the option of a command that another tool calls `field`."""
    known = _ELSEWHERE.get(field or "")
    if known is None or context is None:
        return []
    options = {each for one in context.command.params for each in one.opts}
    return [each for each in (known, f"{known}s") if each in options][:1]


def _fault(error: BaseException) -> Diagnostic:
    if os.environ.get("PLANOPT_TRACEBACK"):
        say("".join(traceback.format_exception(error)))
    return Diagnostic(
        code="E901",
        message=f"planopt has failed: {type(error).__name__}: {error}",
        help="this is a fault of planopt; please report the command. "
        "PLANOPT_TRACEBACK=1 shows where it happened",
    )
