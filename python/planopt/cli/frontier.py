"""``planopt frontier``: what no other choice beats, as a table or a file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from planopt.cli.options import ACCELERATORS, JSON, QUESTION, takes
from planopt.cli.output import show


@takes(ACCELERATORS, *QUESTION)
def frontier(
    *,
    space: Annotated[
        str | None,
        typer.Option(
            "--space",
            metavar="NAME|FILE.toml",
            help="Price against time of a whole space of candidates instead",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Save as .parquet, .arrow, .csv or .json"
        ),
    ] = None,
    json: JSON = False,
    **options: Any,
) -> None:
    """List what no other choice beats: units that serve a model, or a space's front.

    planopt frontier --model llama-3.1-8b --accelerators rtx-4090 --out front.parquet
    """
    from planopt.exchange.rows import write_rows
    from planopt.planning.frontier import frontier as units
    from planopt.report.frontier import render_frontier

    if space is None:
        rows = units(**options).to_dicts()
    else:
        from planopt.cli.progress import Progress
        from planopt.sweep.fronts import front

        shared = ("assumptions", "catalog", "exhaustive")
        given = {name: options[name] for name in shared if name in options}
        progress = Progress("candidates")
        rows = front(space, **given, progress=progress).rows
        progress.close()
    if out is not None:
        write_rows(out, rows)
    show(rows, render_frontier, json=json)
