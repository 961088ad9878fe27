"""``planopt fleet``: what several models and workloads buy and rent together."""

from pathlib import Path
from typing import Annotated, Any

import typer

from planopt.cli.exits import INTERRUPTED, NO_PLAN, OK
from planopt.cli.options import ASSUMPTIONS, JSON, count, takes, text
from planopt.cli.output import note, show, write_file


@takes(
    text(
        "time_limit", "TIME", "Stop with the best plan after this time [default: 10s]"
    ),
    count("workers", "Solver processes, 1 or 2; they change the time it takes only"),
    *ASSUMPTIONS,
)
def fleet(
    *,
    file: Annotated[
        Path, typer.Argument(metavar="fleet.toml", help="Demands, hardware and limits")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="plan.json", help="Save the plan as JSON"),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option(help="Plan fleets of one type of accelerator too, to compare"),
    ] = True,
    json: JSON = False,
    **options: Any,
) -> int:
    """Plan what to buy and rent, and when, for several models and workloads.

    planopt fleet docs/how-to/fleet.toml
    """
    from planopt.fleet.plan import FleetInterrupted, plan_fleet
    from planopt.report.fleet import render_fleet

    interrupted = False
    try:
        plan = plan_fleet(file, compare=compare, told=note, **options)
    except FleetInterrupted as stop:
        if stop.plan is None:
            raise
        plan, interrupted = stop.plan, True
    if out is not None:
        write_file(out, plan.to_json() + "\n")
    show(
        plan.to_json,
        lambda style: render_fleet(plan, style=style, saved=out),
        json=json,
    )
    if interrupted:
        return INTERRUPTED
    return NO_PLAN if plan.status == "infeasible" else OK
