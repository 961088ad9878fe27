"""``planopt solve``: what to buy."""

from pathlib import Path
from typing import Annotated, Any

import typer

from planopt.cli.exits import INTERRUPTED, NO_PLAN, OK
from planopt.cli.options import ACCELERATORS, JSON, QUESTION, takes
from planopt.cli.output import show, write_file
from planopt.errors import Interrupted


@takes(ACCELERATORS, *QUESTION)
def solve(
    *,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="plan.json", help="Save the plan as JSON"),
    ] = None,
    json: JSON = False,
    **options: Any,
) -> int:
    """Find the cheapest cluster that serves a model at the speed asked for.

    planopt solve --target 5tok/s --budget 20000
    """
    from planopt.report import render_plan
    from planopt.serving.solve import solve as find_plan

    interrupted = False
    try:
        plan = find_plan(**options)
    except Interrupted as stop:
        if stop.plan is None:
            raise
        plan, interrupted = stop.plan, True
    if out is not None:
        write_file(out, plan.to_json() + "\n")
    show(
        plan.to_json,
        lambda style: render_plan(plan, style=style, saved=out),
        json=json,
    )
    if interrupted:
        return INTERRUPTED
    return NO_PLAN if plan.status == "infeasible" else OK
