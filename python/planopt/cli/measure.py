"""Commands that measure: bench, calibrate, detect, validate, reproduce."""

from typing import Any

from planopt.cli.output import Answer, note
from planopt.files import write
from planopt.printable import printable


def bench(**options: Any) -> Answer:
    """Measure how many candidates a second are evaluated here, every figure of each.

    planopt bench --space serving
    """
    from planopt.cli.progress import Progress
    from planopt.report.bench import render_bench
    from planopt.sweeps.bench import bench as measure

    spaces = options.pop("space", ())
    with Progress("measuring") as progress:
        measured = measure(spaces=spaces, on_progress=progress.at, **options)
    return Answer(measured, render_bench)


def calibrate(**options: Any) -> Answer:
    """Measure an accelerator, or read results of benchmarks; write an overlay catalog.

    planopt calibrate --from results.json --plan plan.json --out measured
    """
    if "results" in options or "plan" in options:
        from planopt.exchange.fitting import fit
        from planopt.report.exchange import render_fit

        return Answer(fit(**options), render_fit)
    from planopt.measurement.run import calibrate as measure
    from planopt.report.calibration import render_calibration, sample_line

    calibration = measure(
        on_progress=lambda sample: note(sample_line(sample)), **options
    )
    return Answer(calibration, render_calibration)


def detect(*, out: str | None = None, force: bool = False) -> Answer:
    """Say what this machine has, as --own and as an overlay catalog.

    planopt detect --out mine
    """
    from planopt.exchange.detect import detect as look
    from planopt.report.exchange import render_detection

    return Answer(look(out=out, force=force), render_detection)


def validate(*, plot: str | None = None, **options: Any) -> Answer:
    """Predict published measurements and say how far the predictions are off.

    planopt validate --data training.csv
    """
    from planopt.accuracy.validate import validate as validate_rows
    from planopt.cli.progress import Progress
    from planopt.report.validation import render_validation

    with Progress("predicting what was measured") as progress:
        errors = validate_rows(on_progress=progress.at, **options)
    if plot is not None:
        from planopt.report.validation import calibration_plot

        write(plot, calibration_plot(printable(errors)), field="--plot")
    return Answer(errors, render_validation)


def reproduce(**options: Any) -> Answer:
    """Work the figures of the seed article out again, through the model itself.

    planopt reproduce --topic inference
    """
    from planopt.article.reproduce import reproduce as reproduce_figures
    from planopt.report.reproduction import render_reproduction

    return Answer(reproduce_figures(**options), render_reproduction)
