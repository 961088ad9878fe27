"""Reports as files, in the forms that were asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planopt.documents.derivation import Derivation
from planopt.documents.fleet import FleetPlan
from planopt.documents.homes import HomesPlan
from planopt.documents.plan import PlanDocument
from planopt.errors import InputError
from planopt.files import replacing
from planopt.printable import printable, screened
from planopt.report.derivation import derivation
from planopt.report.homes import render_homes
from planopt.report.page.html import page
from planopt.report.page.tables import markdown, rows
from planopt.report.page.workbook import workbook
from planopt.report.table import Report
from planopt.second_opinion import derivation_of_plan

_FORMS: dict[str, Callable[[PlanDocument, str, tuple[Derivation, ...]], bytes]] = {
    "html": lambda plan, appendix, worked: page(plan, appendix, worked).encode(),
    "md": lambda plan, appendix, _: markdown(plan, appendix).encode(),
    "csv": lambda plan, _, __: rows(plan).encode(),
    "xlsx": lambda plan, _, __: workbook(plan),
}


def write_report(
    plan: PlanDocument, files: Mapping[str, str], *, derivations: bool = False
) -> list[str]:
    """Write a plan to files, by their form, and return their names.

    No file is named (E005), one cannot be written (E006), or what writes a workbook is
    not installed (E905): each is an error.
    """
    if not files:
        raise InputError.of(
            "E005",
            "what is to be written?",
            field="--html",
            accepted="one or more of --html, --md, --csv, --xlsx, with a file",
            help="planopt report plan.json --html plan.html",
        )
    shown = printable(plan)
    # Of a fleet it takes long, and no figure of its page opens.
    is_worked = derivations or ("html" in files and not isinstance(plan, FleetPlan))
    worked = derivation_of_plan(plan) if is_worked else ()
    appendix = screened(str(Report(*derivation(worked)))) if derivations else ""
    for form, name in files.items():
        content = _FORMS[form](shown, appendix, worked)
        with replacing(name, field=f"--{form}") as file:
            file.write(content)
    return [*files.values()]


def write_homes(plan: HomesPlan, files: Mapping[str, str]) -> list[str]:
    """Write what machines in homes do: as a page, or the screen as Markdown."""
    shown = printable(plan)
    screen = screened(str(render_homes(shown)))
    forms = {
        "html": page(shown),
        "md": f"# planopt: {shown.model}\n\n```text\n{screen}\n```\n",
    }
    odd = next((form for form in files if form not in forms), None)
    if odd is not None or not files:
        raise InputError.of(
            "E005" if odd is None else "E004",
            "what machines in homes do is written as a page or as Markdown",
            field="--html" if odd is None else f"--{odd}",
            accepted="--html or --md, with a file",
        )
    for form, name in files.items():
        with replacing(name, field=f"--{form}") as file:
            file.write(forms[form].encode())
    return [*files.values()]


def render_written(answer: Mapping[str, list[str]]) -> Report:
    """Say what was written."""
    return Report(*(f"wrote {name}" for name in answer["written"]))
