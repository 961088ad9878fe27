"""``planopt sweep``: a whole study, here or on a cluster."""

from pathlib import Path
from typing import Annotated

import typer

from planopt.cli.options import JSON
from planopt.cli.output import show


def sweep(
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="The study")],
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="DIR", help="Folder of its parts; finished ones are kept"
        ),
    ],
    on: Annotated[
        str,
        typer.Option(
            "--on", metavar="PLACE", help="local, dask://HOST:PORT or ray://auto"
        ),
    ] = "local",
    catalog: Annotated[
        list[str] | None,
        typer.Option(
            "--catalog",
            metavar="DIR",
            help="Folder of catalog files laid over the bundled ones; repeatable",
        ),
    ] = None,
    json: JSON = False,
) -> None:
    """Evaluate every candidate of a study, and keep the front of each case as Parquet.

    planopt sweep study.toml --out DIR --on dask://localhost:8786
    """
    from planopt.cli.progress import Progress
    from planopt.report.sweep import render_sweep
    from planopt.sweep import sweep as run

    progress = Progress("candidates")
    result = run(
        str(study), out=str(out), on=on, catalog=catalog or (), progress=progress
    )
    progress.close()
    show(result, render_sweep, json=json)
