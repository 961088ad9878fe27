"""``planopt diff``: what changed between two plans, and why."""

from pathlib import Path
from typing import Annotated

import typer

from planopt.cli.exits import OK
from planopt.cli.options import JSON
from planopt.cli.output import show


def diff(
    *,
    before: Annotated[Path, typer.Argument(metavar="a.json")],
    after: Annotated[Path, typer.Argument(metavar="b.json")],
    json: JSON = False,
) -> int:
    """Show what changed between two saved plans: question, prices, choice, and why.

    planopt diff monday.json friday.json
    """
    from planopt.difference import diff as difference
    from planopt.documents.load import load_plan
    from planopt.report.difference import render_difference

    found = difference(load_plan(str(before)), load_plan(str(after)))
    show(found, render_difference, json=json)
    return OK
