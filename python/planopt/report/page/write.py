"""Reports as files, in the forms that were asked for."""

from collections.abc import Callable, Iterable, Mapping

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
    plan: PlanDocument | HomesPlan,
    files: Mapping[str, str],
    *,
    derivations: bool = False,
) -> list[str]:
    """Write a plan to files, by their form, and return their names.

    No file is named (E005), one cannot be written (E006), what writes a workbook is not
    installed (E905), or there is no such form of it (E004): each is an error.
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
    if isinstance(shown, PlanDocument):
        contents = _of_plan(shown, files, derivations=derivations)
    else:
        contents = _of_homes(shown)
    for form, name in files.items():
        if form not in contents:
            raise InputError.of(
                "E004",
                "what machines in homes do is written as a page or as Markdown",
                field=f"--{form}",
                accepted="--html or --md, with a file",
            )
        with replacing(name, field=f"--{form}") as file:
            file.write(contents[form])
    return [*files.values()]


def _of_plan(
    plan: PlanDocument, forms: Iterable[str], *, derivations: bool
) -> dict[str, bytes]:
    # Of a fleet it takes long, and no figure of its page opens.
    is_worked = derivations or ("html" in forms and not isinstance(plan, FleetPlan))
    worked = derivation_of_plan(plan) if is_worked else ()
    appendix = screened(str(Report(*derivation(worked)))) if derivations else ""
    return {form: _FORMS[form](plan, appendix, worked) for form in forms}


def _of_homes(plan: HomesPlan) -> dict[str, bytes]:
    """Write what machines in homes do: as a page, or the screen as Markdown."""
    screen = screened(str(render_homes(plan)))
    text = f"# planopt: {plan.model}\n\n```text\n{screen}\n```\n"
    return {"html": page(plan).encode(), "md": text.encode()}


def render_written(answer: Mapping[str, list[str]]) -> Report:
    """Say what was written."""
    return Report(*(f"wrote {name}" for name in answer["written"]))
