"""Commands that measure: bench, calibrate, detect, validate, reproduce."""

from typing import Any

from planopt.cli.output import note, show
from planopt.files import write
from planopt.printable import printable


def bench(*, json: bool = False, **options: Any) -> None:
    """Measure how many candidates a second are evaluated here, every figure of each.

    planopt bench --space serving
    """
    from planopt.cli.progress import Progress
    from planopt.report.bench import render_bench
    from planopt.sweeps.bench import bench as measure

    spaces = options.pop("space", ())
    with Progress("measuring") as progress:
        measured = measure(spaces=spaces, on_progress=progress.at, **options)
    show(measured, render_bench, json=json)


def calibrate(*, json: bool = False, **options: Any) -> None:
    """Measure an accelerator, or read results of benchmarks; write an overlay catalog.

    planopt calibrate --from results.json --plan plan.json --out measured
    """
    if "results" in options or "plan" in options:
        from planopt.exchange.fitting import fit
        from planopt.report.exchange import render_fit

        show(fit(**options), render_fit, json=json)
        return
    from planopt.measurement.run import calibrate as measure
    from planopt.report.calibration import render_calibration, sample_line

    calibration = measure(
        on_progress=lambda sample: note(sample_line(sample)), **options
    )
    show(calibration, render_calibration, json=json)


def detect(*, out: str | None = None, force: bool = False, json: bool = False) -> None:
    """Say what this machine has, as --own and as an overlay catalog.

    planopt detect --out mine
    """
    from planopt.exchange.detect import detect as look
    from planopt.report.exchange import render_detection

    show(look(out=out, force=force), render_detection, json=json)


def validate(*, json: bool = False, **options: Any) -> None:
    """Predict published measurements and say how far the predictions are off.

    planopt validate --data training.csv
    """
    from planopt.accuracy.validate import validate as validate_rows
    from planopt.cli.progress import Progress
    from planopt.report.validation import render_validation

    plot = options.pop("plot", None)
    with Progress("predicting what was measured") as progress:
        errors = validate_rows(on_progress=progress.at, **options)
    if plot is not None:
        from planopt.report.validation import calibration_plot

        write(plot, calibration_plot(printable(errors)), field="--plot")
    show(errors, render_validation, json=json)


def reproduce(*, json: bool = False, **options: Any) -> None:
    """Work the figures of the seed article out again, through the model itself.

    planopt reproduce --topic inference
    """
    from planopt.article.reproduce import reproduce as reproduce_figures
    from planopt.report.reproduction import render_reproduction

    rows = reproduce_figures(**options)
    show(rows, render_reproduction, json=json)
