"""``planopt calibrate``: measure this machine, and write what it reaches."""

from typing import Annotated, Any

import typer

from planopt.cli.exits import OK
from planopt.cli.options import CATALOGS, FORCE, JSON, takes, text
from planopt.cli.output import note, show

OUT = Annotated[
    str, typer.Option(metavar="DIR", help="Folder to write the overlay catalog to")
]


@takes(
    text("device", "NAME", "cuda, cuda:1, xpu, mps, cpu or numpy [default: the best]"),
    text(
        "accelerator", "ID", "Its id in the catalogs, or a new one [default: its name]"
    ),
    text("seconds", "60s", "Time for all measurements [default: 60s]"),
    *CATALOGS,
)
def calibrate(
    *,
    out: OUT = "measured",
    force: FORCE = False,
    json: JSON = False,
    **options: Any,
) -> int:
    """Measure an accelerator, or this processor, and write an overlay catalog.

    planopt calibrate --out measured
    """
    from planopt.measurement.run import calibrate as measure
    from planopt.report.calibration import render_calibration, sample_line

    calibration = measure(
        out=out,
        force=force,
        told=lambda sample: note(sample_line(sample)),
        **options,
    )
    show(calibration, render_calibration, json=json)
    return OK
