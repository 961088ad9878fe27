"""The program: its commands, and their run from arguments to an exit code.

Nothing heavy is imported here: a command imports what it needs when it runs, and reads
the table of options when it is called, so that ``planopt --help`` stays instant.
"""

from typing import Annotated

import typer
from typer.core import TyperGroup

from planopt.catalog import KINDS
from planopt.cli import catalog, measure, plans, questions
from planopt.cli.build import Command, argument
from planopt.cli.exits import WRONG_INPUT, exit_code_of, text_of
from planopt.cli.output import answer, is_delivered

_HELP = """Plans the cheapest cluster that serves or trains a large language model.

Quantities take units: 5tok/s, 300ms, $20k, 80GB, 400W. Names offer the nearest valid
one. Exit codes: 0 done, 1 no plan meets the question, 2 wrong input, 70 internal error,
130 interrupted.
"""

_KIND = argument("kind", "[KIND]", ", ".join(KINDS), required=False)
_FILES = argument("files", "FILE...", several=True)
_FLEET = argument("file", "fleet.toml", "Demands, hardware and limits")
_PAIR = [argument("before", "a.json"), argument("after", "b.json")]
_PLAN = argument("plan", "plan.json", "A plan that solve or train has saved")
_SAVED = argument("plan", "plan.json", "A plan that was saved")
_RESULT = argument("result", "results.json", "What a benchmark has saved")
_RUN = argument("what", "COMMAND|FILE", "What is run, or a file that says it")
_STUDY = argument("study", "STUDY.toml", "The study")
_CODE = argument("code", "[CODE]", "A code, such as E105", required=False)
_ENTRY = argument("names", "[KIND] ID", "Entry to show", several=True)
_ANY_FILES = argument("files", "[FILE...]", required=False, several=True)
_CONFIG = argument("config", "config.json")

_COMMANDS = (
    Command("solve", questions.solve),
    Command("train", questions.train),
    Command("fleet", questions.fleet, [_FLEET]),
    Command("compare", questions.compare),
    Command("explore", questions.explore),
    Command("reproduce", measure.reproduce),
    Command("validate", measure.validate),
    Command("diff", plans.diff, _PAIR),
    Command("verify", plans.verify, [_PLAN]),
    Command("export", plans.export, [_PLAN]),
    Command("report", plans.report, [_SAVED]),
    Command("accept", plans.accept, [_SAVED, _RESULT]),
    Command("import", plans.import_, [_RUN]),
    Command("calibrate", measure.calibrate),
    Command("detect", measure.detect),
    Command("frontier", questions.frontier),
    Command("sweep", questions.sweep, [_STUDY]),
    Command("bench", measure.bench),
    Command("explain", plans.explain, [_CODE]),
)
_EVALUATIONS = (
    Command("evaluate serving", questions.serving),
    Command("evaluate training", questions.training),
)
_CATALOG = (
    Command("catalog list", catalog.list_, [_KIND]),
    Command("catalog show", catalog.show_, [_ENTRY]),
    Command("catalog prices", catalog.prices),
    Command("catalog quotes", catalog.quotes, [_FILES]),
    Command("catalog check", catalog.check),
    Command("catalog import-skypilot", catalog.import_skypilot, [_FILES]),
    Command("catalog import-dstack", catalog.import_dstack, [_ANY_FILES]),
    Command("catalog import-hf", catalog.import_hf, [_CONFIG]),
)

_app = typer.Typer(
    name="planopt",
    help=_HELP,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - how an option calls it
    if wanted:
        from planopt._native import build_info

        answer(f"planopt {build_info()['version']}")
        raise typer.Exit


@_app.callback()
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
) -> None: ...


def _group(name: str, help: str, commands: tuple[Command, ...]) -> TyperGroup:
    return TyperGroup(
        name=name,
        help=help,
        commands=list(commands),
        no_args_is_help=True,
        rich_markup_mode=None,
    )


def program() -> TyperGroup:
    """Return the program; its commands read their options when they are called."""
    whole = typer.main.get_command(_app)
    assert isinstance(whole, TyperGroup)
    for command in (
        *_COMMANDS,
        _group("evaluate", "Evaluate one configuration.", _EVALUATIONS),
        _group("catalog", "Show and check the catalogs.", _CATALOG),
    ):
        whole.add_command(command)
    return whole


def run(arguments: list[str]) -> int:
    """Run a command and return the exit code."""

    def run_command() -> int | None:
        code: int | None = program().main(
            text_of(arguments), prog_name="planopt", standalone_mode=False
        )
        return code if is_delivered() else WRONG_INPUT

    return exit_code_of(run_command)
