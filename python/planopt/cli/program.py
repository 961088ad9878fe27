"""The program: its commands, and their run from arguments to an exit code.

Nothing heavy is imported here: a command imports what it needs when it runs, so that
``planopt --help`` stays instant.
"""

from typing import Annotated

import typer

from planopt.cli import (
    bench,
    calibrate,
    catalog,
    compare,
    diff,
    evaluate,
    explain,
    fleet,
    frontier,
    imports,
    reproduce,
    solve,
    sweep,
    train,
    validate,
    verify,
)
from planopt.cli.arguments import text_of
from planopt.cli.exits import WRONG_INPUT, exit_code_of
from planopt.cli.output import answer, is_delivered

__all__ = ["run"]

_HELP = """Plans the cheapest cluster that serves or trains a large language model.

Quantities take units: 5tok/s, 300ms, $20k, 80GB, 400W. Names offer the nearest valid
one. Exit codes: 0 done, 1 no plan meets the question, 2 wrong input, 70 internal error,
130 interrupted.
"""

app = typer.Typer(
    name="planopt",
    help=_HELP,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
    },
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - how an option calls it
    if wanted:
        from planopt._native import build_info

        answer(f"planopt {build_info()['version']}")
        raise typer.Exit


@app.callback()
def _planopt(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version and exit.",
            callback=_print_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    pass


app.command("solve")(solve.solve)
app.command("train")(train.train)
app.command("fleet")(fleet.fleet)
app.add_typer(evaluate.app, name="evaluate")
app.command("compare")(compare.compare)
imports.add_to(catalog.app)
app.add_typer(catalog.app, name="catalog")
app.command("reproduce")(reproduce.reproduce)
app.command("validate")(validate.validate)
app.command("diff")(diff.diff)
app.command("verify")(verify.verify)
app.command("calibrate")(calibrate.calibrate)
app.command("frontier")(frontier.frontier)
app.command("sweep")(sweep.sweep)
app.command("bench")(bench.bench)
app.command("explain")(explain.explain)


def run(arguments: list[str]) -> int:
    """Run a command and return the exit code."""
    command = typer.main.get_command(app)

    def run_command() -> int | None:
        code: int | None = command.main(
            text_of(arguments), prog_name="planopt", standalone_mode=False
        )
        return code if is_delivered() else WRONG_INPUT

    return exit_code_of(run_command)
