"""``planopt validate``: predictions beside published measurements."""

from typing import Any

from planopt.cli.options import JSON, several, takes, text
from planopt.cli.output import show
from planopt.files import write
from planopt.printable import printable


@takes(
    several("data", "FILE", "CSV of measurements [default: those planopt brings]"),
    text("assumptions", "NAME|FILE", "Assumptions to use [default: calibrated]"),
    text("plot", "FILE.svg", "Write predicted against measured as a picture"),
)
def validate(*, json: JSON = False, **options: Any) -> None:
    """Predict published measurements and say how far the predictions are off.

    planopt validate --data training.csv
    """
    from planopt.accuracy.validate import validate as validate_rows
    from planopt.report.validation import render_validation

    plot = options.pop("plot", None)
    errors = validate_rows(**options)
    if plot is not None:
        from planopt.report.scatter import calibration_plot

        write(plot, calibration_plot(printable(errors)), field="--plot")
    show(errors, render_validation, json=json)
