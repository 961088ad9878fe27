"""``planopt validate``: predictions beside published measurements."""

from typing import Any

from planopt.cli.options import JSON, several, switch, takes, text
from planopt.cli.output import show
from planopt.files import write
from planopt.printable import printable


@takes(
    several("data", "FILE", "CSV of measurements [default: those planopt brings]"),
    text("assumptions", "NAME|FILE", "Assumptions to use [default: calibrated]"),
    text("plot", "FILE.svg", "Write predicted against measured as a picture"),
    switch("folds", "Judge training by rows that no fit had seen"),
)
def validate(*, json: JSON = False, **options: Any) -> None:
    """Predict published measurements and say how far the predictions are off.

    planopt validate --data training.csv
    """
    if options.pop("folds", False):
        _judge(json=json, **options)
        return
    from planopt.report.validation import render_validation
    from planopt.validation import validate as validate_rows

    plot = options.pop("plot", None)
    errors = validate_rows(**options)
    if plot is not None:
        from planopt.validation.plot import calibration_plot

        write(plot, calibration_plot(printable(errors)), field="--plot")
    show(errors, render_validation, json=json)


def _judge(*, json: bool, **options: Any) -> None:
    """Show what predictions of rows left out are worth."""
    from planopt.errors import InputError
    from planopt.report.judged import render_judged
    from planopt.validation.judged import judge

    for name in ("data", "plot"):
        if name in options:
            raise InputError.of(
                "E004",
                "--folds is about the measurements that planopt brings",
                field=f"--{name}",
                value=options[name],
                accepted="--folds alone, or with --assumptions and --json",
            )
    judged = judge(**options)
    show(judged, render_judged, json=json)
