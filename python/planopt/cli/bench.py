"""``planopt bench``: candidates per second on this machine."""

from typing import Annotated

import typer

from planopt.cli.options import JSON
from planopt.cli.output import show


def bench(
    *,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads", min=1, help="Threads [default: all that may be used]"
        ),
    ] = None,
    space: Annotated[
        list[str] | None,
        typer.Option(
            "--space",
            metavar="NAME|FILE.toml",
            help="Space of candidates; repeatable [default: training, serving]",
        ),
    ] = None,
    json: JSON = False,
) -> None:
    """Measure how many candidates a second are evaluated here, every figure of each."""
    from planopt.report.bench import render_bench
    from planopt.sweep.bench import bench as measure

    found = measure(threads=threads, spaces=space or ("training", "serving"))
    show(found, render_bench, json=json)
