"""``planopt fleet``: what several models and workloads buy and rent together."""

from pathlib import Path
from typing import Annotated, Any

import typer

from planopt.cli.options import ASSUMPTIONS, JSON, PRICES, count, takes, text
from planopt.cli.output import note
from planopt.cli.plans import OUT, show_plan


@takes(
    text(
        "time_limit", "TIME", "Stop with the best plan after this time [default: 10s]"
    ),
    count("workers", "Solver processes, 1 or 2; they change the time it takes only"),
    *PRICES,
    *ASSUMPTIONS,
)
def fleet(
    *,
    file: Annotated[
        Path, typer.Argument(metavar="fleet.toml", help="Demands, hardware and limits")
    ],
    out: OUT = None,
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
    from planopt.fleet.plan import plan_fleet
    from planopt.report.fleet import render_fleet

    return show_plan(
        lambda: plan_fleet(file, compare=compare, told=note, **options),
        render_fleet,
        out=out,
        json=json,
    )
