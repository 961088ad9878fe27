"""``planopt train``: what to buy for a training run."""

from pathlib import Path
from typing import Annotated, Any

import typer

from planopt.cli.exits import INTERRUPTED, NO_PLAN, OK
from planopt.cli.options import JSON, KINDS, TRAINING_QUESTION, takes
from planopt.cli.output import show, write_file


@takes(KINDS, *TRAINING_QUESTION)
def train(
    *,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="plan.json", help="Save the plan as JSON"),
    ] = None,
    json: JSON = False,
    **options: Any,
) -> int:
    """Find the cheapest cluster that trains a model in time, or the fastest for a sum.

    planopt train --model llama-2-70b --tokens 2T --deadline 30d
    """
    from planopt.report.training_plan import render_training_plan
    from planopt.training.train import TrainingInterrupted
    from planopt.training.train import train as find_plan

    interrupted = False
    try:
        plan = find_plan(**options)
    except TrainingInterrupted as stop:
        if stop.plan is None:
            raise
        plan, interrupted = stop.plan, True
    if out is not None:
        write_file(out, plan.to_json() + "\n")
    show(
        plan.to_json,
        lambda style: render_training_plan(plan, style=style, saved=out),
        json=json,
    )
    if interrupted:
        return INTERRUPTED
    return NO_PLAN if plan.status == "infeasible" else OK
