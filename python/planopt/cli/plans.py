"""What the commands that find a plan have in common."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planopt.cli.exits import INTERRUPTED, NO_PLAN, OK
from planopt.cli.output import show
from planopt.printable import printable

if TYPE_CHECKING:
    from planopt.report.table import Report

OUT = Annotated[
    Path | None,
    typer.Option("--out", metavar="plan.json", help="Save the plan as JSON"),
]


def show_plan(
    find: Callable[[], Any],
    render: "Callable[..., Report]",
    *,
    out: Path | None,
    json: bool,
) -> int:
    """Find a plan, save and show it; if stopped, the best until then."""
    from planopt.documents.plan import Interrupted

    interrupted = False
    try:
        plan = find()
    except Interrupted as stop:
        if stop.plan is None:
            raise
        plan, interrupted = stop.plan, True
    if out is not None:
        plan.save(out)
    saved = None if out is None else printable(str(out))
    show(plan, partial(render, saved=saved), json=json)
    if interrupted:
        return INTERRUPTED
    return NO_PLAN if plan.status == "infeasible" else OK
